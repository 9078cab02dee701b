import BothyStore

/// A value for the parameters of a statement.
protocol StatementValue {
  /// Binds the value to the parameters from `parameter` on. Returns the number of parameters that it took.
  func bind(to statement: PreparedStatement, from parameter: Int32) -> Int32
}

/// Statements on the tables of sync. Each takes its values in the order of its parameters.
///
/// A `nil` is null for one parameter. In place of a value of several parameters it may be the last alone, because the
/// parameters behind it are null too.
extension ReadTransaction {
  /// Runs a statement that returns no rows.
  func run(_ sql: String, _ values: (any StatementValue)?...) throws { try prepared(sql, values).run() }

  /// Returns the results of `read` for all rows but those for which it returns `nil`. `read` may run other statements.
  func rows<Value>(
    _ sql: String, _ values: (any StatementValue)?..., read: (PreparedStatement) throws -> Value?
  ) throws -> [Value] {
    try rows(sql, values, read: read)
  }

  /// Like `rows(_:_:read:)`, but with a list of values.
  func rows<Value>(
    _ sql: String, _ values: [(any StatementValue)?], read: (PreparedStatement) throws -> Value?
  ) throws -> [Value] {
    var found: [Value] = []
    try forEach(sql, values) { row in
      if let value = try read(row) { found.append(value) }
    }
    return found
  }

  /// Runs `body` on each row, one in memory at a time.
  func forEach(
    _ sql: String, _ values: [(any StatementValue)?] = [], _ body: (PreparedStatement) throws -> Void
  ) throws {
    let select = try prepared(sql, values)
    defer { select.reset() }
    while try select.step() { try body(select) }
  }

  /// Returns the result of `read` for the first row, or `nil` without rows.
  func first<Value>(
    _ sql: String, _ values: (any StatementValue)?..., read: (PreparedStatement) throws -> Value?
  ) throws -> Value? {
    let select = try prepared(sql, values)
    defer { select.reset() }
    return try select.step() ? read(select) : nil
  }

  /// True if the statement returns a row.
  func has(_ sql: String, _ values: (any StatementValue)?...) throws -> Bool {
    let select = try prepared(sql, values)
    defer { select.reset() }
    return try select.step()
  }

  /// Returns the connection's statement for `sql` with its values bound.
  func prepared(_ sql: String, _ values: [(any StatementValue)?]) throws -> PreparedStatement {
    let statement = try PreparedStatement(sql, in: database)
    var parameter: Int32 = 1
    for value in values { parameter += value?.bind(to: statement, from: parameter) ?? 1 }
    return statement
  }
}

extension PreparedStatement {
  /// Returns the record whose type and id are in two columns from `column` on.
  func record(at column: Int32) -> RecordID {
    RecordID(type: text(at: column) ?? "", id: text(at: column + 1) ?? "")
  }

  /// Returns the document in a column, or `nil` for null.
  func document(at column: Int32) -> FieldsDocument? {
    isNull(at: column) ? nil : FieldsDocument(canonical: bytes(at: column))
  }

  /// Returns the JSON in a column, or `nil` for null.
  func json(at column: Int32) -> [UInt8]? { isNull(at: column) ? nil : bytes(at: column) }

  /// Binds a document as text, or null.
  func bind(_ document: FieldsDocument?, at parameter: Int32) {
    if let document { bind(utf8: document.bytes, at: parameter) } else { bind(String?.none, at: parameter) }
  }
}

extension ServerRecord {
  /// Reads a record as a table has it.
  init(json: [UInt8]) throws { self = try JSONReader.read(json) { try ServerRecord(from: &$0) } }

  /// The record as tables have it.
  var json: [UInt8] {
    var writer = JSONWriter(reserving: fields.bytes.count + 256)
    write(to: &writer)
    return writer.bytes
  }
}

extension String: StatementValue {
  func bind(to statement: PreparedStatement, from parameter: Int32) -> Int32 {
    statement.bind(self, at: parameter)
    return 1
  }
}

extension Int64: StatementValue {
  func bind(to statement: PreparedStatement, from parameter: Int32) -> Int32 {
    statement.bind(self, at: parameter)
    return 1
  }
}

extension Int: StatementValue {
  func bind(to statement: PreparedStatement, from parameter: Int32) -> Int32 {
    Int64(self).bind(to: statement, from: parameter)
  }
}

extension Bool: StatementValue {
  func bind(to statement: PreparedStatement, from parameter: Int32) -> Int32 {
    Int64(self ? 1 : 0).bind(to: statement, from: parameter)
  }
}

/// JSON text in UTF-8.
extension [UInt8]: StatementValue {
  func bind(to statement: PreparedStatement, from parameter: Int32) -> Int32 {
    statement.bind(utf8: self, at: parameter)
    return 1
  }
}

extension FieldsDocument: StatementValue {
  func bind(to statement: PreparedStatement, from parameter: Int32) -> Int32 {
    bytes.bind(to: statement, from: parameter)
  }
}

/// Two parameters: the type and the id.
extension RecordID: StatementValue {
  func bind(to statement: PreparedStatement, from parameter: Int32) -> Int32 {
    statement.bind(type, at: parameter)
    statement.bind(id, at: parameter + 1)
    return 2
  }
}

/// Two parameters: the container, and 1 if the scope has those below it.
extension SyncScope: StatementValue {
  func bind(to statement: PreparedStatement, from parameter: Int32) -> Int32 {
    statement.bind(container, at: parameter)
    return 1 + includesChildren.bind(to: statement, from: parameter + 1)
  }
}

/// Three parameters: the time of creation, that of the last edit, and the owner.
extension RecordMetadata: StatementValue {
  func bind(to statement: PreparedStatement, from parameter: Int32) -> Int32 {
    statement.bind(self, at: parameter)
    return 3
  }
}
