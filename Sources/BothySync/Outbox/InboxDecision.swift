import BothyStore

extension Outbox {
  /// A decision about a rejected entry, or about any pending entry. It applies to each record of the entry's transaction.
  public enum Decision: String, Sendable, Hashable, CaseIterable {
    /// Sends the change again at the next sync.
    case retry
    /// Undoes the local change. The record becomes what the server last reported, or is deleted if it was created here.
    /// Changes by a later transaction stay pending on top of that.
    case revert
    /// Keeps the local content and stops sending it. The record counts as synced, until the next pull replaces it by the
    /// server's.
    case keepLocal
    /// Evicts the record from this device. The server keeps its version, and the next pull brings it.
    case removeLocal

    /// True if the decision is about the whole record, with all changes stacked on its first.
    fileprivate var isWhole: Bool { self == .keepLocal || self == .removeLocal }
  }
}

enum InboxDecision {
  /// Applies a resolution to an entry and all that belongs to it, if the entry is still at `revision`. With `nil`, any
  /// revision matches. Returns false, and changes nothing, if the entry was edited since.
  static func apply(
    _ resolution: Outbox.Decision, to id: RecordID, revision: Int64? = nil, at time: Int64,
    in transaction: WriteTransaction
  ) throws -> Bool {
    let unit =
      try resolution.isWhole
      ? OutboxQueue.closure(of: id, in: transaction) : OutboxQueue.unit(of: id, in: transaction)
    guard let entry = unit.first else { throw BothyError(.notPending, "\(id) has no pending change.") }
    if let revision, revision != entry.revision { return false }
    let reason = unit.lazy.compactMap(\.reason).first
    // `.keepLocal` keeps what was written, hidden or not.
    for entry in unit where resolution == .keepLocal { try OutboxQueue.reveal(entry, in: transaction) }
    // The latest first: undoing a change moves those stacked on it to what remains.
    for entry in unit.filter(\.isLater).sorted(by: { $0.revision > $1.revision })
      + unit.filter({ !$0.isLater })
    {
      if resolution.isWhole {
        let container = try OutboxQueue.serverContainer(of: entry, in: transaction)
        try Refetch.mark(entry.record, in: container, in: transaction)
      }
      try apply(resolution, to: entry, reason, at: time, in: transaction)
    }
    transaction.touchBookkeeping()
    return true
  }

  private static func apply(
    _ resolution: Outbox.Decision, to entry: Outbox.Entry, _ reason: Rejection?, at time: Int64,
    in transaction: WriteTransaction
  ) throws {
    let id = entry.record
    let table = try transaction.catalog.table(id.type)
    // The journal keeps the rejection, with what the decision takes. The next pull replaces the kept content.
    func note(_ cause: JournalEntry.Cause) throws -> Journal.Noted {
      try Journal.note(
        entry, reason == nil ? .withdrawn : .rejected, cause, reason: entry.reason ?? reason,
        loss: Journal.Loss(entry, now: entry.told, in: transaction), at: time, in: transaction)
    }
    if resolution.isWhole {
      for later in try OutboxQueue.later(of: id, in: transaction) {
        try Journal.note(
          later, .withdrawn, resolution == .removeLocal ? .evicted : .keptLocal,
          loss: Journal.Loss(later, now: entry.told, in: transaction), at: time, in: transaction)
      }
      try OutboxQueue.removeLater(of: id, in: transaction)
    }
    switch resolution {
    case .retry:
      if entry.isLater { return }
      try transaction.run(
        """
        UPDATE bothy_outbox SET state = CASE state WHEN 2 THEN 0 ELSE state END, attempts = 0, retry_at = 0
        WHERE type = ?1 AND id = ?2
        """, id)
    case .revert: try undo(entry, note(.reverted), in: transaction)
    case .keepLocal:
      // The server still has a record whose deletion is accepted as synced. The next pull requests it and inserts it
      // again.
      try OutboxQueue.remove(id, note(.keptLocal), in: transaction)
      // The row isn't the server's version. Any version of the server is newer, and an edit is compared with it. A
      // deleted record may have been created again since.
      if entry.base != nil {
        try transaction.setVersion(OutboxQueue.agedVersion, table, id: id.id)
      }
    case .removeLocal:
      try OutboxQueue.remove(id, note(.evicted), in: transaction)
      try transaction.evict(table, id: id.id)
    }
  }

  /// Undoes a change. Changes stacked on it continue from the state that it was made on.
  static func undo(_ entry: Outbox.Entry, _ noted: Journal.Noted, in transaction: WriteTransaction) throws {
    if entry.isLater {
      try OutboxQueue.undo(later: entry, noted, in: transaction)
      return
    }
    try OutboxQueue.takeOut(entry, in: transaction)
    try revert(entry, noted, in: transaction)
  }

  /// Undoes the pending change of a record, which becomes what the server last reported. After the rejection
  /// `forbidden` the record may be invisible too, so the next pull requests it.
  static func revert(
    _ entry: Outbox.Entry, told answer: ServerRecord? = nil, _ noted: Journal.Noted,
    in transaction: WriteTransaction
  ) throws {
    if entry.reason?.code == "forbidden" {
      let container = try OutboxQueue.serverContainer(of: entry, in: transaction)
      try Refetch.mark(entry.record, in: container, in: transaction)
    }
    try OutboxQueue.end(entry, told: answer, noted, in: transaction)
  }
}
