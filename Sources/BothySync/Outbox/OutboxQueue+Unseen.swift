import BothyStore

/// Deletions of records that this device does not have.
extension OutboxQueue {
  /// True if the record is here, or was here and its deletion is still pending.
  static func knows(_ id: RecordID, in transaction: ReadTransaction) throws -> Bool {
    if try transaction.exists(id) { return true }
    return try mark(id, in: transaction) != nil
  }

  /// Queues the deletion of a record that was never seen here.
  static func assumeDeleted(_ id: RecordID, at time: Int64, in transaction: WriteTransaction) throws {
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_outbox (type, id, kind, revision, edited, state, attempts, retry_at)
      VALUES (?, ?, ?, \(newRevision), ?, 0, 0, 0)
      """, in: transaction.database)
    insert.bind(id.type, at: 1)
    insert.bind(id.id, at: 2)
    insert.bind(ChangeKind.delete.number, at: 3)
    insert.bind(time, at: 4)
    try insert.run()
  }

  /// Returns the record as it was when it was deleted here, or `nil`.
  static func last(_ id: RecordID, in transaction: ReadTransaction) throws -> FieldsDocument? {
    let select = try PreparedStatement(
      "SELECT last FROM bothy_outbox WHERE type = ? AND id = ?", in: transaction.database)
    select.bind(id.type, at: 1)
    select.bind(id.id, at: 2)
    defer { select.reset() }
    guard try select.step(), !select.isNull(at: 0) else { return nil }
    return FieldsDocument(canonical: select.bytes(at: 0))
  }
}
