import BothyStore

/// Limits the rows of the journal by their number, size and age.
extension Journal {
  private static let endKey = "journalEnd"

  /// SQL of the highest number that a row ever had.
  static let endSQL = """
    SELECT max(coalesce((SELECT max(number) FROM bothy_journal), 0), coalesce((
      SELECT CAST(value AS INTEGER) FROM bothy_sync WHERE key = '\(endKey)'), 0))
    """

  /// Returns the highest number that a row ever had, or 0.
  static func end(in transaction: ReadTransaction) throws -> Int64 {
    try transaction.first(endSQL) { $0.int(at: 0) } ?? 0
  }

  /// Stores the number of the newest row, so that numbers continue after it when it is removed.
  private static func keepEnd(in transaction: WriteTransaction) throws {
    try SyncValues.set(endKey, String(end(in: transaction)), in: transaction)
  }

  /// The most rows of a share that one transaction looks at.
  private static let step: Int64 = 2000

  /// Removes the oldest rows beyond the limits. Runs once in a transaction that added rows. Costs a look at the oldest
  /// and the newest row of each share if nothing is removed, and otherwise the removal of 2,000 rows of a share at
  /// most.
  ///
  /// The age of a row begins with the first call after it that has a time. So a wrong clock of the device, before or
  /// after, removes nothing.
  ///
  /// - Parameter now: the server's time, from an answer to this process. `nil` if none has come: then the size alone
  ///   counts.
  static func trim(to limits: SyncOptions.JournalLimits, at now: Int64?, in transaction: WriteTransaction)
    throws
  {
    if let now {
      try transaction.run("UPDATE bothy_journal SET known_at = ? WHERE known_at IS NULL", now)
    }
    let begin = now.map { limits.begin(at: $0) } ?? .min
    for share in [Int64(0), 1] {
      let rows = Int64(clamping: share == 0 ? limits.acceptedRows : limits.rows)
      guard
        let newest = try transaction.first(
          "SELECT ordinal, extent FROM bothy_journal WHERE share = ?1 ORDER BY ordinal DESC LIMIT 1", share,
          read: { (ordinal: $0.int(at: 0), extent: $0.int(at: 1)) })
      else { continue }
      let old = try PreparedStatement(
        "SELECT ordinal, extent, known_at FROM bothy_journal WHERE share = ?1 ORDER BY ordinal LIMIT ?2",
        in: transaction.database)
      old.bind(share, at: 1)
      old.bind(step, at: 2)
      var last: Int64?
      while try old.step() {
        let ordinal = old.int(at: 0)
        let isOver =
          newest.ordinal - ordinal >= rows || newest.extent - old.int(at: 1) >= Int64(clamping: limits.bytes)
        guard isOver || old.optionalInt(at: 2) ?? .max < begin else { break }
        last = ordinal
      }
      old.reset()
      guard let last else { continue }
      if last == newest.ordinal { try keepEnd(in: transaction) }
      if share == 1 { try cutTransactions(upTo: last, in: transaction) }
      try transaction.run("DELETE FROM bothy_journal WHERE share = ?1 AND ordinal <= ?2", share, last)
    }
  }

  /// Marks the rows that are left of transactions of which the rows up to an ordinal are removed.
  private static func cutTransactions(upTo last: Int64, in transaction: WriteTransaction) throws {
    try transaction.run(
      """
      UPDATE bothy_journal SET together = '' WHERE ordinal > ?1 AND together IN (
        SELECT together FROM bothy_journal WHERE share = 1 AND ordinal <= ?1 AND together > '')
      """, last)
  }

  static func clear(in transaction: WriteTransaction) throws {
    try keepEnd(in: transaction)
    try transaction.run("DELETE FROM bothy_journal")
    transaction.touchBookkeeping()
  }
}
