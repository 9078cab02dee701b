public import BothyStore

extension SyncedStore {
  /// Inserts many records, or updates the given fields of those that exist, in one transaction a batch. The changes are
  /// sent like others.
  ///
  /// A failing batch is rolled back, and its error is thrown. Earlier batches stay. A cancelled task stops between
  /// batches with `BothyError` `.cancelled`. Memory is bounded by one batch.
  ///
  /// - Parameters:
  ///   - size: the number of records in a batch.
  ///   - progress: called after each batch, on an arbitrary thread.
  @discardableResult
  public func importRecords(
    _ records: some Sequence<AnyRecord>, batch size: Int = 1000,
    progress: @Sendable (ImportProgress) -> Void = { _ in }
  ) async throws -> ImportProgress {
    try await store.importRecords(records, batch: size, progress: progress)
  }

  /// Returns the times of creation and of the last edit and the owner of a record, or `nil` if it isn't on this device.
  /// One look-up.
  public func metadata(of record: RecordID) async throws -> RecordMetadata? {
    try await read { try $0.metadata(of: record) }
  }
}
