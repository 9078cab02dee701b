public import Foundation
internal import GRDBSQLite

/// Reads the fields of one record in the order of its schema, from the current row of a statement or from values.
///
/// Reading costs one or two C calls a column. Text and data are copied once. A decoder is valid only during the call
/// that receives it.
///
/// For `Entity.init(id:from:)` of an entity written by hand. Read each field once, in the order of the schema; a field
/// that is left out shifts all later ones.
public struct FieldDecoder {
  private let statement: OpaquePointer?
  private var column: Int32
  private var values: [FieldValue]
  private let type: String
  /// The column with the row's version, or 0 without one.
  private let versionColumn: Int32
  private let mark: ReadMark

  /// Creates a decoder of the current row of `statement`, from `column` on. Columns count from 0.
  package init(row statement: OpaquePointer, from column: Int32, type: String) {
    self.init(row: statement, from: column, versionAt: 0, type: type, mark: .whole)
  }

  /// Creates a decoder of the current row of a statement that selects the columns of `TypeTable.selectSQL`.
  package init(row statement: OpaquePointer, _ table: TypeTable, reading: Int64) {
    self.init(
      row: statement, from: 1, versionAt: table.schema.isSynced ? table.systemColumn + 1 : 0,
      type: table.schema.name, mark: ReadMark(number: 0, reading: reading))
  }

  private init(
    row statement: OpaquePointer, from column: Int32, versionAt: Int32, type: String, mark: ReadMark
  ) {
    self.statement = statement
    self.column = column
    self.type = type
    versionColumn = versionAt
    self.mark = mark
    values = []
  }

  /// Creates a decoder of `values` in their order.
  package init(values: [FieldValue], type: String) { self.init(values: values, type: type, mark: .whole) }

  init(values: [FieldValue], type: String, mark: ReadMark) {
    statement = nil
    column = 0
    self.type = type
    self.values = values
    self.mark = mark
    versionColumn = 0
  }

  /// The state in which the fields are read, for the `readMark` of the value. Costs one C call. The mark of a type that
  /// isn't synced is `ReadMark.whole`. Read it before or after the fields, in any order.
  public var readMark: ReadMark {
    guard let statement else { return mark }
    guard versionColumn > 0 else { return .whole }
    return ReadMark(
      number: max(0, sqlite3_column_int64(statement, versionColumn)), reading: mark.reading)
  }

  /// Returns to `column`, for the next row of the statement.
  mutating func rewind(to column: Int32) { self.column = column }

  /// True if the next field is null. Doesn't move on.
  @usableFromInline package func nextIsNull() -> Bool {
    if let statement { return sqlite3_column_type(statement, column) == SQLITE_NULL }
    return Int(column) < values.count ? values[Int(column)].isNull : true
  }

  /// Skips a field of `columns` columns (two for a coordinate).
  @usableFromInline package mutating func skip(columns: Int32 = 1) {
    column += statement == nil ? 1 : columns
  }

  /// Reads a field of the kind `bool`. Throws `BothyError` `.invalidValue` if it is null; call `nextIsNull` first.
  @usableFromInline package mutating func bool() throws(BothyError) -> Bool {
    guard let statement else {
      guard case .bool(let flag) = next() else { throw mismatch(.bool) }
      return flag
    }
    defer { column += 1 }
    let number = sqlite3_column_int64(statement, column)
    if number == 0 { try requireValue(statement, .bool) }
    return number != 0
  }

  /// Reads a field of the kind `int`. Throws `BothyError` `.invalidValue` if it is null.
  @usableFromInline package mutating func int() throws(BothyError) -> Int64 {
    guard let statement else {
      guard case .int(let number) = next() else { throw mismatch(.int) }
      return number
    }
    defer { column += 1 }
    let number = sqlite3_column_int64(statement, column)
    if number == 0 { try requireValue(statement, .int) }
    return number
  }

  /// Reads a field of the kind `double`; a whole number is valid too. Throws `.invalidValue` if it is null.
  @usableFromInline package mutating func double() throws(BothyError) -> Double {
    guard let statement else {
      switch next() {
      case .double(let number): return number
      case .int(let number): return Double(number)
      default: throw mismatch(.double)
      }
    }
    defer { column += 1 }
    let number = sqlite3_column_double(statement, column)
    if number == 0 { try requireValue(statement, .double) }
    return number
  }

