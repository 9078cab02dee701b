package import Foundation
package import GRDB
internal import GRDBSQLite

/// A cached GRDB statement with direct binds and steps.
///
/// GRDB's own observers don't see rows written by `step`. The store notifies once a transaction instead. Use it only on
/// the connection's own queue.
package struct PreparedStatement {
  private let owner: Statement?
  package let pointer: OpaquePointer

  /// Takes the statement for `sql` from the connection's cache, or prepares it the first time.
  package init(_ sql: String, in database: Database) throws {
    let statement = try database.cachedStatement(sql: sql)
    owner = statement
    pointer = statement.sqliteStatement
    sqlite3_reset(pointer)
    sqlite3_clear_bindings(pointer)
  }

  /// Takes the statement of a query from the connection's cache. Queries vary endlessly, so a connection with more than
  /// `queryLimit` statements drops them all. Those in use exist until their user is done.
  package init(query sql: String, in database: Database) throws {
    try self.init(sql + Self.queryMark, in: database)
    guard sqlite3_stmt_status(pointer, SQLITE_STMTSTATUS_RUN, 0) == 0 else { return }
    if database.keptQueries > Self.queryLimit { database.clearSchemaCache() }
  }

  /// The number of query statements that a connection caches.
  package static let queryLimit = 64
  /// A comment that distinguishes statements of queries from those whose number the schema bounds.
  static let queryMark = " -- query"

  /// Prepares a statement that one caller uses and no cache keeps. For SQL that varies endlessly, or for rows that are
  /// read while the caller runs other statements.
  package init(unkept sql: String, in database: Database) throws {
    let statement = try database.makeStatement(sql: sql)
    owner = statement
    pointer = statement.sqliteStatement
  }

  /// Wraps a statement that another owner keeps and finalizes.
  package init(kept pointer: OpaquePointer) {
    owner = nil
    self.pointer = pointer
  }

  /// Steps once. Returns true for a row, false if the statement is done.
  package func step() throws -> Bool {
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw failure()
    }
  }

  /// Runs a statement that returns no rows, then resets it for the next binds.
  package func run() throws {
    let code = sqlite3_step(pointer)
    if code == SQLITE_DONE || code == SQLITE_ROW {
      sqlite3_reset(pointer)
      return
    }
    throw failure()
  }

  package func reset() { sqlite3_reset(pointer) }

  package func clearBindings() { sqlite3_clear_bindings(pointer) }

  package func bind(_ text: String?, at parameter: Int32) {
    if let text { _ = pointer.bind(text, at: parameter) } else { sqlite3_bind_null(pointer, parameter) }
  }

  package func bind(_ number: Int64?, at parameter: Int32) {
    if let number {
      sqlite3_bind_int64(pointer, parameter, number)
    } else {
      sqlite3_bind_null(pointer, parameter)
    }
  }

  /// Binds bytes that are UTF-8 text.
  package func bind(utf8 bytes: [UInt8], at parameter: Int32) { _ = pointer.bind(utf8: bytes, at: parameter) }

  package func bind(_ data: Data, at parameter: Int32) { _ = pointer.bind(data, at: parameter) }

  package func bind(_ value: FieldValue, at parameter: Int32) {
    var encoder = FieldEncoder(binding: pointer, from: parameter)
    encoder.encode(value)
  }

  /// Binds the values of one row of the table, in the order of its fields, with two parameters for a coordinate.
  package func bind(row values: [FieldValue], of table: TypeTable, from parameter: Int32) {
    var encoder = FieldEncoder(binding: pointer, from: parameter)
    for (field, value) in zip(table.schema.fields, values) { encoder.encode(value, kind: field.kind) }
  }

  package func text(at column: Int32) -> String? { pointer.text(at: column) }

  /// Returns the bytes of a text column.
  package func bytes(at column: Int32) -> [UInt8] { pointer.bytes(at: column) }

  package func int(at column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }

  /// Returns the number, or nil if the column is null.
  package func optionalInt(at column: Int32) -> Int64? { isNull(at: column) ? nil : int(at: column) }

  /// Returns the metadata in three columns from `column` on: created, modified, owner.
  package func metadata(at column: Int32) -> RecordMetadata {
    RecordMetadata(
      created: optionalInt(at: column), modified: optionalInt(at: column + 1), owner: text(at: column + 2))
  }

  /// Binds metadata to three parameters from `parameter` on.
  package func bind(_ metadata: RecordMetadata?, at parameter: Int32) {
    bind(metadata?.createdTime, at: parameter)
    bind(metadata?.modifiedTime, at: parameter + 1)
    bind(metadata?.owner, at: parameter + 2)
  }

  package func double(at column: Int32) -> Double { sqlite3_column_double(pointer, column) }

  package func data(at column: Int32) -> Data { pointer.data(at: column) }

  /// The number of columns of its rows.
  var columnCount: Int32 { sqlite3_column_count(pointer) }

  package func isNull(at column: Int32) -> Bool { sqlite3_column_type(pointer, column) == SQLITE_NULL }

  /// Resets the statement and returns the error of the last step.
  func failure() -> DatabaseError {
    let connection = sqlite3_db_handle(pointer)
    let code = sqlite3_extended_errcode(connection)
    let message = sqlite3_errmsg(connection).map { String(cString: $0) }
    sqlite3_reset(pointer)
    return DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
  }
}

extension Database {
  /// The number of rows that the last insert, update or delete changed.
  package var changedRows: Int { Int(sqlite3_changes(sqliteConnection)) }

  /// The number of query statements that are cached or in use.
  package var keptQueries: Int {
    var (count, next) = (0, sqlite3_next_stmt(sqliteConnection, nil))
    while let statement = next {
      if let sql = sqlite3_sql(statement), String(cString: sql).hasSuffix(PreparedStatement.queryMark) {
        count += 1
      }
      next = sqlite3_next_stmt(sqliteConnection, statement)
    }
    return count
  }

  /// SQLite's number of the file's content, as the present transaction sees it. It differs after each commit of this
  /// connection or another.
  var contentNumber: Int64 {
    var number: UInt32 = 0
    sqlite3_file_control(sqliteConnection, "main", SQLITE_FCNTL_DATA_VERSION, &number)
    return Int64(number)
  }

  /// True if each statement is a transaction of its own.
  var isOutsideTransaction: Bool { sqlite3_get_autocommit(sqliteConnection) != 0 }
}
