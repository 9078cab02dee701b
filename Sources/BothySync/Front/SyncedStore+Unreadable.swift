import BothyStore

/// Records that the server has and that can't be read here.
extension SyncedStore {
  /// The records that were set aside because they can't be read, by type and id; none in a store that is well.
  ///
  /// Each stays here as it was before, if it was here. It leaves the list when the server tells of a version that can be
  /// read, or when a newer version of the app reads it. Throws `StoreError`.
  public func unreadableRecords() throws -> [UnreadableRecord] {
    try store.read { try UnreadableTable.all(in: $0) }
  }
}
