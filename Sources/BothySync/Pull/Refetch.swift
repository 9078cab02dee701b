import BothyStore

/// Records, types and containers to request from the server again, because the server's version isn't known here. A
/// mark is durable, and ends when the server has answered.
///
/// While a mark is open, no answer that may lack its records counts as complete.
enum Refetch {
  /// The SQL of the table. A row names a record, a type without an id, or, without a type, a container and those below
  /// it as the id. `mark` distinguishes a mark from a later one for the same.
  static let sql = """
    CREATE TABLE IF NOT EXISTS bothy_refetch (
      type TEXT NOT NULL, id TEXT NOT NULL, container TEXT, mark INTEGER NOT NULL, PRIMARY KEY (type, id)
      ) STRICT, WITHOUT ROWID
    """

  struct Mark: Sendable, Hashable {
    var type: String
    var id: String
    var number: Int64

    var record: RecordID { RecordID(type: type, id: id) }
  }

  private struct Row {
    var mark: Mark
    var container: String
    /// True if no container was noted.
    var isUnplaced: Bool
  }

  /// - Parameter container: the last known container of the record, or `nil` for its type's own.
  static func mark(_ id: RecordID, in container: String?, in transaction: WriteTransaction) throws {
    try note(id.type, id.id, container, transaction)
  }

  static func mark(type: String, in transaction: WriteTransaction) throws {
    try note(type, "", nil, transaction)
  }

  /// Marks a container that belongs to a larger scope, which itself isn't pulled again.
  static func mark(container: String, in transaction: WriteTransaction) throws {
    let isPulled = try PullState.scopes(in: transaction)
      .contains(SyncScope(container: container, includesChildren: true))
    try note("", container, isPulled ? "" : nil, transaction)
  }

  private static func note(
    _ type: String, _ id: String, _ container: String?, _ transaction: WriteTransaction
  ) throws {
    try transaction.run(
      "INSERT OR REPLACE INTO bothy_refetch VALUES (?, ?, ?, random())", type, id, container)
    transaction.touchBookkeeping()
  }

  /// Ends marks whose answer has arrived. A mark that was made again meanwhile stays.
  static func end(_ marks: some Sequence<Mark>, in transaction: WriteTransaction) throws {
    for mark in marks {
      try transaction.run(
        "DELETE FROM bothy_refetch WHERE type = ? AND id = ? AND mark = ?", mark.record, mark.number)
    }
  }

  /// Ends the marks of a scope that was pulled as a whole, for its records and for containers that belong to it. Costs
  /// one look-up if nothing is marked. Returns true if the scope was pulled for its mark alone.
  static func end(in scope: SyncScope, in transaction: WriteTransaction) throws -> Bool {
    var wasOnlyMarked = false
    let ended = try rows(in: transaction).filter { row in
      guard row.mark.type.isEmpty else {
        return row.mark.id.isEmpty ? scope == .everything : scope.contains(row.container)
      }
      let marked = SyncScope(container: row.mark.id, includesChildren: true)
      // The type of such a mark is empty, and so is its container if the scope has a cursor of its own.
      if marked == scope { wasOnlyMarked = row.isUnplaced }
      return scope.contains(marked)
    }
    try end(ended.map(\.mark), in: transaction)
    return wasOnlyMarked
  }

  /// Returns the marked containers that belong to the pulled scopes.
  static func containers(in scopes: [SyncScope], in transaction: ReadTransaction) throws -> [SyncScope] {
    try rows(where: "type = ''", in: transaction)
      .map { SyncScope(container: $0.mark.id, includesChildren: true) }
      .filter { marked in scopes.contains { $0.contains(marked) } && !scopes.contains(marked) }
  }

  /// Returns the marked types that this schema declares.
  static func types(in transaction: ReadTransaction) throws -> [Mark] {
    try rows(where: "type <> '' AND id = ''", in: transaction).map(\.mark)
      .filter { transaction.catalog.tableIfKnown($0.type)?.schema.isSynced ?? false }
  }

  /// Returns the next records to request, all of one type, at most `limit`.
  static func records(
    in scopes: [SyncScope], limit: Int, in transaction: ReadTransaction
  ) throws -> [Mark] {
    var found: [Mark] = []
    for row in try rows(where: "type <> '' AND id <> ''", in: transaction) {
      guard found.isEmpty || found[0].type == row.mark.type, found.count < limit else { break }
      guard scopes.contains(where: { $0.contains(row.container) }),
        transaction.catalog.tableIfKnown(row.mark.type)?.schema.isSynced ?? false
      else { continue }
      found.append(row.mark)
    }
    return found
  }

  /// Returns the marks of which the local answer to a query may lack records.
  static func open(_ query: AnyQuery, in transaction: ReadTransaction) throws -> [Mark] {
    let scope = query.container.map { SyncScope(container: $0, includesChildren: query.includesChildren) }
    return try rows(where: "type = ?1 OR type = ''", [query.type], in: transaction).filter { row in
      guard let scope else { return true }
      if row.mark.type.isEmpty {
        return scope.overlaps(SyncScope(container: row.mark.id, includesChildren: true))
      }
      return row.mark.id.isEmpty || scope.contains(row.container)
    }
    .map(\.mark)
  }

  private static func rows(
    where condition: String = "1", _ arguments: [any StatementValue] = [], in transaction: ReadTransaction
  ) throws -> [Row] {
    try transaction.rows(
      """
      SELECT type, id, coalesce(container, type), mark, container IS NULL FROM bothy_refetch
      WHERE \(condition) ORDER BY type, id
      """, arguments
    ) { row in
      Row(
        mark: Mark(type: row.text(at: 0) ?? "", id: row.text(at: 1) ?? "", number: row.int(at: 3)),
        container: row.text(at: 2) ?? "", isUnplaced: row.int(at: 4) != 0)
    }
  }
}
