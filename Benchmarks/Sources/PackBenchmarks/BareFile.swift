import Bars
import GRDBSQLite

/// The floor: one prepared statement of SQLite on the pack's file, without other work.
final class BareFile {
  private var connection: OpaquePointer?
  private var statement: OpaquePointer?

  init(_ path: String) throws {
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
    guard sqlite3_open_v2("file:\(path)?immutable=1", &connection, flags, nil) == SQLITE_OK,
      sqlite3_prepare_v2(
        connection, "SELECT city, day, prayer, minute FROM PrayerTime WHERE _id = ?", -1, &statement, nil)
        == SQLITE_OK
    else { throw BenchmarkError("\(path) can't be opened") }
  }

  deinit {
    sqlite3_finalize(statement)
    sqlite3_close(connection)
  }

  func fetch(_ id: String) -> PrayerTime? {
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    sqlite3_bind_text(statement, 1, id, -1, transient)
    defer { sqlite3_reset(statement) }
    guard sqlite3_step(statement) == SQLITE_ROW else { return nil }
    return PrayerTime(
      id: id, city: text(0), day: text(1), prayer: text(2), minute: Int(sqlite3_column_int64(statement, 3)))
  }

  private func text(_ column: Int32) -> String {
    sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
  }
}
