import BothyStore

/// The table `bothy_blob`, with this device's knowledge of each blob. Records name blobs, files have their bytes, and a
/// row has the server's state of one. A blob without a row came with a pull and was never downloaded.
enum BlobTable {
  static let sql = """
    CREATE TABLE IF NOT EXISTS bothy_blob (
      sha256 TEXT PRIMARY KEY NOT NULL, size INTEGER NOT NULL, state INTEGER NOT NULL, sent INTEGER NOT NULL,
      confirmed INTEGER NOT NULL, attempts INTEGER NOT NULL, pinned INTEGER NOT NULL) STRICT, WITHOUT ROWID
    """

  enum State: Int64 {
    /// It was put on this device; the server isn't known to have it.
    case pending = 0
    /// The server had it at `confirmed`.
    case onServer = 1
    /// Neither the server nor this device had it at the last request.
    case missing = 2
  }

  struct Row {
    var size: Int64
    var state: State
    /// The number of bytes that the server has received.
    var sent: Int64
    /// The time when the server last confirmed that it has the blob, in milliseconds since 1970.
    var confirmed: Int64
    /// The number of uploads without progress. Such blobs are tried after the others.
    var attempts: Int64
    var isPinned: Bool
  }

  /// The time for which a confirmation of the server is valid: an hour. A server keeps blobs without a record for at
  /// least a day.
  static let trust: Int64 = 3_600_000

  static func row(_ sha256: String, in transaction: ReadTransaction) throws -> Row? {
    let select = try PreparedStatement(
      "SELECT size, state, sent, confirmed, attempts, pinned FROM bothy_blob WHERE sha256 = ?",
      in: transaction.database)
    select.bind(sha256, at: 1)
    defer { select.reset() }
    guard try select.step() else { return nil }
    return Row(
      size: select.int(at: 0), state: State(rawValue: select.int(at: 1)) ?? .pending, sent: select.int(at: 2),
      confirmed: select.int(at: 3), attempts: select.int(at: 4), isPinned: select.int(at: 5) != 0)
  }

