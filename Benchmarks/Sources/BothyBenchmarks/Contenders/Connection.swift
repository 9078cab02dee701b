import Bars
import GRDBSQLite

/// A connection on SQLite's C API for the contenders written by hand in Swift.
final class Connection {
  let database: OpaquePointer
  private var statements: [OpaquePointer] = []

  init(_ path: String, schema: String) throws {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    guard sqlite3_open_v2(path, &opened, flags, nil) == SQLITE_OK, let opened else {
      throw BenchmarkError("SQLite can't open \(path).")
    }
    database = opened
    try run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192; " + schema)
  }

  func run(_ sql: String) throws {
    guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else { throw failure() }
  }

  func prepare(_ sql: String) throws -> OpaquePointer {
    var statement: OpaquePointer?
    guard
      sqlite3_prepare_v3(database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil) == SQLITE_OK,
      let statement
    else { throw failure() }
    statements.append(statement)
    return statement
  }

  func failure() -> BenchmarkError { BenchmarkError(String(cString: sqlite3_errmsg(database))) }

  func close() {
    for statement in statements { sqlite3_finalize(statement) }
    sqlite3_close(database)
  }
}

/// SQLite copies the bytes.
let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

extension OpaquePointer {
  func bind(_ text: String, _ parameter: Int32) {
    var text = text
    text.withUTF8 { bytes in
      _ = bytes.withMemoryRebound(to: CChar.self) {
        sqlite3_bind_text(self, parameter, $0.baseAddress, Int32($0.count), transient)
      }
    }
  }

  func text(_ column: Int32) -> String {
    guard let start = sqlite3_column_text(self, column) else { return "" }
    return String(
      decoding: UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(self, column))),
      as: UTF8.self)
  }

  func runOnce() throws {
    let code = sqlite3_step(self)
    sqlite3_reset(self)
    guard code == SQLITE_DONE else { throw BenchmarkError("A statement failed with code \(code).") }
  }
}
