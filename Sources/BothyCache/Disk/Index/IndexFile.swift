internal import BothyStore
internal import Foundation
internal import GRDB
internal import Synchronization

/// The open database of a store: one connection that writes, and a few for reads and for look-ups of entries.
///
/// It uses a write-ahead log and `synchronous = NORMAL`. A killed process loses nothing, and a loss of power may lose
/// the last writes, but never the file. Reads bypass the page cache and use the mapped file.
final class IndexFile: Sendable {
  let path: String
  private let writer: DatabaseQueue
  private let readers: [DatabaseQueue]
  private let lookups: [EntryLookup]
  private let turn = Atomic<Int>(0)
  /// The frames of metadata that were read.
  let frames = FrameBook()
  /// True if the file was opened read-only, without its log and locks. See `init(immutable:)`.
  let isReadOnly: Bool
  /// The identity of the file, in case another file receives its name.
  private let identity: UInt64

  struct Settings: Sendable {
    var pageSize: Int
    var busyTimeout: Duration
    /// The number of pages in the log before they are written into the file.
    var logPages: Int
    static let lookups = 3
    static let readers = 2
    static let mappedBytes: Int64 = 1 << 40
  }

  /// Opens or creates the file. Throws `DatabaseError` like SQLite. The caller creates the tables.
  init(_ path: String, _ settings: Settings) throws {
    self.path = path
    SQLiteLibrary.prepare()
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    configuration.label = "bothy.cache"
    configuration.busyMode = .timeout(settings.busyTimeout / .seconds(1))
    let isNew = FileBytes.size(path) ?? 0 == 0
    var reading = configuration
    reading.readonly = true
    configuration.prepareDatabase { database in
      if isNew {
        try database.execute(sql: "PRAGMA page_size = \(settings.pageSize); PRAGMA auto_vacuum = INCREMENTAL")
      }
      try Self.expect("wal", database, "PRAGMA journal_mode = WAL")
      try database.execute(
        sql: """
          PRAGMA synchronous = NORMAL; PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY;
          PRAGMA wal_autocheckpoint = \(settings.logPages);
          PRAGMA journal_size_limit = \(settings.logPages * settings.pageSize);
          PRAGMA mmap_size = \(Settings.mappedBytes)
          """)
    }
    reading.prepareDatabase { try $0.execute(sql: "PRAGMA mmap_size = \(Settings.mappedBytes)") }
    writer = try DatabaseQueue(path: path, configuration: configuration)
    readers = try (0..<Settings.readers).map { _ in try DatabaseQueue(path: path, configuration: reading) }
    lookups = try (0..<Settings.lookups).map { [frames] _ in
      try EntryLookup(path, frames, busyTimeout: settings.busyTimeout)
    }
    isReadOnly = false
    identity = Self.identity(of: path)
  }

  /// Opens a file that is never written. It needs no lock, no log and no file beside it.
  init(immutable path: String) throws {
    self.path = path
    SQLiteLibrary.prepare()
    var configuration = Configuration()
    configuration.readonly = true
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA mmap_size = \(Settings.mappedBytes)") }
    let address = ClosableDatabase.address(asItLies: path)
    writer = try DatabaseQueue(path: address, configuration: configuration)
    readers = [writer]
    lookups = try (0..<Settings.lookups).map { [frames] _ in try EntryLookup(address, frames) }
    isReadOnly = true
    identity = Self.identity(of: path)
  }

  private static func expect(_ value: String, _ database: Database, _ sql: String) throws {
    let found = try String.fetchOne(database, sql: sql)
    guard found == value else {
      throw DatabaseError(resultCode: .SQLITE_CANTOPEN, message: "\(sql) gave \(found ?? "nothing")")
    }
  }

  /// True if the path still names this file. Another process may have quarantined it and created a new one.
  var isCurrent: Bool { identity == Self.identity(of: path) }

  private static func identity(of path: String) -> UInt64 {
    var status = stat()
    return stat(path, &status) == 0 ? UInt64(status.st_ino) : 0
  }

  /// Runs single statements. Each is its own snapshot.
  func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
    try readers[next(of: readers.count)].inDatabase(body)
  }

  /// Looks up one entry, as its own snapshot.
  func look<Result: Sendable>(_ body: (inout LookupConnection) throws -> Result) throws -> Result {
    try lookups[next(of: lookups.count)].look(body)
  }

  private func next(of count: Int) -> Int {
    Int(UInt(bitPattern: turn.add(1, ordering: .relaxed).newValue) % UInt(count))
  }

  /// Runs one transaction.
  func write<Result>(_ body: (Database) throws -> Result) throws -> Result {
    var result: Result?
    try writer.inTransaction(.immediate) { database in
      result = try body(database)
      return .commit
    }
    guard let result else { throw BothyError(.database, "A transaction of \(path) ended without a result.") }
    return result
  }

  /// Runs statements outside transactions.
  func maintain(_ sql: String) throws {
    try writer.inDatabase { try $0.execute(sql: sql) }
  }

  /// Writes a compact copy in a single file.
  func copy(to path: String) throws {
    try writer.inDatabase { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
  }

  func close() throws {
    for lookup in lookups { lookup.close() }
    for reader in readers { try reader.close() }
    try writer.close()
  }
}
