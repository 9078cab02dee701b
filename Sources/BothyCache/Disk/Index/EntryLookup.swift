internal import BothyStore
internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// A connection for look-ups of entries only, with prepared statements.
///
/// GRDB's connections have a queue and a table of statements, which cost a quarter of the time of a hit. A lock and a
/// pointer are enough here.
final class EntryLookup: Sendable {
  private let connection: Mutex<LookupConnection>

  /// Opens a connection for reading only.
  /// - Parameter path: the path of an existing file, or its address (`file:`).
  init(_ path: String, _ frames: FrameBook, busyTimeout: Duration = .zero) throws {
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
    connection = Mutex(LookupConnection(path: path, frames: frames, database: opened))
  }

  deinit { close() }

  /// Runs statements as one snapshot.
  func look<Result: Sendable>(_ body: (inout LookupConnection) throws -> Result) throws -> Result {
    try connection.withLock { connection in
      defer { connection.reset() }
      return try body(&connection)
    }
  }

  /// Closes the connection. Every later look-up throws.
  func close() { connection.withLock { $0.close() } }
}

/// The statements of a look-up, and the pages that it read last.
struct LookupConnection {
  /// A page of small bodies. Its number is never used again, so its bytes never change.
  private struct Page {
    var number: Int64
    var bytes: [UInt8]
  }

  private enum Statement: Int, CaseIterable {
    case entry
    case page
    case frame

    var sql: String {
      switch self {
      case .entry: RowReader.find
      case .page: "SELECT live, data FROM page WHERE id = ?1"
      case .frame: "SELECT checksum, data FROM frame WHERE id = ?1"
      }
    }
  }

  private static let keptPages = 3

  let path: String
  let frames: FrameBook
  private var database: OpaquePointer?
  /// The statements by their number, each prepared by the first look-up that needs it, when the tables exist.
  private var statements = [OpaquePointer?](repeating: nil, count: Statement.allCases.count)
  private var pages: [Page] = []

  init(path: String, frames: FrameBook, database: OpaquePointer) {
    self.path = path
    self.frames = frames
    self.database = database
  }

  /// Returns the statement `RowReader.find`.
  mutating func find() throws -> PreparedStatement { PreparedStatement(kept: try prepared(.entry)) }

  /// Calls `body` with the bytes of a page, or returns `nil` if it is missing.
  mutating func page<Result>(_ number: Int64, _ body: (UnsafeRawBufferPointer) -> Result) throws -> Result? {
    if let kept = pages.firstIndex(where: { $0.number == number }) {
      return pages[kept].bytes.withUnsafeBytes(body)
    }
    let select = PreparedStatement(kept: try prepared(.page))
    defer { select.reset() }
    select.bind(number, at: 1)
    guard try select.step() else { return nil }
    let bytes = select.blob(at: 1)
    if !select.isNull(at: 0) {
      if pages.count == Self.keptPages { pages.removeLast() }
      pages.insert(Page(number: number, bytes: Array(bytes)), at: 0)
    }
    return body(bytes)
  }

  /// Returns a frame, or `nil` if it is missing or damaged.
  mutating func frame(_ number: Int64) throws -> MetadataFrame? {
    if let known = frames[number] { return known }
    let select = PreparedStatement(kept: try prepared(.frame))
    defer { select.reset() }
    select.bind(number, at: 1)
    guard try select.step() else { return nil }
    return frames.keep(number, select)
  }

  private mutating func prepared(_ kind: Statement) throws -> OpaquePointer {
    if let known = statements[kind.rawValue] { return known }
    guard let database else {
      throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "\(path) is closed")
    }
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(database, kind.sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else {
      let message = sqlite3_errmsg(database).map { String(cString: $0) }
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
    }
    statements[kind.rawValue] = statement
    return statement
  }

  /// Ends the snapshot.
  func reset() { if let find = statements[Statement.entry.rawValue] { sqlite3_reset(find) } }

  mutating func close() {
    for kind in Statement.allCases {
      sqlite3_finalize(statements[kind.rawValue])
      statements[kind.rawValue] = nil
    }
    pages = []
    sqlite3_close(database)
    database = nil
  }
}

/// The frames of an index that were read. A frame's number is never used again.
final class FrameBook: Sendable {
  private let known = Mutex<[Int64: MetadataFrame]>([:])
  private let numbers = Mutex<[UInt64: Int64]>([:])

  /// Returns the number that a frame with this checksum had last. It may be gone.
  func number(_ checksum: UInt64) -> Int64? { numbers.withLock { $0[checksum] } }

  func note(_ number: Int64, _ checksum: UInt64) { numbers.withLock { $0[checksum] = number } }

  subscript(_ number: Int64) -> MetadataFrame? { known.withLock { $0[number] } }

  /// Decodes the frame in a row with its checksum and its bytes, and keeps it unless it is damaged.
  func keep(_ number: Int64, _ row: PreparedStatement) -> MetadataFrame? {
    guard let frame = MetadataFrame(row.blob(at: 1), checksum: UInt64(bitPattern: row.int(at: 0))) else {
      return nil
    }
    known.withLock { $0[number] = frame }
    return frame
  }

  /// Returns a frame from its row, or `nil` if it is missing or damaged.
  func frame(_ number: Int64, in database: Database) throws -> MetadataFrame? {
    if let known = self[number] { return known }
    let find = try PreparedStatement("SELECT checksum, data FROM frame WHERE id = ?1", in: database)
    find.bind(number, at: 1)
    defer { find.reset() }
    return try find.step() ? keep(number, find) : nil
  }

  /// Decodes the metadata in a row, or returns `nil` if they or their frame are damaged.
  /// - Parameter number: the number of the frame that the row names, or `nil` if it names none.
  func metadata(
    _ bytes: UnsafeRawBufferPointer, frame number: Int64?, seed: UInt64, in database: Database
  ) throws -> EntryMetadata? {
    guard let number else { return RowMetadata.decode(bytes, nil, seed: seed) }
    return try frame(number, in: database).flatMap { RowMetadata.decode(bytes, $0, seed: seed) }
  }
}
