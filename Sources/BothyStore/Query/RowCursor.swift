/// The rows of one query, one after another: the loop under every fetch.
///
/// Holds one row at a time. The generic loops around it are inlined into the app's module, where they are specialised
/// for the entity type. This type does the work on a row. Valid inside the transaction that created it.
@usableFromInline
struct RowCursor {
  private let statement: PreparedStatement
  private let table: TypeTable
  private let reading: Int64
  private let isWhole: Bool
  private let scans: ScanLog?
  private var rowCount = 0
  /// The fields of the current row.
  @usableFromInline var fields: FieldDecoder

  /// Creates a cursor. `isKept` keeps the statement prepared for the next query of that shape. It must be false if the
  /// caller's code runs between rows, because a kept statement serves one loop at a time. `isWhole` reads the whole
  /// rows that `record()` needs.
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
    self.isWhole = isWhole
    reading = transaction.reading
    scans = transaction.catalog.scans
    fields = FieldDecoder(row: statement.pointer, table, reading: reading)
  }

  /// Moves to the next row. Returns false after the last one.
  @usableFromInline
  mutating func next() throws -> Bool {
    guard try statement.step() else {
      close()
      return false
    }
    rowCount += 1
    fields.rewind(to: 1)
    return true
  }

  /// Returns the current row as a value, or nil for one that this app can't read.
  @inlinable
  mutating func entity<E: Entity>(_ type: E.Type = E.self) throws -> E? {
    do throws(BothyError) { return try E(id: id, from: &fields) } catch { return try shown(type, error) }
  }

  @usableFromInline
  func shown<E: Entity>(_ type: E.Type, _ error: BothyError) throws -> E? {
    try table.entity(type, id, of: statement, fields.readMark, after: error, leavesOut: true)
  }

  /// The id of the current row.
  @usableFromInline var id: String { statement.text(at: 0) ?? "" }

  /// Adds the raw values of the current row to a fingerprint, where one is given. A row that isn't whole becomes a value
  /// of a Swift type. Of the columns after the fields that one has the version alone, as its mark.
  func combine(into fingerprint: inout RowFingerprint?) {
    let all = 0..<statement.columnCount
    guard !isWhole && table.schema.isSynced else {
      fingerprint?.combine(row: statement, all)
      return
    }
    fingerprint?.combine(row: statement, 0..<table.systemColumn)
    fingerprint?.combine(row: statement, table.systemColumn + 1..<table.systemColumn + 2)
  }

  /// Ends the loop before its last row.
  @usableFromInline
  func close() {
    statement.reset()
    scans?.note(statement, of: table.schema.name, found: rowCount)
  }

  /// Returns the current row as a record.
  @usableFromInline
  func record() throws -> AnyRecord {
    AnyRecord(id: id, try StoredRow(from: statement, table), table, reading: reading)
  }
}

extension PreparedStatement {
  /// Binds the values in order from the first parameter.
  package func bind(_ values: [FieldValue]) {
    for (index, value) in values.enumerated() { bind(value, at: Int32(index + 1)) }
  }
}
