import BothyStore

/// The server's history of changes.
extension StoreMaintenance {
  /// Returns the changes in a container and those below it, newest first, with the user, the time and the fields of
  /// each. Pending changes are not among them. One round trip. Throws `BothyError`.
  ///
  /// - Parameters:
  ///   - scope: the whole space by default.
  ///   - before: `ChangeHistory.next` of the previous page.
  package func history(
    of scope: SyncScope = .everything, before: Int64? = nil, limit: Int = 100
  ) async throws -> ChangeHistory {
    try await history(HistoryQuery(scope: scope, before: before, limit: limit))
  }

  /// Returns the changes of one record, like `history(of:before:limit:)` with a scope.
  package func history(
    of record: RecordID, before: Int64? = nil, limit: Int = 100
  ) async throws -> ChangeHistory {
    try await history(HistoryQuery(record: record, before: before, limit: limit))
  }

  private func history(_ query: HistoryQuery) async throws -> ChangeHistory {
    do { return try await synced.remote.history(query) } catch { throw BothyError(error) }
  }
}
