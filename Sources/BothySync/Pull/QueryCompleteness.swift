import BothyStore

/// The queries that the server has answered in full. The local answer to such a query, or to one within it, is complete
/// and as old as the server's.
enum QueryCompleteness {
  /// Notes that all the records of a query were fetched at `now`.
  static func note(_ query: AnyQuery, at now: Int64, in transaction: WriteTransaction) throws {
    try transaction.run("INSERT OR REPLACE INTO bothy_coverage VALUES (?, ?, ?)", query.type, key(query), now)
  }

  /// Returns the time at which the records of a query were last fetched in full, or `nil`.
  static func time(of query: AnyQuery, in transaction: ReadTransaction) throws -> Int64? {
    let ofContainer = AnyQuery(
      query.type, container: query.container, includesChildren: query.includesChildren)
    return try transaction.first(
      "SELECT max(asked_at) FROM bothy_coverage WHERE type = ?1 AND query IN (?2, ?3, ?4)", query.type,
      key(query), key(ofContainer), key(AnyQuery(query.type))
    ) { $0.optionalInt(at: 0) }
  }

  /// Forgets the answers that may have included a record which was removed here. They are no longer complete.
  static func forget(_ type: String, in container: String, in transaction: WriteTransaction) throws {
    try transaction.run(
      """
      DELETE FROM bothy_coverage WHERE type = ?1 AND \(Self.holds)
      """, type, container)
  }

  /// Forgets the answers of a type of which a record left the scopes that this device pulls.
  static func forget(_ type: String, in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_coverage WHERE type = ?", type)
  }

  /// Forgets the answers that may have included records of a scope which were removed here.
  static func forget(in scope: SyncScope, in transaction: WriteTransaction) throws {
    try transaction.run(
      """
      DELETE FROM bothy_coverage WHERE ?1 OR \(Self.holds)
        OR ?3 AND substr(\(Self.container), 1, length(?2) + 1) = ?2 || '/'
      """, scope == .everything, scope)
  }

  private static let container = "json_extract(query, '$.container')"

  /// SQL that holds if a query concerns the container that is parameter 2.
  private static let holds = """
    (\(container) IS NULL OR \(container) = ?2 OR json_extract(query, '$.children')
      AND (\(container) = '' OR substr(?2, 1, length(\(container)) + 1) = \(container) || '/'))
    """

  /// Returns the key of a query, without the parts that only order or cut the answer.
  private static func key(_ query: AnyQuery) -> String {
    let plain = AnyQuery(
      query.type, where: query.filter, container: query.container, includesChildren: query.includesChildren)
    var writer = JSONWriter()
    plain.json.write(to: &writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

/// Rows that are known to be out of date, because a save was sent to the server and its answer isn't shown here. The
/// answer is kept beside the row, and a later change made here continues from it. A mark counts while the row still has
/// the version that it had then, so any newer version ends it.
enum StaleRows {
  /// - Parameters:
  ///   - version: the version of the row, or `nil` without a row.
  ///   - answer: the record as the save left it on the server.
  static func mark(
    _ id: RecordID, over version: String?, _ answer: ServerRecord, in transaction: WriteTransaction
  ) throws {
    try transaction.run(
      "INSERT OR REPLACE INTO bothy_stale VALUES (?, ?, ?, ?)", id, version ?? "", answer.json)
  }

  static func isEmpty(in transaction: ReadTransaction) throws -> Bool {
    try !transaction.has("SELECT 1 FROM bothy_stale LIMIT 1")
  }

  /// Returns the record as a save left it on the server, or `nil` if the row shows that or a newer version.
  static func row(
    _ id: RecordID, over row: StoredRow?, _ table: TypeTable, in transaction: ReadTransaction
  ) throws -> StoredRow? {
    try transaction.first(
      "SELECT told FROM bothy_stale WHERE type = ? AND id = ? AND version = ? AND told IS NOT NULL", id,
      row?.version ?? ""
    ) { try table.row(ServerRecord(json: $0.bytes(at: 0))) }
  }

  static func forget(_ id: RecordID, in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_stale WHERE type = ? AND id = ?", id)
  }

  static func ids(of type: String, in transaction: ReadTransaction) throws -> Set<String> {
    guard let table = transaction.catalog.tableIfKnown(type) else { return [] }
    return Set(
      try transaction.rows("SELECT id, version FROM bothy_stale WHERE type = ?", type) { row in
        try row.text(at: 0).flatMap {
          try transaction.row(table, id: $0)?.version == row.text(at: 1) ? $0 : nil
        }
      })
  }

  /// Ends the marks whose versions a pull of the whole space has brought.
  ///
  /// - Parameter position: the position of the pull, or `nil` if it can't be compared with versions.
  static func end(upTo position: Int64?, in transaction: WriteTransaction) throws {
    try transaction.run(
      """
      DELETE FROM bothy_stale
      WHERE ?1 IS NULL OR told IS NULL OR CAST(json_extract(told, '$.version') AS INTEGER) <= ?1
      """, position)
  }
}
