/// One change of a group, as its listeners are told of it.
public struct SettingsChange<Group: SettingsGroup>: Sendable {
  public var old: Group
  public var new: Group
  /// The names of the fields that differ; empty after `touch`.
  public var changedKeys: Set<String>
  public var origin: SettingsOrigin

  /// Whether a property differs: `change.changed(\.timeFormat)`.
  public func changed<Value: Equatable>(_ property: KeyPath<Group, Value>) -> Bool {
    old[keyPath: property] != new[keyPath: property]
  }
}

/// Who made a change.
public enum SettingsOrigin: String, Sendable, Hashable, CaseIterable {
  case thisProcess
  /// Another process that uses the same home. Several changes it made may come as one.
  case otherProcess
  /// A sync, or a write to the record that keeps the group in a store.
  case record
}
