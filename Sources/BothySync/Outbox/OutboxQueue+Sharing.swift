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
    let now = SyncClock.Reading(time: edited, isReliable: true)
    guard var entry = try top(of: id, in: transaction) else {
      return try begin(
        id, row.version == nil ? .insert : .update, at: now, base: row.base(table), container: row.container,
        metadata: row.metadata, sharing: change, in: transaction)
    }
    if try liesOnTop(of: entry, in: transaction) {
      try stack(.update, on: entry, table, before: row, last: nil, at: now, in: transaction)
      entry = try top(of: id, in: transaction) ?? entry
    }
    try update(
      entry, "SET share = ?4, revision = revision + 1, \(triedAgain)",
      (entry.sharing?.then(change) ?? change).json, in: transaction)
    if let group = entry.group { try forgive(group, in: transaction) }
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
    try transaction.run(
      "UPDATE bothy_outbox SET share = ?3 WHERE type = ?1 AND id = ?2", id, change.isEmpty ? nil : change.json
    )
  }
}
