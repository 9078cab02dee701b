internal import GRDBSQLite

public import struct Foundation.Data
public import struct Foundation.Date

/// Writes the fields of one record in the order of its schema: binds them to a prepared statement, or collects them as
/// values.
///
/// Binding costs one C call a column and no allocation beyond SQLite's copy of text and data. If SQLite can't take a
/// value (over its length limit), the write that follows throws.
///
/// For `Entity.encode(to:)` of an entity written by hand. Write each field once, in the order of the schema; a field
/// that is left out shifts all later ones. Encoding itself never throws.
public struct FieldEncoder {
  private let statement: OpaquePointer?
  private var parameter: Int32
  /// The first result code other than `SQLITE_OK`.
  private(set) var resultCode: Int32 = SQLITE_OK
  package private(set) var values: [FieldValue] = []
  /// The first invalid value, with its parameter: a place off the earth, a number that isn't finite, JSON nested too
  /// deep. The write that follows refuses it.
  private(set) var refused: (value: FieldValue, parameter: Int32)?

  /// Creates an encoder that binds to `statement` from the parameter `first` on. Parameters count from 1.
  init(binding statement: OpaquePointer, from first: Int32) {
    self.statement = statement
    parameter = first
  }

  /// Creates an encoder that collects values.
  package init(gathering capacity: Int) {
    statement = nil
    parameter = 1
    values.reserveCapacity(capacity)
  }

  /// The number of the parameter for the next value.
  var nextParameter: Int32 { parameter }

  /// Writes a value of any kind unchanged. `.null` fills one column, so a missing coordinate requires
  /// `encodeNullCoordinate`.
  @usableFromInline package mutating func encode(_ value: FieldValue) {
    switch value {
    case .null: encodeNull()
    case .bool(let flag): encode(flag)
    case .int(let number): encode(number)
    case .double(let number): encode(number)
    case .text(let text): encode(text)
    case .date(let milliseconds): encode(Timestamp(milliseconds: milliseconds))
    case .data(let data): encode(data)
    case .coordinate(let coordinate): encode(coordinate)
    case .json(let text): encode(json: text)
    case .list(let ids): encode(list: ids)
    }
  }

  /// Writes null to a field of one column.
  @usableFromInline package mutating func encodeNull() {
    if let statement { check(sqlite3_bind_null(statement, parameter)) } else { values.append(.null) }
  }

  /// Writes null to a coordinate, which has two columns.
  @usableFromInline package mutating func encodeNullCoordinate() {
    guard let statement else { return values.append(.null) }
    check(sqlite3_bind_null(statement, parameter))
    check(sqlite3_bind_null(statement, parameter))
  }

  /// Writes a field of the kind `bool`, as 0 or 1.
  @usableFromInline package mutating func encode(_ flag: Bool) {
    if let statement {
      check(sqlite3_bind_int64(statement, parameter, flag ? 1 : 0))
    } else {
      values.append(.bool(flag))
    }
  }

  /// Writes a field of the kind `int`.
  @usableFromInline package mutating func encode(_ number: Int64) {
    if let statement {
      check(sqlite3_bind_int64(statement, parameter, number))
    } else {
      values.append(.int(number))
    }
  }

  /// Writes a field of the kind `double`. A number that isn't finite makes the write that follows throw `BothyError`
  /// `.invalidValue`.
  @usableFromInline package mutating func encode(_ number: Double) {
    if let statement {
      if !number.isFinite { refused = (.double(number), parameter) }
      check(sqlite3_bind_double(statement, parameter, number))
    } else {
      values.append(.double(number))
    }
  }

  /// Writes a field of the kinds `text`, `uuid` or `reference`, with one copy.
  @usableFromInline package mutating func encode(_ text: String) {
    if let statement { check(statement.bind(text, at: parameter)) } else { values.append(.text(text)) }
  }

  /// Writes a field of the kind `date`, as whole milliseconds.
  @usableFromInline package mutating func encode(_ time: Timestamp) {
    if let statement {
      check(sqlite3_bind_int64(statement, parameter, time.milliseconds))
    } else {
      values.append(.date(time.milliseconds))
    }
  }

  /// Writes a field of the kind `date`, as the nearest millisecond. A date beyond 64 bits makes the write that follows
  /// throw `BothyError` `.invalidValue`.
  @usableFromInline package mutating func encode(_ date: Date) {
    let seconds = date.timeIntervalSince1970
    guard Int64(exactly: (seconds * 1000).rounded()) == nil else { return encode(Timestamp(date)) }
    if statement == nil { return values.append(.double(seconds)) }
    refused = (.double(seconds), parameter)
    encodeNull()
  }

  /// Writes a field of the kind `data`, with one copy.
  @usableFromInline package mutating func encode(_ data: Data) {
    if let statement { check(statement.bind(data, at: parameter)) } else { values.append(.data(data)) }
  }

  /// Writes both columns of a field of the kind `coordinate`. A place that isn't on earth makes the write that follows
  /// throw `BothyError` `.invalidValue`.
  @usableFromInline package mutating func encode(_ coordinate: Coordinate) {
    guard let statement else { return values.append(.coordinate(coordinate)) }
    if !coordinate.isOnEarth { refused = (.coordinate(coordinate), parameter) }
    check(sqlite3_bind_double(statement, parameter, coordinate.latitude))
    check(sqlite3_bind_double(statement, parameter, coordinate.longitude))
  }

  /// Writes a field of the kinds `json` or `blob`, from text that is already one canonical JSON value. Checks only its
  /// depth: nesting deeper than 32 makes the write that follows throw `BothyError` `.invalidValue`.
  @usableFromInline package mutating func encode(json text: String) {
    guard let statement else { return values.append(.json(text)) }
    if text.utf8.nests(deeperThan: JSONReader.maximumValueDepth) { refused = (.json(text), parameter) }
    check(statement.bind(text, at: parameter))
  }

  /// Writes null in place of a value that the field can't have. The write that follows throws `BothyError`
  /// `.invalidValue`.
  mutating func refuse(_ value: FieldValue) {
    guard statement != nil else { return values.append(value) }
    refused = (value, parameter)
    encodeNull()
  }

  /// Writes a field of the kind `references`, stored as a JSON array of the ids.
  @usableFromInline package mutating func encode(list ids: [String]) {
    guard let statement else { return values.append(.list(ids)) }
    var writer = JSONWriter()
    FieldValue.list(ids).write(to: &writer)
    check(statement.bind(writer.string, at: parameter))
  }

  /// Binds a value of `kind`. A null coordinate takes two columns.
  mutating func encode(_ value: FieldValue, kind: ValueKind) {
    if kind == .coordinate && value.isNull && statement != nil { return encodeNullCoordinate() }
    if kind == .double, case .int(let number) = value { return encode(Double(number)) }
    encode(value)
  }

  private mutating func check(_ code: Int32) {
    if code != SQLITE_OK && resultCode == SQLITE_OK { resultCode = code }
    parameter += 1
  }
}