  /// Notes that the bytes are on this device.
  static func put(_ sha256: String, size: Int64, in transaction: WriteTransaction) throws {
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_blob VALUES (?1, ?2, 0, 0, 0, 0, 0) ON CONFLICT (sha256) DO UPDATE SET
        size = ?2, state = CASE state WHEN 2 THEN 0 ELSE state END
      """, in: transaction.database)
    insert.bind(sha256, at: 1)
    insert.bind(size, at: 2)
    try insert.run()
  }

  /// Notes that the server has the blob.
  static func confirm(_ sha256: String, size: Int64, at time: Int64, in transaction: WriteTransaction) throws
  {
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_blob VALUES (?1, ?2, 1, ?2, ?3, 0, 0) ON CONFLICT (sha256) DO UPDATE SET
        size = ?2, state = 1, sent = ?2, confirmed = ?3, attempts = 0
      """, in: transaction.database)
    insert.bind(sha256, at: 1)
    insert.bind(size, at: 2)
    insert.bind(time, at: 3)
    try insert.run()
  }

  /// Notes the number of bytes that the server has.
  static func setSent(_ sha256: String, _ sent: Int64, in transaction: WriteTransaction) throws {
    let update = try PreparedStatement(
      "UPDATE bothy_blob SET state = 0, sent = ?, attempts = 0 WHERE sha256 = ?", in: transaction.database)
    update.bind(sent, at: 1)
    update.bind(sha256, at: 2)
    try update.run()
  }

  static func setMissing(_ sha256: String, size: Int64, in transaction: WriteTransaction) throws {
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_blob VALUES (?1, ?2, 2, 0, 0, 0, 0) ON CONFLICT (sha256) DO UPDATE SET
        state = 2, sent = 0, confirmed = 0
      """, in: transaction.database)
    insert.bind(sha256, at: 1)
    insert.bind(size, at: 2)
    try insert.run()
  }

  static func countFailure(_ sha256: String, in transaction: WriteTransaction) throws {
    let update = try PreparedStatement(
      "UPDATE bothy_blob SET attempts = attempts + 1 WHERE sha256 = ?", in: transaction.database)
    update.bind(sha256, at: 1)
    try update.run()
  }

  static func setPinned(_ isPinned: Bool, _ blob: Blob, in transaction: WriteTransaction) throws {
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_blob VALUES (?1, ?2, 1, 0, 0, 0, ?3) ON CONFLICT (sha256) DO UPDATE SET pinned = ?3
      """, in: transaction.database)
    insert.bind(blob.sha256, at: 1)
    insert.bind(Int64(blob.size), at: 2)
    insert.bind(isPinned ? Int64(1) : 0, at: 3)
    try insert.run()
  }

  static func remove(_ sha256: String, in transaction: WriteTransaction) throws {
    let delete = try PreparedStatement("DELETE FROM bothy_blob WHERE sha256 = ?", in: transaction.database)
    delete.bind(sha256, at: 1)
    try delete.run()
  }

  /// Returns the blobs that records with pending changes name, by content, with their sizes.
  static func namedByPending(in transaction: ReadTransaction) throws -> [String: Int64] {
    var named: [String: Int64] = [:]
    for table in transaction.catalog.tables where table.schema.isSynced {
      for column in table.blobColumns {
        let select = try PreparedStatement(
          """
          SELECT json_extract(row.\(column), '$.sha256'), json_extract(row.\(column), '$.size')
          FROM bothy_outbox AS entry JOIN \(table.name) AS row ON row._id = entry.id
          WHERE entry.type = ? AND row.\(column) IS NOT NULL
          """, in: transaction.database)
        select.bind(table.schema.name, at: 1)
        defer { select.reset() }
        while try select.step() { if let name = select.text(at: 0) { named[name] = select.int(at: 1) } }
      }
    }
    for blob in try hidden(in: transaction) { named[blob.sha256] = Int64(blob.size) }
    return named
  }

  /// Returns the blobs of content that the journal can restore.
  private static func lost(in transaction: ReadTransaction) throws -> [String] {
    var lost: [String] = []
    for table in transaction.catalog.tables where table.schema.isSynced && !table.blobFields.isEmpty {
      let select = try PreparedStatement(
        "SELECT lost FROM bothy_journal WHERE type = ? AND lost IS NOT NULL AND restored IS NULL",
        in: transaction.database)
      select.bind(table.schema.name, at: 1)
      defer { select.reset() }
      while try select.step() {
        let fields = try FieldsDocument(canonical: select.bytes(at: 0)).members()
        lost += table.blobFields.compactMap { fields[$0].flatMap { Blob($0) }?.sha256 }
      }
    }
    return lost
  }

  /// Returns the blobs of changes that the rows don't show.
  private static func hidden(in transaction: ReadTransaction) throws -> [Blob] {
    var blobs: [Blob] = []
    let entries =
      try OutboxQueue.entries(where: "awaited IS NOT NULL", in: transaction)
      + OutboxQueue.laterEntries(where: "awaited IS NOT NULL", in: transaction)
    for entry in entries {
      guard let fields = try entry.awaited?.fields.members() else { continue }
      let names = transaction.catalog.tableIfKnown(entry.record.type)?.blobFields ?? []
      blobs += names.compactMap { fields[$0].flatMap { Blob($0) } }
    }
    return blobs
  }

  /// Returns true if a change that the server has not acknowledged names the blob.
  static func isUnacknowledged(_ sha256: String, in transaction: ReadTransaction) throws -> Bool {
    for table in transaction.catalog.tables where table.schema.isSynced {
      for (field, column) in zip(table.blobFields, table.blobColumns) {
        let select = try PreparedStatement(
          """
          SELECT 1 FROM bothy_outbox AS entry JOIN \(table.name) AS row ON row._id = entry.id
          WHERE entry.type = ?1 AND json_extract(row.\(column), '$.sha256') = ?2
            AND (entry.base IS NULL OR json_extract(entry.base, ?3) IS NOT ?2) LIMIT 1
          """, in: transaction.database)
        select.bind(table.schema.name, at: 1)
        select.bind(sha256, at: 2)
        select.bind("$.\"\(field)\".sha256", at: 3)
        defer { select.reset() }
        if try select.step() { return true }
      }
    }
    return try hidden(in: transaction).contains { $0.sha256 == sha256 }
  }

  /// Returns all blobs that records on this device name. Reads every row of the types with blobs.
  static func named(in transaction: ReadTransaction) throws -> Set<String> {
    var named: Set<String> = []
    for table in transaction.catalog.tables {
      for column in table.blobColumns {
        let select = try PreparedStatement(
          "SELECT json_extract(\(column), '$.sha256') FROM \(table.name) WHERE \(column) IS NOT NULL",
          in: transaction.database)
        defer { select.reset() }
        while try select.step() { if let name = select.text(at: 0) { named.insert(name) } }
      }
    }
    return try named.union(hidden(in: transaction).map(\.sha256)).union(lost(in: transaction))
  }
}
