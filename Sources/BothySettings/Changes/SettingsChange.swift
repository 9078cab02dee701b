/// One change of a group, as its listeners are told of it.
public struct SettingsChange<Group: SettingsGroup>: Sendable {
  /// The group as it was before.
  public var old: Group
  /// The group as it is stored since.
  public var new: Group
  /// The names of the fields that differ; empty after `touch`.
  public var changedKeys: Set<String>
  /// Who made the change.
  public var origin: SettingsOrigin

  /// Whether a property differs: `change.changed(\.timeFormat)`.
  public func changed<Value: Equatable>(_ property: KeyPath<Group, Value>) -> Bool {
    old[keyPath: property] != new[keyPath: property]
  }
}

/// Who made a change.
public enum SettingsOrigin: String, Sendable, Hashable, CaseIterable {
  /// A commit in this process, through any `SharedSettings` of the home.
  case thisProcess
  /// Another process that uses the same home. Several changes it made may come as one.
  case otherProcess
  /// A sync, or a write to the record that keeps the group in a store.
  case record
}
