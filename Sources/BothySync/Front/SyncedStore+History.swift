public import BothyStore

/// Who changed what, as the server remembers it.
extension SyncedStore {
  /// The changes in a container and those below it, newest first: who made them, when, and of which fields. What is
  /// pending here is not among them. One round trip. Throws `SyncError`.
  ///
  /// - Parameters:
  ///   - scope: all of the space by default.
  ///   - before: `ChangeHistory.next` of the page before.
  public func history(
    of scope: PullScope = .space, before: Int64? = nil, limit: Int = 100
  ) async throws -> ChangeHistory {
    try await history(HistoryQuery(scope: scope, before: before, limit: limit))
  }

  /// The same of one record.
  public func history(
    of record: RecordID, before: Int64? = nil, limit: Int = 100
  ) async throws -> ChangeHistory {
    try await history(HistoryQuery(record: record, before: before, limit: limit))
  }

  private func history(_ query: HistoryQuery) async throws -> ChangeHistory {
    do { return try await remote.history(query) } catch { throw SyncError(error) }
  }
}
