/// One change of a group, as its listeners receive it.
///
/// ```swift
/// let locale = SharedSettings<LocaleSettings>(in: home)
/// for await change in locale.changes where change.changed(\.timeFormat) {
///   show("\(change.old.timeFormat) hours before, \(change.new.timeFormat) now")
/// }
/// ```
public struct SettingsChange<Group: SettingsGroup>: Sendable {
  /// The group before the change. It equals `new` of the change before this one.
  public var old: Group
  /// The group after the change. By the time a listener receives it, `SharedSettings.current` may be newer.
  public var new: Group
  /// The names of the fields that differ, as in `SettingsGroup.fields`. Empty after `republish`.
  public var changedKeys: Set<String>
  /// The source of the change, for example to leave out the process's own changes.
  public var origin: Origin

  /// True if a property differs: `change.changed(\.timeFormat)`. Compares the two values in memory.
  public func changed<Value: Equatable>(_ property: KeyPath<Group, Value>) -> Bool {
    old[keyPath: property] != new[keyPath: property]
  }
}
