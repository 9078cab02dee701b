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

    /// True if the server is known to have the blob at a time. Of two readings of the clock in one sync, either may be
    /// the later one. False if the clock was set back since by as long as a confirmation is valid.
    func isTrusted(at now: Int64) -> Bool {
      state == .onServer && now.subtractingClamped(confirmed).magnitude < BlobTable.trust.magnitude
    }
  }

  /// The time for which a confirmation of the server is valid: an hour. A server keeps blobs without a record for at
  /// least a day.
  static let trust: Int64 = 3_600_000

  static func row(_ sha256: String, in transaction: ReadTransaction) throws -> Row? {
    try transaction.first(
      "SELECT size, state, sent, confirmed, attempts, pinned FROM bothy_blob WHERE sha256 = ?", sha256
    ) { row in
      Row(
        size: row.int(at: 0), state: State(rawValue: row.int(at: 1)) ?? .pending, sent: row.int(at: 2),
        confirmed: row.int(at: 3), attempts: row.int(at: 4), isPinned: row.int(at: 5) != 0)
    }
  }

  /// Notes that the bytes are on this device.
  static func put(_ sha256: String, size: Int64, in transaction: WriteTransaction) throws {
    try transaction.run(
      """
      INSERT INTO bothy_blob VALUES (?1, ?2, 0, 0, 0, 0, 0) ON CONFLICT (sha256) DO UPDATE SET
        size = ?2, state = CASE state WHEN 2 THEN 0 ELSE state END
      """, sha256, size)
  }

  /// Notes that the server has the blob.
  static func confirm(_ sha256: String, size: Int64, at time: Int64, in transaction: WriteTransaction) throws
  {
    try transaction.run(
      """
      INSERT INTO bothy_blob VALUES (?1, ?2, 1, ?2, ?3, 0, 0) ON CONFLICT (sha256) DO UPDATE SET
        size = ?2, state = 1, sent = ?2, confirmed = ?3, attempts = 0
      """, sha256, size, time)
  }

  /// Notes the number of bytes that the server has.
  static func setSent(_ sha256: String, _ sent: Int64, in transaction: WriteTransaction) throws {
    try transaction.run(
      "UPDATE bothy_blob SET state = 0, sent = ?, attempts = 0 WHERE sha256 = ?", sent, sha256)
  }

  static func setMissing(_ sha256: String, size: Int64, in transaction: WriteTransaction) throws {
    try transaction.run(
      """
      INSERT INTO bothy_blob VALUES (?1, ?2, 2, 0, 0, 0, 0) ON CONFLICT (sha256) DO UPDATE SET
        state = 2, sent = 0, confirmed = 0
      """, sha256, size)
  }

  static func countFailure(_ sha256: String, in transaction: WriteTransaction) throws {
    try transaction.run("UPDATE bothy_blob SET attempts = attempts + 1 WHERE sha256 = ?", sha256)
  }

  static func setPinned(_ isPinned: Bool, _ blob: Blob, in transaction: WriteTransaction) throws {
    try transaction.run(
      """
      INSERT INTO bothy_blob VALUES (?1, ?2, 1, 0, 0, 0, ?3) ON CONFLICT (sha256) DO UPDATE SET pinned = ?3
      """, blob.sha256, Int64(blob.size), isPinned)
  }

  static func remove(_ sha256: String, in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_blob WHERE sha256 = ?", sha256)
  }

  /// Returns the blobs that records with pending changes name, by content, with their sizes.
  static func namedByPending(in transaction: ReadTransaction) throws -> [String: Int64] {
    var named: [String: Int64] = [:]
    for table in transaction.catalog.tables where table.schema.isSynced {
      for column in table.blobColumns {
        let found = try transaction.rows(
          """
          SELECT json_extract(row.\(column), '$.sha256'), json_extract(row.\(column), '$.size')
          FROM bothy_outbox AS entry JOIN \(table.name) AS row ON row._id = entry.id
          WHERE entry.type = ? AND row.\(column) IS NOT NULL
          """, table.schema.name
        ) { row in row.text(at: 0).map { ($0, row.int(at: 1)) } }
        for (name, size) in found { named[name] = size }
      }
    }
    for blob in try hidden(in: transaction) { named[blob.sha256] = Int64(blob.size) }
    return named
  }

  /// Returns the blobs of content that the journal can restore.
  static func lost(in transaction: ReadTransaction) throws -> Set<String> {
    var lost: Set<String> = []
    for table in transaction.catalog.tables where table.schema.isSynced && !table.blobFields.isEmpty {
      let found = try transaction.rows(
        "SELECT lost FROM bothy_journal WHERE type = ? AND lost IS NOT NULL AND restored IS NULL",
        table.schema.name
      ) { row in
        let fields = try FieldsDocument(canonical: row.bytes(at: 0)).members()
        return table.blobFields.compactMap { fields[$0].flatMap { Blob($0) }?.sha256 }
      }
      lost.formUnion(found.joined())
    }
    return lost
  }

  /// Returns the blobs of changes that the rows don't show.
  private static func hidden(in transaction: ReadTransaction) throws -> [Blob] {
    var blobs: [Blob] = []
    for entry in try OutboxQueue.changes(where: "awaited IS NOT NULL", in: transaction) {
      guard let fields = try entry.awaited?.fields.members() else { continue }
      let names = transaction.catalog.tableIfKnown(entry.id.type)?.blobFields ?? []
      blobs += names.compactMap { fields[$0].flatMap { Blob($0) } }
    }
    return blobs
  }

  /// Returns true if a change that the server has not acknowledged names the blob.
  static func isUnacknowledged(_ sha256: String, in transaction: ReadTransaction) throws -> Bool {
    for table in transaction.catalog.tables where table.schema.isSynced {
      for (field, column) in zip(table.blobFields, table.blobColumns) {
        let isNamed = try transaction.has(
          """
          SELECT 1 FROM bothy_outbox AS entry JOIN \(table.name) AS row ON row._id = entry.id
          WHERE entry.type = ?1 AND json_extract(row.\(column), '$.sha256') = ?2
            AND (entry.base IS NULL OR json_extract(entry.base, ?3) IS NOT ?2) LIMIT 1
          """, table.schema.name, sha256, "$.\"\(field)\".sha256")
        if isNamed { return true }
      }
    }
    return try hidden(in: transaction).contains { $0.sha256 == sha256 }
  }

  /// Returns all blobs that records on this device name. Reads every row of the types with blobs.
  static func named(in transaction: ReadTransaction) throws -> Set<String> {
    var named: Set<String> = []
    for table in transaction.catalog.tables {
      for column in table.blobColumns {
        named.formUnion(
          try transaction.rows(
            "SELECT json_extract(\(column), '$.sha256') FROM \(table.name) WHERE \(column) IS NOT NULL"
          ) { $0.text(at: 0) })
      }
    }
    return try named.union(hidden(in: transaction).map(\.sha256))
  }
}

/// A blob that the server must have before the entry that names it is sent.
struct BlobNeed: Sendable {
  var record: RecordID
  var operation: ChangeKind
  /// The entry's revision when the need was found.
  var revision: Int64
  var blob: Blob
  /// The number of failed tries so far.
  var attempts: Int64

  /// Returns the blobs that a change names and that the server isn't known to have. Costs one look-up for each.
  static func missing(
    _ fields: [String: JSONValue], _ table: TypeTable, now: Int64, in transaction: ReadTransaction
  ) throws -> [(blob: Blob, attempts: Int64)] {
    try table.blobFields.compactMap { name in
      guard let blob = fields[name].flatMap({ Blob($0) }) else { return nil }
      let row = try BlobTable.row(blob.sha256, in: transaction)
      if row?.isTrusted(at: now) ?? false { return nil }
      return (blob, row?.attempts ?? 0)
    }
  }
}
