internal import GRDBSQLite

/// A read-only SQL query. Interpolated values are bound, not pasted; the tables have the names of their types, and the
/// columns those of the fields, with the id in `_id`.
///
/// ```swift
/// let least = 2
/// let rows = try await store.fetch(
///   SQLQuery("SELECT title, count(*) AS n FROM Todo GROUP BY title HAVING n >= \(least)", reading: Todo.self))
/// let titles: [String] = rows.compactMap { $0["title"] }
/// ```
///
/// Dates are milliseconds since 1970. Throws `BothyError` `invalidQuery` for SQL that SQLite can't read, that writes,
/// or that is more than one statement. A coordinate has two columns, with the suffixes `_lat` and `_lon`, and sensitive
/// fields are null. Rows of all containers are read.
public struct SQLQuery: ReadRequest {
  private let text: SQLText
  private let types: [String]

  /// Creates a query of the text. SQLite reads it at the fetch.
  ///
  /// - Parameters:
  ///   - text: One statement, which begins with `SELECT` or `WITH`.
  ///   - types: The types whose changes make an observer read again. Without them an observation delivers the first
  ///     value only.
  public init(_ text: SQLText, reading types: any Entity.Type...) {
    self.text = text
    self.types = types.map { $0.typeName }
  }

  /// The steps by which a store reads the rows. The statement is prepared at each read, and all rows are in memory at
  /// once.
  public var plan: ReadTransaction.Plan<[SQLRow]> {
    ReadTransaction.Plan(
      .types(types), ReadIdentity(words: [text.fragment.sql] + types, values: text.fragment.arguments)
    ) { [text] transaction, fingerprint in
      let statement = try Self.prepared(text, in: transaction)
      defer { statement.reset() }
      var columns: [String: Int] = [:]
      for column in 0..<statement.columnCount {
        let name = sqlite3_column_name(statement.pointer, column).map { String(cString: $0) } ?? ""
        if columns[name] == nil { columns[name] = Int(column) }
      }
      var rows: [SQLRow] = []
      while try statement.step() {
        fingerprint?.combine(row: statement)
        rows.append(
          SQLRow(columns: columns, values: (0..<statement.columnCount).map { SQLRow.Cell(statement, $0) }))
      }
      return rows
    }
  }

  private static func prepared(_ text: SQLText, in transaction: ReadTransaction) throws -> PreparedStatement {
    try transaction.checkIsOpen()
    let statement: PreparedStatement
    do {
      statement = try PreparedStatement(unkept: text.fragment.sql, in: transaction.database)
    } catch {
      throw BothyError(.invalidQuery, "SQLite can't read the SQL: \(error)", underlying: error)
    }
    guard sqlite3_stmt_readonly(statement.pointer) != 0, statement.columnCount > 0 else {
      throw BothyError(
        .invalidQuery, "A SQL query only reads: begin it with SELECT or WITH. Write through the store.")
    }
    statement.bind(text.fragment.arguments)
    return statement
  }
}

/// SQL text with bound values: `"SELECT * FROM Todo WHERE title = \(title)"`.
///
/// ```swift
/// let title = "Buy rope"
/// let rows = try await store.fetch(SQLQuery("SELECT * FROM Todo WHERE title = \(title)", reading: Todo.self))
/// ```
public struct SQLText: Sendable, ExpressibleByStringInterpolation {
  let fragment: SQLFragment

  /// Creates a text without values.
  public init(stringLiteral value: String) { fragment = SQLFragment(value) }
  /// Creates a text with a `?` in the place of each value, and with `?, ?` in that of a coordinate.
  public init(stringInterpolation: StringInterpolation) { fragment = stringInterpolation.fragment }

  /// Collects the text and the values. Values of the types of fields can be interpolated. Names of tables and columns
  /// can't; write them in the text.
  public struct StringInterpolation: StringInterpolationProtocol {
    var fragment = SQLFragment("")

    /// Creates an empty text with room for its literals and one `?` a value.
    public init(literalCapacity: Int, interpolationCount: Int) {
      fragment.sql.reserveCapacity(literalCapacity + interpolationCount)
    }

    /// Adds SQL as it is written.
    public mutating func appendLiteral(_ literal: String) { fragment += literal }

    /// Binds the value at its place in the SQL.
    ///
    /// Dates are bound as milliseconds since 1970, UUIDs as lower-case text, references as their id, `nil` as null.
    /// A coordinate is bound as two values, its latitude and its longitude: `(place_lat, place_lon) = (\(here))`.
    public mutating func appendInterpolation(_ value: some FieldConvertible) {
      let value = value.fieldValue
      if case .coordinate = value {
        fragment += SQLFragment("?, ?", [value])
      } else {
        fragment += SQLFragment("?", [value])
      }
    }
  }
}

/// One row of a SQL query: `let title: String? = row["title"]`.
///
/// ```swift
/// for row in try await store.fetch(SQLQuery("SELECT title, effort FROM Todo", reading: Todo.self)) {
///   if let title: String = row["title"], let effort: Int = row["effort"] { print(title, effort) }
/// }
/// ```
public struct SQLRow: Sendable, Hashable {
  enum Cell: Sendable, Hashable {
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

  let columns: [String: Int]
  let values: [Cell]

  /// The value of a column by its name, as a type that a field can have; `nil` where it is null, of another type, or no
  /// column has the name. Of columns with the same name the first counts.
  ///
  /// Reads whole numbers as `Int`, `Double`, `Bool` or `Date`, text as `String`, `UUID`, references or JSON, and bytes
  /// as `Data`. Lists of references can't be read. Read a coordinate by its columns, as `Double`.
  public subscript<Value: FieldConvertible>(column: String) -> Value? {
    guard let position = columns[column] else { return nil }
    var decoder = FieldDecoder(values: [values[position].value(Value.fieldKind.value)], type: "SQL")
    return try? Value(fromField: &decoder)
  }
}
