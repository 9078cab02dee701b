import BothyStore

/// What can be done about an entry that the server refuses, or about any pending entry. What was written together
/// is decided about as one: the resolution goes for each record of it.
public enum Resolution: String, Sendable, Hashable, CaseIterable {
  /// Send it again at the next sync.
  case retry
  /// Undo the local change: the record becomes what the server last told, or goes if it was made here.
  case revert
  /// Keep the local content and stop trying: the record counts as synced, until the next pull brings the
  /// server's.
  case acceptLocal
  /// Remove the record from this device; the server keeps what it has, and the next pull brings that.
  case evict
}

enum InboxDecision {
  /// Applies a resolution to an entry and what belongs together with it, if the entry is still at `revision` (nil:
  /// at whatever revision it is). False when it was edited since; nothing is changed then.
  static func apply(
    _ resolution: Resolution, to id: RecordID, revision: Int64? = nil, in transaction: WriteTransaction
  ) throws -> Bool {
    let unit = try Outbox.unit(of: id, in: transaction)
    guard let entry = unit.first else { throw SyncError(.notPending, "\(id) has no pending change.") }
    if let revision, revision != entry.revision { return false }
    let reason = unit.lazy.compactMap(\.reason).first
    for entry in unit {
      if let reason, resolution != .retry {
        let row = Journal.Row(
          record: entry.record, revision: entry.revision, verdict: .rejected, reason: entry.reason ?? reason,
          lost: try resolution == .acceptLocal ? nil : Outbox.localContent(of: entry.record, in: transaction))
        try Journal.note(row, in: transaction)
      }
      try apply(resolution, to: entry, in: transaction)
    }
    transaction.touchBookkeeping()
    if resolution == .acceptLocal || resolution == .evict { try PullState.resetAll(in: transaction) }
    return true
  }

  private static func apply(
    _ resolution: Resolution, to entry: OutboxEntry, in transaction: WriteTransaction
  ) throws {
    let id = entry.record
    let table = try transaction.catalog.table(id.type)
    switch resolution {
    case .retry:
      let update = try PreparedStatement(
        """
        UPDATE bothy_outbox SET state = CASE state WHEN 2 THEN 0 ELSE state END, attempts = 0, retry_at = 0
        WHERE type = ?1 AND id = ?2
        """, in: transaction.database)
      update.bind(id.type, at: 1)
      update.bind(id.id, at: 2)
      try update.run()
    case .revert: try revert(entry, table, in: transaction)
    case .acceptLocal:
      // A deletion accepted as synced stays on the server: the next pull, which is whole, brings the record back.
      try Outbox.remove(id, in: transaction)
    case .evict:
      try Outbox.remove(id, in: transaction)
      try transaction.evict(table, id: id.id)
    }
  }

  /// Brings the row back to the server's state: the newest that a pull has told of, else the base.
  static func revert(_ entry: OutboxEntry, _ table: TypeTable, in transaction: WriteTransaction) throws {
    try Outbox.remove(entry.record, in: transaction)
    let current: ServerRecord? =
      entry.shadow
      ?? entry.base.map {
        ServerRecord(
          id: entry.record, container: entry.container, version: $0.version, modified: 0, fields: $0.fields)
      }
    guard let current, !current.isDeleted, !entry.isLeaving else {
      try transaction.evict(table, id: entry.record.id)
      return
    }
    if entry.reason?.code == "forbidden" {
      // It may not be seen any more either: the next pull is whole, and says so.
      try PullState.resetAll(in: transaction)
    }
    if let shadow = entry.shadow {
      var known = try KnownSharing(transaction)
      try known.set(shadow.sharing, of: entry.record)
    }
    var repaired = false
    let row = try table.row(
      current.fields, container: current.container, version: current.version, repaired: &repaired)
    try transaction.replace(table, id: entry.record.id, row)
  }
}
