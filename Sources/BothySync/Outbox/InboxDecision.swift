import BothyStore

/// What can be done about an entry that the server refuses, or about any pending entry. What was written together
/// is decided about as one: the resolution goes for each record of it.
public enum Resolution: String, Sendable, Hashable, CaseIterable {
  /// Send it again at the next sync.
  case retry
  /// Undo the local change: the record becomes what the server last told, or goes if it was made here. What was changed
  /// by a later transaction stays pending on top of that.
  case revert
  /// Keep the local content and stop trying: the record counts as synced, until the next pull brings the
  /// server's.
  case acceptLocal
  /// Remove the record from this device; the server keeps what it has, and the next pull brings that.
  case evict

  /// Whether it is about the record as it is, with all changes on top of its first.
  fileprivate var isWhole: Bool { self == .acceptLocal || self == .evict }
}

enum InboxDecision {
  /// Applies a resolution to an entry and what belongs together with it, if the entry is still at `revision` (nil:
  /// at whatever revision it is). False when it was edited since; nothing is changed then.
  static func apply(
    _ resolution: Resolution, to id: RecordID, revision: Int64? = nil, at time: Int64,
    in transaction: WriteTransaction
  ) throws -> Bool {
    let unit =
      try resolution.isWhole ? Outbox.closure(of: id, in: transaction) : Outbox.unit(of: id, in: transaction)
    guard let entry = unit.first else { throw SyncError(.notPending, "\(id) has no pending change.") }
    if let revision, revision != entry.revision { return false }
    let reason = unit.lazy.compactMap(\.reason).first
    // What is kept here is what was written, hidden or not.
    for entry in unit where resolution == .acceptLocal { try Outbox.reveal(entry, in: transaction) }
    // The latest first: what is undone beneath others has them go on from what is left.
    for entry in unit.filter(\.isLater).sorted(by: { $0.revision > $1.revision })
      + unit.filter({ !$0.isLater })
    {
      if resolution.isWhole {
        let container = try Outbox.serverContainer(of: entry, in: transaction)
        try Refetch.mark(entry.record, in: container, in: transaction)
      }
      try apply(resolution, to: entry, reason, at: time, in: transaction)
    }
    transaction.touchBookkeeping()
    return true
  }

  private static func apply(
    _ resolution: Resolution, to entry: OutboxEntry, _ reason: Rejection?, at time: Int64,
    in transaction: WriteTransaction
  ) throws {
    let id = entry.record
    let table = try transaction.catalog.table(id.type)
    // What was refused stays known as such, with what the decision takes. What is kept here the next pull replaces.
    func note(_ cause: JournalEntry.Cause) throws -> Journal.Noted {
      var row = Journal.Row(entry, reason == nil ? .withdrawn : .rejected, cause)
      row.reason = entry.reason ?? reason
      let local = try Outbox.local(entry, table, in: transaction)
      row.loss = try Journal.Loss(entry, local, table, now: entry.told)
      return try Journal.note(row, at: time, in: transaction)
    }
    if resolution.isWhole {
      for later in try Outbox.later(of: id, in: transaction) {
        let cause = resolution == .evict ? JournalEntry.Cause.evicted : .keptLocal
        var row = Journal.Row(later, .withdrawn, cause)
        let local = try Outbox.local(later, table, in: transaction)
        row.loss = try Journal.Loss(later, local, table, now: entry.told)
        _ = try Journal.note(row, at: time, in: transaction)
      }
      try Outbox.removeLater(of: id, in: transaction)
    }
    switch resolution {
    case .retry:
      if entry.isLater { return }
      let update = try PreparedStatement(
        """
        UPDATE bothy_outbox SET state = CASE state WHEN 2 THEN 0 ELSE state END, attempts = 0, retry_at = 0
        WHERE type = ?1 AND id = ?2
        """, in: transaction.database)
      update.bind(id.type, at: 1)
      update.bind(id.id, at: 2)
      try update.run()
    case .revert: try undo(entry, note(.reverted), in: transaction)
    case .acceptLocal:
      // A deletion accepted as synced stays on the server: the next pull, which asks for it, brings the record back.
      try Outbox.remove(id, note(.keptLocal), in: transaction)
      // It is not what the server has: any word of the server is newer, and an edit is compared with what it says.
      // Deleted, it may have been made again since.
      if entry.base != nil {
        try transaction.setVersion(Outbox.agedVersion, table, id: id.id)
      }
    case .evict:
      try Outbox.remove(id, note(.evicted), in: transaction)
      try transaction.evict(table, id: id.id)
    }
  }

  /// Undoes a change: what lies on top of it goes on from what was told without it.
  static func undo(_ entry: OutboxEntry, _ noted: Journal.Noted, in transaction: WriteTransaction) throws {
    if entry.isLater {
      try Outbox.undo(later: entry, noted, in: transaction)
      return
    }
    try Outbox.takeOut(entry, in: transaction)
    try revert(entry, noted, in: transaction)
  }

  /// Undoes what is pending: the record is what the server last told. One that it was forbidden to change may not be
  /// seen any more either: the next pull asks.
  static func revert(
    _ entry: OutboxEntry, told answer: ServerRecord? = nil, _ noted: Journal.Noted,
    in transaction: WriteTransaction
  ) throws {
    if entry.reason?.code == "forbidden" {
      let container = try Outbox.serverContainer(of: entry, in: transaction)
      try Refetch.mark(entry.record, in: container, in: transaction)
    }
    try Outbox.end(entry, told: answer, noted, in: transaction)
  }
}
