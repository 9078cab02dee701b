/// Compiles a query to the parts of an SQL statement from `WHERE` on.
///
/// The caller writes `SELECT … FROM …`, because a device and a server read different tables. Throws `BothyError`
/// `unknownField` or `invalidQuery` if the query doesn't fit the schema.
package struct QueryCompiler<Columns: ColumnExpressions>: Sendable {
  private let type: TypeSchema
  private let columns: Columns

  package init(_ type: TypeSchema, _ columns: Columns) {
    self.type = type
    self.columns = columns
  }

  /// Returns ` WHERE …`, or nothing for a query of every record.
  package func condition(_ query: AnyQuery) throws(BothyError) -> SQLFragment {
    let filter = try filter(query)
    return filter.sql == "TRUE" ? SQLFragment("") : SQLFragment(" WHERE " + filter.sql, filter.arguments)
  }

  /// Returns the condition alone, for a caller that has conditions of its own.
  package func filter(_ query: AnyQuery) throws(BothyError) -> SQLFragment {
    let query = try query.checked(for: type)
    var compiler = ConditionCompiler(type, columns)
    try compiler.append(query.filter)
    if let container = query.container {
      compiler.restrict(to: container, withChildren: query.includesChildren)
    }
    guard compiler.result.arguments.count <= 30_000 else {
      throw .invalidQuery("The query has more than 30,000 values. Split it.")
    }
    return compiler.result
  }

  /// Returns ` ORDER BY …` with a total order, or nothing if any order is allowed.
  package func order(_ query: AnyQuery) throws(BothyError) -> SQLFragment {
    var order = SQLFragment("")
    if query.isUnordered && query.order.isEmpty { return order }
    var resolved = query
    resolved.order = try query.resolvedOrder(type)
    for key in resolved.totalOrder {
      order += order.sql.isEmpty ? " ORDER BY " : ", "
      if let search = key.search {
        order += columns.rank(search, type)
        order += key.ascending ? "" : " DESC"
        continue
      }
      guard let origin = key.origin, case .field(let field) = try type.queryField(key.field) else {
        let value =
          try key.isNatural ? columns.natural(key.field, type) : columns.expression(key.field, type)
        order += value + (key.ascending ? "" : " DESC")
        continue
      }
      order += SQLFragment(
        "bothy_distance(\(columns.latitude(of: field)), \(columns.longitude(of: field)), ?, ?) "
          + (key.ascending ? "NULLS LAST" : "DESC NULLS FIRST"),
        [.double(origin.latitude), .double(origin.longitude)])
    }
    return order
  }

  /// Returns ` LIMIT ? OFFSET ?`, or nothing.
  package func limit(_ query: AnyQuery) -> SQLFragment {
    guard query.limit != nil || query.offset > 0 else { return SQLFragment("") }
    return SQLFragment(" LIMIT ? OFFSET ?", [.int(Int64(query.limit ?? -1)), .int(Int64(query.offset))])
  }

  /// Returns all parts, the SQL after `FROM table`.
  package func tail(_ query: AnyQuery) throws(BothyError) -> SQLFragment {
    var tail = try condition(query)
    tail += try order(query)
    tail += limit(query)
    return tail
  }
}
