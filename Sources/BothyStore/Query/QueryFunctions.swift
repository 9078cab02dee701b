package import GRDB
import GRDBSQLite

/// The SQL functions that compiled queries call.
///
/// - `bothy_distance(lat, lon, lat, lon)`: metres on the great circle, or null if either pair isn't a place on earth.
/// - `bothy_matches(words, document, name, text, …)`: true if the texts have the words (see `TextSearch`). They are the
///   members of a JSON document with these names, as SQLite reads them.
/// - `bothy_rank(words, text, …)`: the relevance of the texts for a search of the words (see `TextSearch`).
/// - `bothy_text(document, name, value)`: the text of a member of a JSON document. It is `value`, which SQLite has read,
///   unless the document may have a zero character, at which SQLite ends a text.
/// - `bothy_includes(document, name, text, value)`: true if a list of a JSON document has a text. It is `value` in the
///   same way.
/// - `bothy_element(list, element)`: true if a list in JSON has an element other than text, which is JSON too. SQLite's
///   own reading of a number may differ in the last bit.
/// - `bothy_natural(text)`: the natural sort key of a text, null for other values (see `NaturalOrder`).
/// - `bothy_nearest(lat, lon)`: an order for R-trees (see `NearestFunction`).
/// - `bothy_decimal_sum(text)`, `bothy_decimal_average(text)`: see `DecimalFunctions`.
package enum QueryFunctions {
  /// Adds the functions to a connection. Call it once for each connection.
  package static func install(in database: Database) {
    let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
    let connection = database.sqliteConnection
    sqlite3_create_function_v2(
      connection, "bothy_distance", 4, flags, nil, { QueryFunctions.distance($0, $1, $2) }, nil, nil, nil)
    sqlite3_create_function_v2(
      connection, "bothy_matches", -1, flags, nil, { QueryFunctions.matches($0, $1, $2) }, nil, nil, nil)
    sqlite3_create_function_v2(
      connection, "bothy_rank", -1, flags, nil, { QueryFunctions.rank($0, $1, $2) }, nil, nil, nil)
    sqlite3_create_function_v2(
      connection, "bothy_text", 3, flags, nil, { QueryFunctions.text($0, $1, $2) }, nil, nil, nil)
    sqlite3_create_function_v2(
      connection, "bothy_includes", 4, flags, nil, { QueryFunctions.includes($0, $1, $2) }, nil, nil, nil)
    sqlite3_create_function_v2(
      connection, "bothy_element", 2, flags, nil, { QueryFunctions.element($0, $1, $2) }, nil, nil, nil)
    sqlite3_create_function_v2(
      connection, "bothy_natural", 1, flags, nil, { QueryFunctions.natural($0, $1, $2) }, nil, nil, nil)
    NearestFunction.install(in: connection)
    DecimalFunctions.install(in: connection)
  }

  private static func distance(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
  ) {
    let numbers = [SQLITE_INTEGER, SQLITE_FLOAT]
    guard let values, count == 4,
      (0..<4).allSatisfy({ numbers.contains(sqlite3_value_type(values[$0])) })
    else { return sqlite3_result_null(context) }
    let place = Coordinate(
      latitude: sqlite3_value_double(values[0]), longitude: sqlite3_value_double(values[1]))
    let other = Coordinate(
      latitude: sqlite3_value_double(values[2]), longitude: sqlite3_value_double(values[3]))
    guard place.isOnEarth, other.isOnEarth else { return sqlite3_result_null(context) }
    sqlite3_result_double(context, place.distance(to: other))
  }

  private static func matches(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
  ) {
    guard let values, count >= 2, let words = bytes(values[0]) else { return sqlite3_result_null(context) }
    let members = cut(values[1])
    let texts = stride(from: 3, to: Int(count), by: 2).compactMap { index -> String? in
      guard let text = bytes(values[index]) else { return nil }
      let name = members == nil ? nil : bytes(values[index - 1]).map { String(decoding: $0, as: UTF8.self) }
      return name.flatMap { members?[$0]?.stringValue } ?? String(decoding: text, as: UTF8.self)
    }
    let isMatch = TextSearch(String(decoding: words, as: UTF8.self)).matches(texts)
    sqlite3_result_int(context, isMatch ? 1 : 0)
  }

  private static func rank(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
  ) {
    guard let values, count >= 1, let words = bytes(values[0]) else { return sqlite3_result_null(context) }
    let texts = (1..<Int(count)).compactMap { index -> String? in
      guard sqlite3_value_type(values[index]) == SQLITE_TEXT else { return nil }
      return bytes(values[index]).map { String(decoding: $0, as: UTF8.self) }
    }
    let rank = TextSearch(String(decoding: words, as: UTF8.self)).rank(of: texts)
    sqlite3_result_int64(context, Int64(rank))
  }

  private static func text(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
  ) {
    guard let values, count == 3 else { return sqlite3_result_null(context) }
    guard sqlite3_value_type(values[2]) == SQLITE_TEXT, let members = cut(values[0]),
      let name = bytes(values[1]), var text = members[String(decoding: name, as: UTF8.self)]?.stringValue
    else { return sqlite3_result_value(context, values[2]) }
    give(&text, to: context)
  }

  private static func natural(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
  ) {
    guard let values, count == 1, sqlite3_value_type(values[0]) == SQLITE_TEXT, let text = bytes(values[0])
    else { return sqlite3_result_null(context) }
    var key = NaturalOrder.key(of: String(decoding: text, as: UTF8.self))
    give(&key, to: context)
  }

  /// Makes a text the result of a function.
  private static func give(_ text: inout String, to context: OpaquePointer?) {
    text.withUTF8 { utf8 in
      utf8.withMemoryRebound(to: CChar.self) { characters in
        sqlite3_result_text64(
          context, characters.baseAddress, UInt64(characters.count), OpaquePointer.transient,
          UInt8(SQLITE_UTF8))
      }
    }
  }

  private static func includes(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
  ) {
    guard let values, count == 4 else { return sqlite3_result_null(context) }
    guard let members = cut(values[0]), let name = bytes(values[1]), let text = bytes(values[2]) else {
      return sqlite3_result_value(context, values[3])
    }
    let list = members[String(decoding: name, as: UTF8.self)]?.arrayValue ?? []
    let isIncluded = list.contains { $0.stringValue?.utf8.elementsEqual(text) ?? false }
    sqlite3_result_int(context, isIncluded ? 1 : 0)
  }

  private static func element(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
  ) {
    guard let values, count == 2, let list = bytes(values[0]), let element = bytes(values[1]),
      let wanted = try? JSONValue(parsing: Array(element))  // the compiled query's own JSON parses
    else { return sqlite3_result_null(context) }
    // Other text has no elements.
    let isIncluded = FieldValue(guessing: wanted).isIncluded(in: try? JSONValue(parsing: Array(list)))
    sqlite3_result_int(context, isIncluded ? 1 : 0)
  }

  /// Returns the members of a JSON document that may have a zero character, or `nil` for others. SQLite ends a text at
  /// such a character, so these documents are read here.
  private static func cut(_ value: OpaquePointer?) -> JSONValue? {
    guard let document = bytes(value), document.holdsEscapedZero else { return nil }
    // A document that can't be read has no values, for SQLite too.
    return try? JSONValue(parsing: Array(document))
  }

  /// Returns the bytes of a value as text, or `nil` for null. They are valid while the function runs.
  private static func bytes(_ value: OpaquePointer?) -> UnsafeBufferPointer<UInt8>? {
    guard let start = sqlite3_value_text(value) else { return nil }
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
  }
}

extension Collection<UInt8> where Index == Int {
  /// True if JSON of these bytes may have a zero character in a text.
  package var holdsEscapedZero: Bool {
    guard var index = firstIndex(of: UInt8(ascii: "\\")) else { return false }
    let escape = Array("\\u0000".utf8)
    while index + escape.count <= endIndex {
      if self[index..<index + escape.count].elementsEqual(escape) { return true }
      guard let next = self[(index + 1)...].firstIndex(of: UInt8(ascii: "\\")) else { return false }
      index = next
    }
    return false
  }
}
