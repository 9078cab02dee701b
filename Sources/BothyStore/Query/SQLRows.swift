import GRDB
internal import GRDBSQLite

/// The rows of a SQL query, or of a selection. They are read to the end before one is decoded, because the code of an app's type may read
/// from the store, and a kept statement serves one loop at a time.
struct SQLRows {
  private let columns: [String: Int]
  private let rows: [[SQLCell]]

  /// Creates rows that were read, with the names of their columns. Of columns with the same name the first counts.
  init(names: [String], rows: [[SQLCell]]) {
    columns = Dictionary(names.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    self.rows = rows
  }

  /// Runs the query, for at most the time `limit`.
  init(
    _ text: SQLFragment, in transaction: ReadTransaction, within limit: Duration,
    _ fingerprint: inout RowFingerprint?
  ) throws {
    try transaction.checkIsOpen()
    try transaction.catalog.sql.reads(text.sql)
    let statement = try Self.prepared(text, in: transaction)
    var rows: [[SQLCell]] = []
    defer {
      statement.reset()
      // Without either no index would spare a visit of all records.
      if let scans = transaction.catalog.scans,
        ["where", "order by"].contains(where: { text.sql.lowercased().contains($0) })
      {
        scans.note(statement, of: nil, found: rows.count)
      }
    }
    let names = (0..<statement.columnCount).map { column in
      sqlite3_column_name(statement.pointer, column).map { String(cString: $0) } ?? ""
    }
    let end = ContinuousClock.now + limit
    do {
      try transaction.database.interrupted(when: { ContinuousClock.now >= end }) {
        while try statement.step() {
          fingerprint?.combine(row: statement)
          rows.append((0..<statement.columnCount).map { SQLCell(statement, $0) })
        }
      }
    } catch let error as DatabaseError
      where error.resultCode == .SQLITE_INTERRUPT && ContinuousClock.now >= end
    {
      throw BothyError(
        .invalidQuery, "The SQL was given up after \(limit). Add an index, a condition or a limit.",
        underlying: error)
    }
    self.init(names: names, rows: rows)
  }

  private static func prepared(_ text: SQLFragment, in transaction: ReadTransaction) throws
    -> PreparedStatement
  {
    let statement: PreparedStatement
    do {
      // The cache of statements takes two spellings of a letter for one text.
      let isPlain = text.sql.utf8.allSatisfy { $0 < 0x80 }
      statement =
        isPlain
        ? try PreparedStatement(query: text.sql, in: transaction.database)
        : try PreparedStatement(unkept: text.sql, in: transaction.database)
    } catch {
      throw BothyError(
        .invalidQuery, "SQLite can't read the SQL: \(BothyError.cause(error)).", underlying: error)
    }
    var encoder = FieldEncoder(binding: statement.pointer, from: 1)
    for value in text.arguments { encoder.encode(value) }
    if encoder.refused != nil || encoder.resultCode != SQLITE_OK {
      statement.clearBindings()
      throw BothyError(
        .invalidValue, "A value in the SQL can't be bound: a place is on earth, and a number is finite.")
    }
    guard sqlite3_bind_parameter_count(statement.pointer) == encoder.nextParameter - 1 else {
      statement.clearBindings()
      throw BothyError(
        .invalidQuery,
        "The SQL has parameters without a value. Interpolate values: `WHERE title = \\(title)`.")
    }
    return statement
  }

  /// Returns the rows as values of a type.
  func decoded<Row: Decodable>(_ type: Row.Type) throws -> [Row] {
    // A type of fields, such as `Int`, is the first column.
    let isOneValue = type is any FieldConvertible.Type
    var decoded: [Row] = []
    decoded.reserveCapacity(rows.count)
    for cells in rows {
      let row = SQLRowDecoder(columns: columns, cells: cells)
      do { decoded.append(try isOneValue ? row.first.decoded(type) : Row(from: row)) } catch let error
        as DecodingError
      { throw BothyError(.invalidValue, "A row of the SQL isn't a \(type).", underlying: error) }
    }
    return decoded
  }
}

/// One value of a row, as SQLite has it.
enum SQLCell {
  case null, int(Int64), double(Double), text(String), data(FieldValue)

  init(_ statement: PreparedStatement, _ column: Int32) {
    switch sqlite3_column_type(statement.pointer, column) {
    case SQLITE_INTEGER: self = .int(statement.int(at: column))
    case SQLITE_FLOAT: self = .double(statement.double(at: column))
    case SQLITE_TEXT: self = .text(statement.text(at: column) ?? "")
    case SQLITE_BLOB: self = .data(.data(statement.data(at: column)))
    default: self = .null
    }
  }

  var isNull: Bool { if case .null = self { true } else { false } }

  /// The value as a field of the kind has it; null where it can't be one.
  func value(_ kind: ValueKind) -> FieldValue {
    switch (self, kind) {
    case (.int(let number), .bool): .bool(number != 0)
    case (.int(let number), .int): .int(number)
    case (.int(let number), .double): .double(Double(number))
    case (.int(let number), .date): .date(number)
    case (.double(let number), .double): .double(number)
    case (.text(let text), .text), (.text(let text), .uuid), (.text(let text), .reference): .text(text)
    case (.text(let text), .json), (.text(let text), .blob): .json(text)
    case (.data(let data), .data): data
    default: .null
    }
  }
}
