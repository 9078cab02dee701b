/// The rows of one query, one after another: the loop under every fetch.
///
/// Holds one row at a time. The generic loops around it are inlined into the app's module, where they are
/// specialised for the entity type; the work on a row is here. Used inside the transaction that made it.
@usableFromInline
struct RowCursor {
  private let statement: PreparedStatement
  private let table: TypeTable
  /// The fields of the current row.
  @usableFromInline var fields: FieldDecoder

  /// `isKept` keeps the statement prepared for the next call with the same shape of query. It must be false
  /// when the caller's code runs between rows, because a kept statement serves one loop at a time. Whole rows are for
  /// `record()`.
  @usableFromInline
  init(_ query: AnyQuery, in transaction: ReadTransaction, isKept: Bool, isWhole: Bool = false) throws {
    try transaction.checkIsOpen()
    let table = try transaction.catalog.table(query.type)
    let tail = try QueryCompiler(table.schema, TableColumns(table.schema)).tail(
      NearestSearch.narrowed(query, table, in: transaction))
    let sql = (isWhole ? table.selectWholeSQL : table.selectSQL) + tail.sql
    let database = transaction.database
    statement =
      isKept
      ? try PreparedStatement(query: sql, in: database) : try PreparedStatement(unkept: sql, in: database)
    statement.bind(tail.arguments)
    self.table = table
    fields = FieldDecoder(row: statement.pointer, table)
  }

  /// Moves to the next row; false when there is none.
  @usableFromInline
  mutating func next() throws -> Bool {
    guard try statement.step() else {
      statement.reset()
      return false
    }
    fields.rewind(to: 1)
    return true
  }

  /// The id of the current row.
  @usableFromInline var id: String { statement.text(at: 0) ?? "" }

  /// Adds the raw values of the current row to a fingerprint.
  func combine(into fingerprint: inout RowFingerprint) { fingerprint.combine(row: statement) }

  /// Ends the loop before its last row.
  @usableFromInline
  func close() { statement.reset() }

  /// The current row as a record.
  @usableFromInline
  func record() throws -> AnyRecord { AnyRecord(id: id, try StoredRow(from: statement, table), table) }
}

extension PreparedStatement {
  /// Binds the values in order from the first parameter.
  package func bind(_ values: [FieldValue]) {
    for (index, value) in values.enumerated() { bind(value, at: Int32(index + 1)) }
  }
}
