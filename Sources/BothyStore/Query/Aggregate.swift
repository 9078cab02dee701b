/// The SQL of a value computed from the records of a query, perhaps for each group of them.
struct Aggregate {
  private let sql: SQLFragment
  private let type: String
  /// True if it is computed from all records of the type, so that no index helps.
  private let isWhole: Bool

  /// Throws `BothyError` `unknownField`, and `invalidQuery` for kinds of fields that can't be computed with.
  ///
  /// A count of a field is that of its different values, and `Self.distinct` selects these. Both leave out null.
  ///
  /// - Parameters:
  ///   - having: A condition on the value of each group, which it calls `Self.result`, with the kind of the value.
  ///   - each: The greatest number of records in each group, by the order of the query, after the first ones are skipped.
  init(
    _ function: String, _ field: String?, of query: AnyQuery, by key: String? = nil,
    having: (tree: ConditionTree, kind: ValueKind)? = nil, each: (limit: Int?, offset: Int) = (nil, 0),
    in transaction: ReadTransaction
  ) throws {
    let table = try transaction.catalog.table(query.type)
    let columns = TableColumns(table.schema)
    type = query.type
    isWhole = query.filter == .all && query.container == nil
    var computed = "count(*)"
    if let field {
      try Self.check(function, table.schema, field)
      switch function {
      case "sum":
        // No value adds up to a zero of the field's kind.
        let zero = try table.schema.queryField(field).kind == .double ? "0.0" : "0"
        computed = "coalesce(sum(_value), \(zero))"
      case "count": computed = "count(DISTINCT _value)"
      case Self.distinct: computed = "DISTINCT _value"
      default: computed = "\(function)(_value)"
      }
    }
    if let key { try Self.check("group", table.schema, key) }
    let compiler = QueryCompiler(table.schema, columns)
    // No field begins with `_`. SQLite takes a name in ORDER BY for that of a result before that of a column.
    var inner = SQLFragment(
      "SELECT \(try field.map { try columns.expression($0, table.schema) } ?? "1") AS _value")
    let isCutEach = key != nil && (each.limit != nil || each.offset > 0)
    if let key {
      let name = try columns.expression(key, table.schema)
      inner += ", \(name) AS _key"
      if isCutEach {
        inner += ", row_number() OVER (PARTITION BY \(name)"
        inner += try compiler.order(query)
        inner += ") AS _place"
      }
    }
    inner += " FROM \(table.name)"
    let isCut = query.limit != nil || query.offset > 0
    let narrowed = isCut ? try NearestSearch.narrowed(query, table, in: transaction) : query
    inner += isCut ? try compiler.tail(narrowed) : try compiler.condition(narrowed)
    var all = SQLFragment("SELECT \(key == nil ? "" : "_key, ")\(computed) AS \(Self.result) FROM (")
    all += inner
    all += ")"
    if isCutEach {
      all += SQLFragment(
        " WHERE _place > ? AND _place - ? <= ?",
        [.int(Int64(each.offset)), .int(Int64(each.offset)), .int(Int64(each.limit ?? .max))])
    }
    if key != nil { all += " GROUP BY _key" }
    if let having { all += try Self.condition(having.tree, having.kind) }
    if key != nil { all += " ORDER BY _key" }
    if function == Self.distinct { all += " WHERE _value IS NOT NULL ORDER BY _value" }
    sql = all
  }

  /// The function that selects the different values of a field, in ascending order.
  static let distinct = "distinct"

  /// The name of the computed value.
  static let result = "result"

  /// Returns ` HAVING …`, or nothing for a condition that is always true.
  private static func condition(_ tree: ConditionTree, _ kind: ValueKind) throws -> SQLFragment {
    let group = TypeSchema("group", fields: [FieldSchema(result, kind, optional: true)])
    var compiler = ConditionCompiler(group, TableColumns(group))
    try compiler.append(tree.checked(for: group))
    let condition = compiler.result
    return condition.sql == "TRUE"
      ? SQLFragment("") : SQLFragment(" HAVING " + condition.sql, condition.arguments)
  }

  private static func check(_ function: String, _ type: TypeSchema, _ field: String) throws(BothyError) {
    let kind = try type.queryField(field).kind
    let fits =
      switch function {
      case "sum", "avg": kind == .int || kind == .double
      case DecimalFunctions.sum, DecimalFunctions.average: kind == .text
      default: kind.isOrdered
      }
    guard !fits else { return }
    let purpose =
      switch function {
      case "sum", "avg", DecimalFunctions.sum, DecimalFunctions.average: "be added up"
      case "group": "group records"
      default: "be compared by order"
      }
    throw .invalidQuery("\(type.name).\(field) can't \(purpose): it is \(kind.phrase).")
  }

  func value<V: FieldConvertible>(
    _: V.Type, in transaction: ReadTransaction, _ fingerprint: inout RowFingerprint?
  ) throws -> V {
    let statement = try prepared(transaction)
    defer { end(statement, in: transaction) }
    guard try statement.step() else { throw BothyError(.database, "SQLite computed no value of \(type).") }
    fingerprint?.combine(row: statement)
    var fields = FieldDecoder(row: statement.pointer, from: 0, type: type)
    return try V(fromField: &fields)
  }

  func values<V: FieldConvertible>(
    _: V.Type, in transaction: ReadTransaction, _ fingerprint: inout RowFingerprint?
  ) throws -> [V] {
    let statement = try prepared(transaction)
    defer { end(statement, in: transaction) }
    var values: [V] = []
    while try statement.step() {
      fingerprint?.combine(row: statement)
      var fields = FieldDecoder(row: statement.pointer, from: 0, type: type)
      values.append(try V(fromField: &fields))
    }
    return values
  }

  func groups<Key: FieldConvertible, V: FieldConvertible>(
    _: Key.Type, _: V.Type, in transaction: ReadTransaction, _ fingerprint: inout RowFingerprint?
  ) throws -> [Grouped<Key, V>] {
    let statement = try prepared(transaction)
    defer { end(statement, in: transaction) }
    var groups: [Grouped<Key, V>] = []
    while try statement.step() {
      fingerprint?.combine(row: statement)
      var fields = FieldDecoder(row: statement.pointer, from: 0, type: type)
      groups.append(Grouped(key: try Key(fromField: &fields), value: try V(fromField: &fields)))
    }
    return groups
  }

  private func prepared(_ transaction: ReadTransaction) throws -> PreparedStatement {
    let statement = try PreparedStatement(query: sql.sql, in: transaction.database)
    statement.bind(sql.arguments)
    return statement
  }

  private func end(_ statement: PreparedStatement, in transaction: ReadTransaction) {
    statement.reset()
    if !isWhole { transaction.catalog.scans?.note(statement, of: type, found: 0) }
  }
}
