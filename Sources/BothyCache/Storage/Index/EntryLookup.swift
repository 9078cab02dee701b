internal import BothyStore
internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// A connection that does nothing but look entries up, with its one statement kept.
///
/// A queue and a table of statements, as GRDB's connections have them, cost a hit a quarter of its time; a lock and a
/// pointer do here.
final class EntryLookup: Sendable {
  private struct Connection {
    let database: OpaquePointer
    /// Prepared by the first look-up, when the tables are there.
    var find: OpaquePointer?
  }

  private let path: String
  private let connection: Mutex<Connection?>

  /// - Parameter path: of a file that is there, or its address (`file:`). It is opened for reading alone.
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

  /// Runs the statement `RowReader.find` as its own snapshot; its parameter is bound by `body`.
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

  /// Every later look-up throws.
  func close() {
    connection.withLock { connection in
      sqlite3_finalize(connection?.find)
      sqlite3_close(connection?.database)
      connection = nil
    }
  }
}
