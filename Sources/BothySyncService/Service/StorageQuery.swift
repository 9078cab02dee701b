import BothyStore

/// The SQL of a query over a storage's records, whose fields are one JSON document.
enum StorageQuery {
  /// Returns the SQL that selects the records of the query after a record, in its order.
  ///
  /// Parameter 1 is the space. The returned arguments begin at parameter 2.
  static func select(
    _ query: AnyQuery, after: AnyRecord?, schema: StoreSchema?, columns: String,
    seenBy filter: VisibilityFilter? = nil
  ) throws(BothyError) -> (sql: String, arguments: [FieldValue]) {
    let (type, query) = try query.resolved(in: schema)
    let compiler = compiler(type, isDeclared: schema != nil)
    var select = try rows(query, compiler, columns, filter)
    if let after {
      // The order of ids is that of an index, which begins at the id.
      let rest = AnyQuery(query.type, where: query.condition(after: after, type))
      let condition = try compiler.filter(rest)
      select += SQLFragment(" AND (\(condition.sql))", condition.arguments)
    }
    select += try compiler.order(query)
    select += compiler.limit(query)
    return (select.sql, select.arguments)
  }

  /// Returns the SQL that counts the records, without the limit.
  static func count(
    _ query: AnyQuery, schema: StoreSchema?
  ) throws(BothyError) -> (sql: String, arguments: [FieldValue]) {
    let (type, query) = try query.resolved(in: schema)
    let count = try rows(query, compiler(type, isDeclared: schema != nil), "count(*)")
    return (count.sql, count.arguments)
  }

  private static func rows(
    _ query: AnyQuery, _ compiler: QueryCompiler<DocumentColumns>, _ columns: String,
    _ visible: VisibilityFilter? = nil
  ) throws(BothyError) -> SQLFragment {
    let filter = try compiler.filter(query)
    if let visible, visible.restrictedTypes.contains(query.type) {
      var rows = visibleRows(of: query.type, visible, columns)
      rows += SQLFragment(" AND (\(filter.sql))", filter.arguments)
      return rows
    }
    return SQLFragment(
      "SELECT \(columns) FROM record WHERE space = ?1 AND type = ? AND deleted = 0 AND (\(filter.sql))",
      [.text(query.type)] + filter.arguments)
  }

  private static func compiler(_ type: TypeSchema, isDeclared: Bool) -> QueryCompiler<DocumentColumns> {
    QueryCompiler(type, DocumentColumns(version: "CAST(position AS TEXT)", checksKinds: isDeclared))
  }
}
