import BothyStore

/// The queries that the server has answered in full. The local answer to such a query, or to one within it, is complete
/// and as old as the server's.
enum QueryCompleteness {
  /// Notes that all the records of a query were fetched at `now`.
  static func note(_ query: AnyQuery, at now: Int64, in transaction: WriteTransaction) throws {
    let insert = try PreparedStatement(
      "INSERT OR REPLACE INTO bothy_coverage VALUES (?, ?, ?)", in: transaction.database)
    insert.bind(query.type, at: 1)
    insert.bind(key(query), at: 2)
    insert.bind(now, at: 3)
    try insert.run()
  }

  /// Returns the time at which the records of a query were last fetched in full, or `nil`.
  static func time(of query: AnyQuery, in transaction: ReadTransaction) throws -> Int64? {
    let select = try PreparedStatement(
      "SELECT max(asked_at) FROM bothy_coverage WHERE type = ?1 AND query IN (?2, ?3, ?4)",
      in: transaction.database)
    let ofContainer = AnyQuery(
      query.type, container: query.container, includesChildren: query.includesChildren)
    select.bind(query.type, at: 1)
    select.bind(key(query), at: 2)
    select.bind(key(ofContainer), at: 3)
    select.bind(key(AnyQuery(query.type)), at: 4)
    defer { select.reset() }
    guard try select.step(), !select.isNull(at: 0) else { return nil }
    return select.int(at: 0)
  }

  /// Forgets the answers that may have included a record which was removed here. They are no longer complete.
  static func forget(_ type: String, in container: String, in transaction: WriteTransaction) throws {
    let delete = try PreparedStatement(
      """
      DELETE FROM bothy_coverage WHERE type = ?1 AND \(Self.holds)
      """, in: transaction.database)
    delete.bind(type, at: 1)
    delete.bind(container, at: 2)
    try delete.run()
  }

  /// Forgets the answers of a type of which a record left the scopes that this device pulls.
  static func forget(_ type: String, in transaction: WriteTransaction) throws {
    let delete = try PreparedStatement(
      "DELETE FROM bothy_coverage WHERE type = ?", in: transaction.database)
    delete.bind(type, at: 1)
    try delete.run()
  }

  /// Forgets the answers that may have included records of a scope which were removed here.
  static func forget(in scope: SyncScope, in transaction: WriteTransaction) throws {
    let delete = try PreparedStatement(
      """
      DELETE FROM bothy_coverage WHERE ?1 OR \(Self.holds)
        OR ?3 AND substr(\(Self.container), 1, length(?2) + 1) = ?2 || '/'
      """, in: transaction.database)
    delete.bind(scope == .everything ? 1 : 0, at: 1)
    delete.bind(scope.container, at: 2)
    delete.bind(scope.includesChildren ? 1 : 0, at: 3)
    try delete.run()
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

/// Rows that are known to be out of date, because a save was sent to the server and its answer wasn't kept. A mark
/// counts while the row still has the version that it had then, so any newer version ends it.
enum StaleRows {
  static func mark(_ id: RecordID, version: String, in transaction: WriteTransaction) throws {
    let insert = try PreparedStatement(
      "INSERT OR REPLACE INTO bothy_stale VALUES (?, ?, ?)", in: transaction.database)
    insert.bind(id.type, at: 1)
    insert.bind(id.id, at: 2)
    insert.bind(version, at: 3)
    try insert.run()
  }

  static func ids(of type: String, in transaction: ReadTransaction) throws -> Set<String> {
    let select = try PreparedStatement(
      "SELECT id, version FROM bothy_stale WHERE type = ?", in: transaction.database)
    select.bind(type, at: 1)
    defer { select.reset() }
    var found: Set<String> = []
    while try select.step() {
      guard let id = select.text(at: 0), let table = transaction.catalog.tableIfKnown(type) else { continue }
      if try transaction.row(table, id: id)?.version == select.text(at: 1) { found.insert(id) }
    }
    return found
  }

  /// Ends all marks, after everything of the space was pulled.
  static func clear(in transaction: WriteTransaction) throws {
    try PreparedStatement("DELETE FROM bothy_stale", in: transaction.database).run()
  }
}
