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
  public var origin: SettingsOrigin

  /// True if a property differs: `change.changed(\.timeFormat)`. Compares the two values in memory.
  public func changed<Value: Equatable>(_ property: KeyPath<Group, Value>) -> Bool {
    old[keyPath: property] != new[keyPath: property]
  }
}

/// The source of a change: this process, another one, or a record.
public enum SettingsOrigin: String, Sendable, Hashable, CaseIterable {
  /// A commit in this process, through any `SharedSettings` of the home.
  case thisProcess
  /// Another process that uses the same home. Several of its changes may arrive as one.
  case otherProcess
  /// A sync, or a write to the record that keeps the group in a store.
  ///
  /// Only groups whose `recordType` is in the store's schema have such changes.
  case record
}
