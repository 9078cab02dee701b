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
