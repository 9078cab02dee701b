extension SettingsChange {
  /// The source of a change: this process, another one, or a record.
  public enum Origin: String, Sendable, Hashable, CaseIterable {
    /// A commit in this process, through any `SharedSettings` of the home.
    case thisProcess
    /// Another process that uses the same home. Several of its changes may arrive as one.
    case otherProcess
    /// A sync, or a write to the record that keeps the group in a store.
    ///
    /// Only groups whose `recordType` is in the store's schema have such changes.
    case record
  }
}
