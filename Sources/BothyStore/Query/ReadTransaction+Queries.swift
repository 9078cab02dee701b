extension ReadTransaction {
  /// Returns the records that the query describes, in its order.
  ///
  /// Costs the rows that SQLite visits. With an index on the first sort key or an equality these are the requested
  /// rows, else every row of the type. Leaves out records with content that this app doesn't know and has no default
  /// for. Throws `BothyError` `unknownField` or `invalidQuery`.
  ///
  /// Holds all records in memory, and one row of SQLite at a time. Statements are kept prepared, up to 64 shapes of
  /// queries a connection. Runs on the thread of the closure.
  @inlinable
  public final func fetch<E: Entity>(_ query: RecordQuery<E>) throws -> [E] {
    var rows = try RowCursor(query.recordQuery, in: self, isKept: true)
    defer { rows.close() }
    var entities: [E] = []
    while try rows.next() { if let entity = try rows.entity(E.self) { entities.append(entity) } }
    return entities
  }

  /// Returns the records of any type that the query describes, in its order.
  package final func fetch(_ query: AnyQuery) throws -> [AnyRecord] {
    var rows = try RowCursor(query, in: self, isKept: false, isWhole: true)
    defer { rows.close() }
    var records: [AnyRecord] = []
    while try rows.next() { records.append(try rows.record()) }
    return records
  }

  /// Returns the first record that the query describes, or nil.
  package final func first<E: Entity>(_ query: RecordQuery<E>) throws -> E? { try fetch(query.first()) }

  /// Returns the records with the ids, in the order of the ids. Leaves out those that don't exist, or that this app can't
  /// read. Reads one row by primary key for each id.
  @inlinable
  package final func fetch<E: Entity>(_ type: E.Type, ids: some Sequence<String>) throws -> [E] {
    var entities: [E] = []
    for id in ids {
      if let entity = try fetch(type, id: id, leavesOut: true) { entities.append(entity) }
    }
    return entities
  }

  /// Returns the number of records that `fetch` returns and of those that it leaves out. Reads only the fields of the
  /// condition.
  ///
  /// The limit and the offset hold: with a limit of 100 the number is at most 100. Throws as `fetch(_:)`.
  public final func count<E: Entity>(_ query: RecordQuery<E>) throws -> Int { try count(query.recordQuery) }

  /// Returns the number of records that `fetch` returns.
  package final func count(_ query: AnyQuery) throws -> Int {
    try checkIsOpen()
    let table = try catalog.table(query.type)
    let compiler = QueryCompiler(table.schema, TableColumns(table.schema))
    var select = SQLFragment("FROM \(table.name)")
    select += try compiler.condition(query)
    let limit = compiler.limit(query)
    let sql =
      limit.sql.isEmpty
      ? "SELECT count(*) \(select.sql)" : "SELECT count(*) FROM (SELECT 1 \(select.sql)\(limit.sql))"
    let statement = try PreparedStatement(unkept: sql, in: database)
    statement.bind(select.arguments + limit.arguments)
    let count = try statement.step() ? Int(statement.int(at: 0)) : 0
    statement.reset()
    if query.filter != .all || query.container != nil {
      catalog.scans?.note(statement, of: query.type, found: count)
    }
    return count
  }

  /// Runs `body` with one record after another, with only one in memory. `body` may read and, in a write transaction,
  /// write. It isn't defined if records written meanwhile are visited.
  @inlinable
  package final func forEach<E: Entity>(_ query: RecordQuery<E>, _ body: (E) throws -> Void) throws {
    var rows = try RowCursor(query.recordQuery, in: self, isKept: false)
    defer { rows.close() }
    while try rows.next() { if let entity = try rows.entity(E.self) { try body(entity) } }
  }

  /// Runs `body` with one record of any type after another, with only one in memory.
  package final func forEach(_ query: AnyQuery, _ body: (AnyRecord) throws -> Void) throws {
    var rows = try RowCursor(query, in: self, isKept: false, isWhole: true)
    defer { rows.close() }
    while try rows.next() { try body(try rows.record()) }
  }

  /// Returns the ids of the records that the query describes, in its order.
  package final func ids(_ query: AnyQuery) throws -> [String] {
    try checkIsOpen()
    let table = try catalog.table(query.type)
    let tail = try QueryCompiler(table.schema, TableColumns(table.schema)).tail(
      NearestSearch.narrowed(query, table, in: self))
    let statement = try PreparedStatement(unkept: "SELECT _id FROM \(table.name)\(tail.sql)", in: database)
    statement.bind(tail.arguments)
    defer { statement.reset() }
    var ids: [String] = []
    while try statement.step() {
      if let id = statement.text(at: 0) { ids.append(id) }
    }
    return ids
  }
}
