package import GRDB
import GRDBSQLite

/// The SQL functions that compiled queries call.
///
/// - `bothy_distance(lat, lon, lat, lon)`: metres on the great circle, or null if either pair isn't a place on earth.
/// - `bothy_matches(words, text, …)`: true if the texts have the words (see `TextSearch`).
/// - `bothy_nearest(lat, lon)`: an order for R-trees (see `NearestFunction`).
package enum QueryFunctions {
  /// Adds the functions to a connection. Call it once for each connection.
  package static func install(in database: Database) {
    let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
    let connection = database.sqliteConnection
    sqlite3_create_function_v2(
      connection, "bothy_distance", 4, flags, nil, { QueryFunctions.distance($0, $1, $2) }, nil, nil, nil)
    sqlite3_create_function_v2(
      connection, "bothy_matches", -1, flags, nil, { QueryFunctions.matches($0, $1, $2) }, nil, nil, nil)
    NearestFunction.install(in: connection)
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
    var texts: [String] = []
    for index in 0..<Int(count) {
      guard let start = sqlite3_value_text(values?[index]) else { continue }
      let length = Int(sqlite3_value_bytes(values?[index]))
      texts.append(String(decoding: UnsafeBufferPointer(start: start, count: length), as: UTF8.self))
    }
    guard let words = texts.first else { return sqlite3_result_null(context) }
    sqlite3_result_int(context, TextSearch(words).matches(Array(texts.dropFirst())) ? 1 : 0)
  }
}