  /// Reads a field of the kinds `text`, `uuid` and `reference`. Throws `BothyError` `.invalidValue` if it is null.
  @usableFromInline package mutating func text() throws(BothyError) -> String {
    guard let statement else {
      guard case .text(let text) = next() else { throw mismatch(.text) }
      return text
    }
    defer { column += 1 }
    guard let text = statement.text(at: column) else { throw mismatch(.text) }
    return text
  }

  /// Reads a field of the kind `date`, in milliseconds. Throws `BothyError` `.invalidValue` if it is null.
  @usableFromInline package mutating func time() throws(BothyError) -> Timestamp {
    guard let statement else {
      guard case .date(let milliseconds) = next() else { throw mismatch(.date) }
      return Timestamp(milliseconds: milliseconds)
    }
    defer { column += 1 }
    let milliseconds = sqlite3_column_int64(statement, column)
    if milliseconds == 0 { try requireValue(statement, .date) }
    return Timestamp(milliseconds: milliseconds)
  }

  /// Reads a field of the kind `data`, with one copy. Throws `BothyError` `.invalidValue` if it is null.
  @usableFromInline package mutating func data() throws(BothyError) -> Data {
    guard let statement else {
      guard case .data(let data) = next() else { throw mismatch(.data) }
      return data
    }
    defer { column += 1 }
    try requireValue(statement, .data)
    return statement.data(at: column)
  }

  /// Reads a field of the kind `coordinate`: two columns. Throws `BothyError` `.invalidValue` if it is null.
  @usableFromInline package mutating func coordinate() throws(BothyError) -> Coordinate {
    guard let statement else {
      guard case .coordinate(let coordinate) = next() else { throw mismatch(.coordinate) }
      return coordinate
    }
    defer { column += 2 }
    try requireValue(statement, .coordinate)
    return Coordinate(
      latitude: sqlite3_column_double(statement, column),
      longitude: sqlite3_column_double(statement, column + 1))
  }

  /// Reads the text of a field of the kinds `json` and `blob`. Throws `BothyError` `.invalidValue` if it is null.
  @usableFromInline package mutating func json() throws(BothyError) -> String {
    guard statement == nil else { return try text() }
    guard case .json(let text) = next() else { throw mismatch(.json) }
    return text
  }

  /// Reads the ids of a field of the kind `references`. Throws `BothyError` `.invalidValue` if it is null, and
  /// `.corrupt` if the column holds anything but a JSON array of strings.
  @usableFromInline package mutating func list() throws(BothyError) -> [String] {
    guard statement == nil else { return try decodedList(text()) }
    guard case .list(let ids) = next() else { throw mismatch(.json) }
    return ids
  }

  /// Reads one field of `kind` as a value. Returns null if the column is null.
  package mutating func value(_ kind: ValueKind) throws(BothyError) -> FieldValue {
    if nextIsNull() {
      skip(columns: kind == .coordinate ? 2 : 1)
      return .null
    }
    switch kind {
    case .bool: return .bool(try bool())
    case .int: return .int(try int())
    case .double: return .double(try double())
    case .text, .uuid, .reference: return .text(try text())
    case .date: return .date(try time().milliseconds)
    case .data: return .data(try data())
    case .coordinate: return .coordinate(try coordinate())
    case .json, .blob: return .json(try json())
    case .references: return .list(try list())
    }
  }

  private mutating func next() -> FieldValue {
    defer { column += 1 }
    return Int(column) < values.count ? values[Int(column)] : .null
  }

  private func decodedList(_ text: String) throws(BothyError) -> [String] {
    var ids: [String] = []
    do {
      try JSONReader.read(text) { try $0.array { ids.append(try $0.string()) } }
    } catch {
      throw BothyError(.corrupt, "A list of references of \(type) is not a JSON array.", underlying: error)
    }
    return ids
  }

  /// Throws if the column is null. SQLite reads null as zero, so other values need no check.
  private func requireValue(_ statement: OpaquePointer, _ kind: ValueKind) throws(BothyError) {
    if sqlite3_column_type(statement, column) == SQLITE_NULL { throw mismatch(kind) }
  }

  private func mismatch(_ kind: ValueKind) -> BothyError {
    let place = statement.flatMap { sqlite3_column_name($0, column) }.map { String(cString: $0) }
    return BothyError(
      .invalidValue,
      "The field \(place ?? "number \(column)") of \(type) is not \(kind.phrase). "
        + "Declare it optional or give it a default.")
  }
}
