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

  /// Waits until the server has decided, for as long as `limit`. Sends the write at once, ahead of a sync that is running.
  ///
  /// Returns `.pending` when the time is over or the server can't be reached: the write is sent by a later sync, and the
  /// receipt can be asked again, also by `receipt(for:)` after a relaunch. `save(_:in:awaiting:options:)` says why.
  public func outcome(within limit: Duration) async throws -> SaveOutcome {
    try await store.settle(self, within: limit).0
  }

  /// Sends what is pending and returns what the server has decided. The write stays pending where that is not possible,
  /// and the receipt can be asked again, also by `receipt(for:)` after a relaunch.
  ///
  /// Throws `SyncError`: why the server can't be reached, or `.pendingChanges` for what is not sent: a draft, and what refers
  /// to one. Whether `run()` is running makes no difference.
  ///
  /// What was decided is read from the file, where the sync that decided it has noted it: a receipt that is asked
  /// later says the same.
  public func outcome() async throws -> SaveOutcome {
    guard let revision else { return state }
    if let settled = try store.verdict(on: record, revision) { return settled }
    if try await store.store.read({ [record] in try Outbox.isHeld(record, upTo: revision, in: $0) }) {
      throw SyncError(
        .pendingChanges, "\(record) is a draft, which is not sent before `release`.", record: record)
    }
    let report = await store.sync(.push, ifRunning: .join)
    if let settled = try store.outcome(of: record, revision) { return settled }
    throw report.skipped.map { SyncError($0) }
      ?? SyncError(
        .pendingChanges,
        "\(record) is still pending: what it refers to was not sent, or what was written together with it. A draft is sent "
          + "after `release`; `inbox` says what the server refuses.", record: record)
  }
}

/// Where a write stands towards the server.
public enum SaveOutcome: Sendable, Hashable {
  /// Durable here; the server does not have it yet.
  case pending
  /// Held back by the app.
  case draft
  /// The server has it as it was written, at this version. Empty for a deletion.
  case accepted(version: String)
  /// The server has a merge of it with what others wrote, at this version: in fields that both changed, the other
  /// side may stand.
  case merged(version: String)
  /// It gave way: the server keeps what it had, at this version; empty where it has no such record. The journal has
  /// the content that was replaced.
  case overwritten(version: String)
  /// The server refused it. The inbox has it, unless it was undone: by the rejection policy, or by a decision.
  case rejected(Rejection)
  /// The server will not decide: it was taken back here before, by a deletion of what was just made, by a decision, or
  /// by a purge. The journal says which.
  case withdrawn
  /// It was decided, and the journal keeps no word of it: too long ago, or the journal was emptied since.
  case expired
  /// Nothing is known of it: it was never written here, or decided so long ago that the journal keeps it no longer.
  case unknown
}

extension SyncedStore {
  /// The receipt for a record's last write: after a relaunch, say. When nothing of it is pending, it says what the
  /// journal has last; `.unknown` where that has nothing. Two look-ups.
  public func receipt(for id: RecordID) throws -> SaveReceipt {
    try store.read { transaction in
      guard let entry = try Outbox.top(of: id, in: transaction) else {
        return SaveReceipt(
          record: id, state: try Journal.last(of: id, in: transaction) ?? .unknown, store: self, revision: nil
        )
      }
      return try receipt(for: entry, in: transaction)
    }
  }

  /// The receipt for a write of this transaction. Where it has left nothing to send, the server has the record as it
  /// is, or never heard of it: then what was made was taken back.
  func receipt(writing id: RecordID, in transaction: WriteTransaction) throws -> SaveReceipt {
    try transaction.flush()
    if let entry = try Outbox.top(of: id, in: transaction) { return try receipt(for: entry, in: transaction) }
    let stored = try transaction.record(id)
    let isTakenBack = try stored == nil && Journal.last(of: id, in: transaction) == .withdrawn
    return SaveReceipt(
      record: id, state: isTakenBack ? .withdrawn : .accepted(version: stored?.version ?? ""), store: self,
      revision: nil)
  }

  private func receipt(for entry: OutboxEntry, in transaction: ReadTransaction) throws -> SaveReceipt {
    let reason = try entry.reason ?? Outbox.refusedMember(with: entry, in: transaction)?.reason
    let state: SaveOutcome = entry.state == .held ? .draft : SaveOutcome(refusedBy: reason) ?? .pending
    return SaveReceipt(record: entry.record, state: state, store: self, revision: entry.revision)
  }

  /// What was decided about a write for good; nil while it is pending.
  func verdict(on id: RecordID, _ revision: Int64) throws -> SaveOutcome? {
    try store.read { try Journal.outcome(of: id, at: revision, in: $0) }
  }

  /// The same, with a refusal that waits in the inbox. Nil while the write is to be sent.
  func outcome(of id: RecordID, _ revision: Int64) throws -> SaveOutcome? {
    try store.read { transaction in
      if let settled = try Journal.outcome(of: id, at: revision, in: transaction) { return settled }
      guard let top = try Outbox.top(of: id, in: transaction), Journal.belongs(revision, to: top),
        let entry = try Outbox.entry(id, in: transaction)
      else { return .expired }
      // One on top of a change that was refused waits for it.
      if revision > entry.revision { return nil }
      let reason = try entry.reason ?? Outbox.refusedMember(with: entry, in: transaction)?.reason
      return SaveOutcome(refusedBy: reason)
    }
  }
}

extension SaveOutcome {
  /// What the reason of a waiting entry says of its write. Nil where there is none, and where the server failed inside:
  /// then it has decided nothing.
  fileprivate init?(refusedBy reason: Rejection?) {
    guard let reason, !reason.leavesDoubt else { return nil }
    self = .rejected(reason)
  }
}
