import BothyStore

/// Showing an answer of the server together with what belongs to it.
///
/// An answer is of one moment, and the file of an earlier one. Of what the file follows, all changes up to the answer are
/// pulled and shown at once before a record of it is, so that no read shows a part of a transaction.
extension SyncedStore {
  /// Pulls where an answer has news of what the file follows; else it costs one read. Throws `BothyError` where the pull
  /// does not get through: then nothing of the answer is shown.
  ///
  /// - Parameter window: the query, with the part of it that the answer covers: a local record in that part that the
  ///   answer lacks is news too.
  func catchUp(with records: [ServerRecord], lacking window: AnyQuery? = nil) async throws {
    // Inside a sync, one of its own can't be waited for.
    guard !engine.isInside else { return }
    // A sync that was running already may have asked before the answer was made.
    for _ in 0..<2 {
      let pulls = try await store.read { try Self.pulls(for: records, lacking: window, in: $0) }
      guard !pulls.isEmpty else { return }
      let report = await engine.sync(
        SyncPass.Request(scope: .pull, pulls: pulls, ignoresRetryTimes: true))
      if let reason = report.stop { throw BothyError(reason) }
    }
  }

  /// All that the file follows and has in full, where an answer has news of any of it; else nothing.
  private static func pulls(
    for records: [ServerRecord], lacking window: AnyQuery?, in transaction: ReadTransaction
  ) throws -> [SyncScope] {
    let scopes = try PullState.all(in: transaction).filter(\.isComplete).map(\.scope)
    guard !scopes.isEmpty else { return [] }
    func isFollowed(_ container: String) -> Bool { scopes.contains { $0.contains(container) } }
    let pending = try OutboxQueue.pending(in: transaction)
    if try records.contains(where: { try isFollowed($0.container) && isNews($0, pending, in: transaction) }) {
      return scopes
    }
    guard let window else { return [] }
    return try lacking(records, window, in: transaction).contains { isFollowed($0.container) } ? scopes : []
  }

  /// Whether a record is newer than what the server is known to have of it here.
  private static func isNews(
    _ record: ServerRecord, _ pending: PendingLookup, in transaction: ReadTransaction
  ) throws -> Bool {
    guard let table = transaction.catalog.tableIfKnown(record.id.type) else { return false }
    let known =
      try pending(record.id).map { $0.told?.version }
      ?? transaction.row(table, id: record.id.id)?.version
    if let known { return record.version.isNewer(than: known) }
    return try UnreadableTable.version(of: record.id, in: transaction) != record.version
  }

  /// The local records of a query that should be in the server's answer: each changed there, or is gone.
  static func lacking(
    _ records: [ServerRecord], _ window: AnyQuery, in transaction: ReadTransaction
  ) throws -> [AnyRecord] {
    let found = Set(records.map(\.id.id))
    return try transaction.fetch(window).filter { record in
      try record.version != nil && !found.contains(record.id)
        && OutboxQueue.mark(record.recordID, in: transaction) == nil
    }
  }
}
