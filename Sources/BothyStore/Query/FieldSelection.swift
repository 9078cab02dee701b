/// The SQL that reads some fields of the records of a query.
struct FieldSelection {
  private let sql: SQLFragment
  private let fields: [QueryField]
  private let type: String
  /// The columns as SQL names them, those of a coordinate with the suffixes `_lat` and `_lon`.
  private let names: [String]

  /// Throws `BothyError` `unknownField`, and `invalidQuery` without a field or for a query that doesn't fit the schema.
  init(_ names: [String], of query: AnyQuery, in transaction: ReadTransaction) throws {
    try transaction.checkIsOpen()
    let table = try transaction.catalog.table(query.type)
    let columns = TableColumns(table.schema)
    guard !names.isEmpty else {
      throw BothyError.invalidQuery("A selection of \(query.type) names no field.")
    }
    var (fields, named, selected) = ([QueryField](), [String](), [String]())
    for name in names {
      let field = try table.schema.queryField(name)
      fields.append(field)
      if case .field(let declared) = field {
        named += declared.columns
        selected += declared.columns.map(\.quotedIdentifier)
      } else {
        named.append(name)
        selected.append(try columns.expression(name, table.schema))
      }
    }
    let tail = try QueryCompiler(table.schema, columns).tail(
      NearestSearch.narrowed(query, table, in: transaction))
    sql = SQLFragment(
      "SELECT \(selected.joined(separator: ", ")) FROM \(table.name)\(tail.sql)", tail.arguments)
    (self.fields, self.names, type) = (fields, named, query.type)
  }

  /// Returns the values of each record, as a fetch shows them. Leaves out records with content of these fields that this
  /// app can't show.
  func values(
    in transaction: ReadTransaction, _ fingerprint: inout RowFingerprint?
  ) throws -> [[FieldValue]] {
    let statement = try PreparedStatement(query: sql.sql, in: transaction.database)
    statement.bind(sql.arguments)
    var (rows, found): ([[FieldValue]], Int) = ([], 0)
    defer {
      statement.reset()
      transaction.catalog.scans?.note(statement, of: type, found: found)
    }
    while try statement.step() {
      found += 1
      guard let values = try shown(statement) else { continue }
      for value in values { fingerprint?.combine(bytesOf: value) }
      fingerprint?.combine(values.count)
      rows.append(values)
    }
    return rows
  }

  /// Returns the rows as values of a type, each property from the field of its name.
  func decoded<Row: Decodable>(
    _ row: Row.Type, in transaction: ReadTransaction, _ fingerprint: inout RowFingerprint?
  ) throws -> [Row] {
    let rows = try values(in: transaction, &fingerprint).map { values in
      zip(fields, values).flatMap { SQLCell.cells(of: $1, $0.kind) }
    }
    return try SQLRows(names: names, rows: rows).decoded(row)
  }

  /// Returns the fields of the current row, with stand-ins for content that the app doesn't know. Nil without one.
  private func shown(_ statement: PreparedStatement) throws -> [FieldValue]? {
    var decoder = FieldDecoder(row: statement.pointer, from: 0, type: type)
    var values: [FieldValue] = []
    values.reserveCapacity(fields.count)
    for field in fields {
      let value = try decoder.value(field.kind)
      guard case .field(let declared) = field else {
        values.append(value)
        continue
      }
      // Content without a stand-in leaves the record out, as in a fetch.
      do { values.append(try declared.shown(value, of: type)) } catch { return nil }
    }
    return values
  }
}

extension SQLCell {
  /// Returns the columns of a field's value, as SQL reads them.
  fileprivate static func cells(of value: FieldValue, _ kind: ValueKind) -> [SQLCell] {
    switch value {
    case .null: return kind == .coordinate ? [.null, .null] : [.null]
    case .bool(let flag): return [.int(flag ? 1 : 0)]
    case .int(let number), .date(let number): return [.int(number)]
    case .double(let number): return [.double(number)]
    case .text(let text), .json(let text): return [.text(text)]
    case .data: return [.data(value)]
    case .coordinate(let place): return [.double(place.latitude), .double(place.longitude)]
    case .list:
      var writer = JSONWriter()
      value.write(to: &writer)
      return [.text(writer.string)]
    }
  }
}
