import BothyStore

/// Sharing as a part of a record's one entry. It joins the pending changes, is sent with them, and outlives a conflict
/// over the fields.
extension OutboxQueue {
  /// Notes a pending change of a record's audience. Throws `BothyError` `.notFound` if the record doesn't exist, and
  /// `BothyError` `.notSynced` for a type that stays on this device.
  static func share(
    _ id: RecordID, _ change: SharingChange, edited: Int64, in transaction: WriteTransaction
  ) throws {
    try transaction.flush()
    let table = try transaction.catalog.table(id.type)
    guard table.schema.isSynced else {
      throw BothyError(
        .notSynced, "Records of \(id.type) stay on this device and can't be shared.", record: id)
    }
    // Sharing joins the changes that the row shows.
    if let entry = try entry(id, in: transaction) { try reveal(entry, in: transaction) }
    guard let row = try transaction.row(table, id: id.id) else {
      throw BothyError(.notFound, "The record \(id) doesn't exist. Save it before you share it.")
    }
    if change.isEmpty { return }
    transaction.touch(table, id.id)
    guard var entry = try top(of: id, in: transaction) else {
      return try begin(id, change, row, table, edited: edited, in: transaction)
    }
    if try liesOnTop(of: entry, in: transaction) {
      let now = SyncClock.Reading(time: edited, isReliable: true)
      try stack(.update, on: entry, table, before: row, last: nil, at: now, in: transaction)
      entry = try top(of: id, in: transaction) ?? entry
    }
    let update = try statement(
      "UPDATE", entry,
      """
      SET share = ?4, revision = revision + 1, \(triedAgain)
      """, in: transaction)
    update.bind((entry.sharing?.then(change) ?? change).json, at: 4)
    try update.run()
    if let group = entry.group { try forgive(group, in: transaction) }
  }

  private static func begin(
    _ id: RecordID, _ change: SharingChange, _ row: StoredRow, _ table: TypeTable, edited: Int64,
    in transaction: WriteTransaction
  ) throws {
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_outbox (type, id, kind, revision, edited, state, attempts, retry_at, base_version, base,
        container, share, base_created, base_modified, base_owner)
      VALUES (?, ?, ?, \(newRevision), ?, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?)
      """, in: transaction.database)
    insert.bind(id.type, at: 1)
    insert.bind(id.id, at: 2)
    insert.bind((row.version == nil ? ChangeKind.insert : .update).number, at: 3)
    insert.bind(edited, at: 4)
    insert.bind(row.version, at: 5)
    insert.bind(row.version == nil ? nil : table.document(row), at: 6)
    insert.bind(row.container, at: 7)
    insert.bind(change.json, at: 8)
    insert.bind(row.metadata, at: 9)
    try insert.run()
  }

  /// Reduces the pending sharing of an entry to what remains after the server has applied `sent`.
  static func reduceSharing(of entry: Outbox.Entry, by sent: SharingChange?, in transaction: WriteTransaction)
    throws
  {
    guard let pending = entry.sharing, sent != nil else { return }
    try setSharing(pending.remaining(after: sent), of: entry.record, in: transaction)
  }

  /// Sets the pending sharing of an entry.
  static func setSharing(_ change: SharingChange, of id: RecordID, in transaction: WriteTransaction) throws {
    let update = try PreparedStatement(
      "UPDATE bothy_outbox SET share = ?3 WHERE type = ?1 AND id = ?2", in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    update.bind(change.isEmpty ? nil : change.json, at: 3)
    try update.run()
  }
}
