internal import BothyStore
internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// A connection for look-ups of entries only, with one prepared statement.
///
/// GRDB's connections have a queue and a table of statements, which cost a quarter of the time of a hit. A lock and a
/// pointer are enough here.
final class EntryLookup: Sendable {
  private struct Connection {
    let database: OpaquePointer
    /// The statement, prepared by the first look-up, when the tables exist.
    var find: OpaquePointer?
  }

  private let path: String
  private let connection: Mutex<Connection?>

  /// Opens a connection for reading only.
  /// - Parameter path: the path of an existing file, or its address (`file:`).
  init(_ path: String, busyTimeout: Duration = .zero) throws {
    self.path = path
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
    let code = sqlite3_open_v2(path, &opened, flags, nil)
    guard code == SQLITE_OK, let opened else {
      sqlite3_close(opened)
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: "\(path) cannot be read")
    }
    sqlite3_extended_result_codes(opened, 1)
    sqlite3_busy_timeout(opened, Int32(clamping: Int64(busyTimeout / .milliseconds(1))))
    sqlite3_exec(opened, "PRAGMA mmap_size = \(IndexFile.Settings.mappedBytes)", nil, nil, nil)
    connection = Mutex(Connection(database: opened))
  }

  deinit { close() }

  /// Runs the statement `RowReader.find` as its own snapshot. `body` binds its parameter.
  func look<Result: Sendable>(_ body: (PreparedStatement) throws -> Result) throws -> Result {
    try connection.withLock { connection in
      let statement = PreparedStatement(kept: try Self.prepared(&connection, path))
      defer { statement.reset() }
      return try body(statement)
    }
  }

  private static func prepared(_ connection: inout Connection?, _ path: String) throws -> OpaquePointer {
    guard let database = connection?.database else {
      throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "\(path) is closed")
    }
    if let find = connection?.find { return find }
    var find: OpaquePointer?
    let code = sqlite3_prepare_v3(database, RowReader.find, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &find, nil)
    guard code == SQLITE_OK, let find else {
      let message = sqlite3_errmsg(database).map { String(cString: $0) }
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
    }
    connection?.find = find
    return find
  }

  /// Closes the connection. Every later look-up throws.
  func close() {
    connection.withLock { connection in
      sqlite3_finalize(connection?.find)
      sqlite3_close(connection?.database)
      connection = nil
    }
  }
}
