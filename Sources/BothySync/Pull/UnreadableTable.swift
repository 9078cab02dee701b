import BothyStore

/// Records of the server that can't be read here, kept as far as they were received.
enum UnreadableTable {
  /// The SQL of the table. `record` has the record as received, if it could be parsed. It is read again when the file
  /// is opened.
  static let sql = """
    CREATE TABLE IF NOT EXISTS bothy_unreadable (
      type TEXT NOT NULL, id TEXT NOT NULL, version TEXT NOT NULL, container TEXT NOT NULL, reason TEXT NOT NULL,
      record TEXT, PRIMARY KEY (type, id)) STRICT, WITHOUT ROWID
    """

  /// Returns the row of a server's record. Keeps a record that can't be read in the table, and returns `nil`.
  static func row(
    _ record: ServerRecord, _ table: TypeTable, repaired: inout Bool, in transaction: WriteTransaction
  ) throws -> StoredRow? {
    switch read(record, table, repaired: &repaired) {
    case .success(let row):
      try remove(record.id, in: transaction)
      return row
    case .failure(let found):
      try keep(found, record, in: transaction)
      return nil
    }
  }

  /// Returns the row of a server's record, or the reason why it can't be read.
  static func read(
    _ record: ServerRecord, _ table: TypeTable, repaired: inout Bool
  ) -> Result<StoredRow, UnreadableRecord> {
    do {
      let row = try table.row(record, upTo: JSONReader.maximumValueDepth + 1, repaired: &repaired)
      try table.checkReadable(row.values)
      return .success(row)
    } catch { return .failure(UnreadableRecord(record, error)) }
  }

  /// Keeps a record aside, in place of an earlier version of it.
  static func keep(
    _ found: UnreadableRecord, _ record: ServerRecord? = nil, in transaction: WriteTransaction
  ) throws {
    try transaction.run(
      "INSERT OR REPLACE INTO bothy_unreadable VALUES (?, ?, ?, ?, ?, ?)", found.record, found.version,
      found.container, found.reason, record?.json)
    transaction.touchBookkeeping()
  }

  static func remove(_ id: RecordID, in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_unreadable WHERE type = ? AND id = ?", id)
  }

  /// Forgets the records of the containers for which `isGone` returns true.
  static func remove(where isGone: (String) -> Bool, in transaction: WriteTransaction) throws {
    for found in try kept(in: transaction) where isGone(found.container) {
      try remove(found.record, in: transaction)
    }
  }

  /// Returns the version of a record that is kept aside, or `nil`.
  static func version(of id: RecordID, in transaction: ReadTransaction) throws -> String? {
    try transaction.first("SELECT version FROM bothy_unreadable WHERE type = ? AND id = ?", id) {
      $0.text(at: 0)
    }
  }

  static func isEmpty(in transaction: ReadTransaction) throws -> Bool {
    try !transaction.has("SELECT 1 FROM bothy_unreadable LIMIT 1")
  }

  /// Returns the records that are kept aside, and those of rows that the app's types can't read. An earlier version of the
  /// app may have left such rows.
  static func all(in transaction: ReadTransaction) throws -> [UnreadableRecord] {
    let kept = try kept(in: transaction)
    let known = Set(kept.map(\.record))
    let stored = try transaction.unreadRecords().map { found in
      UnreadableRecord(
        record: found.record.recordID, version: found.record.version ?? "", container: found.record.container,
        reason: found.reason.message)
    }
    return (kept + stored.filter { !known.contains($0.record) }).sorted {
      ($0.record.type, $0.record.id) < ($1.record.type, $1.record.id)
    }
  }

  private static func kept(in transaction: ReadTransaction) throws -> [UnreadableRecord] {
    try transaction.rows(
      "SELECT type, id, version, container, reason FROM bothy_unreadable ORDER BY type, id"
    ) { row in
      UnreadableRecord(
        record: row.record(at: 0), version: row.text(at: 2) ?? "", container: row.text(at: 3) ?? "",
        reason: row.text(at: 4) ?? "")
    }
  }

  /// Returns the records as received, except for those of which only a name could be read.
  static func records(in transaction: ReadTransaction) throws -> [RecordID: ServerRecord] {
    let records = try transaction.rows("SELECT record FROM bothy_unreadable WHERE record IS NOT NULL") {
      try ServerRecord(json: $0.bytes(at: 0))
    }
    return Dictionary(records.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
  }

  /// Tries again to read the records, for an app that can read more than its earlier version.
  static func retry(in transaction: WriteTransaction) throws {
    for (id, record) in try records(in: transaction) {
      guard let table = transaction.catalog.tableIfKnown(id.type) else { continue }
      var repaired = false
      guard case .success(let row) = read(record, table, repaired: &repaired) else { continue }
      try remove(id, in: transaction)
      if try OutboxQueue.mark(id, in: transaction) == nil {
        try transaction.put(table, id: id.id, row)
      } else {
        try OutboxQueue.hear(record, in: transaction)
      }
    }
  }
}

extension UnreadableRecord: Error {}
