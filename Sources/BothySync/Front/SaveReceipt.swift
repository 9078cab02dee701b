public import BothyStore

/// What became of a save, now and later.
public struct SaveReceipt: Sendable {
  /// What was saved, moved, shared or deleted.
  public let record: RecordID
  /// Where the write stood when the receipt was given.
  public let state: SaveOutcome
  let store: SyncedStore
  /// The entry's revision that the receipt is for.
  let revision: Int64?
  /// False when the local store could not take the write and the server alone has it.
  public var isStoredHere = true

  /// Waits until the server has decided. While `run()` is running that takes as long as it takes; otherwise it
  /// syncs, and throws `SyncError` when the server cannot be reached. The write stays pending then, and the
  /// receipt can be asked again, also by `receipt(for:)` after a relaunch.
  public func outcome() async throws -> SaveOutcome {
    if case .accepted = state { return state }
    if store.engine.isLooping {
      let reports = store.engine.reports.values()
      store.engine.ask()
      for await report in reports {
        if let settled = try store.outcome(of: record, revision, after: report) { return settled }
        if Task.isCancelled { throw CancellationError() }
      }
    }
    let report = await store.sync(.push, ifRunning: .join)
    if let settled = try store.outcome(of: record, revision, after: report) { return settled }
    throw report.skipped.map { SyncError($0) }
      ?? SyncError(.pendingChanges, "\(record) is still pending.", record: record)
  }
}

/// Where a write stands towards the server.
public enum SaveOutcome: Sendable, Hashable {
  /// Durable here; the server does not have it yet.
  case pending
  /// Held back by the app.
  case draft
  /// The server has it, at this version. Empty for a deletion.
  case accepted(version: String)
  /// A conflict was decided: the record is a merge of both sides, or the server's.
  case merged(version: String)
  /// The server refused it; the inbox has it.
  case rejected(Rejection)
}

extension SyncedStore {
  /// The receipt for a record's present state: after a relaunch, say. For one of which nothing is pending it says
  /// accepted, at the version that is here. Two look-ups.
  public func receipt(for id: RecordID) throws -> SaveReceipt {
    try store.read { transaction in
      guard let entry = try Outbox.entry(id, in: transaction) else {
        return SaveReceipt(
          record: id, state: .accepted(version: try transaction.record(id)?.version ?? ""), store: self,
          revision: nil)
      }
      let reason = try entry.reason ?? Outbox.refusedMember(with: entry, in: transaction)?.reason
      let state: SaveOutcome = entry.state == .held ? .draft : reason.map { .rejected($0) } ?? .pending
      return SaveReceipt(record: id, state: state, store: self, revision: entry.revision)
    }
  }

  func outcome(of id: RecordID, _ revision: Int64?, after report: SyncReport) throws -> SaveOutcome? {
    try store.read { transaction in
      let entry = try Outbox.entry(id, in: transaction)
      if let reason = entry?.reason { return .rejected(reason) }
      if let entry, let reason = try Outbox.refusedMember(with: entry, in: transaction)?.reason {
        return .rejected(reason)
      }
      let isSettled = report.synced.contains { $0.record == id }
      // A later edit joined the entry: it tells nothing of this one unless the server answered meanwhile.
      if let entry, !isSettled || entry.revision == revision || revision == nil { return nil }
      if !isSettled, let failure = report.failures.last(where: { $0.record == id }) {
        // Refused, and undone by the rejection policy.
        return .rejected(failure.rejection)
      }
      let version = try transaction.record(id)?.version ?? ""
      let wasMerged = report.synced.contains { $0.record == id && $0.action.rawValue >= 3 }
      return wasMerged ? .merged(version: version) : .accepted(version: version)
    }
  }
}
