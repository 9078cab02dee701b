import BothyStore
import Dispatch
import Foundation
import GRDB

/// A server's storage in one SQLite file, for a server of one process.
///
/// Records are clustered by position, so a pull reads consecutive rows, and an update moves its row to the end. SQLite
/// has one writer, which is the lock on every space. Writes that arrive during a commit share the next one.
///
/// A write on a full disk throws `BothyError` `.diskFull` and leaves the file unchanged.
public final class SQLiteLedger: Ledger {
  public let identity: String
  private let path: String
  /// The name of this object's writes. See `SQLiteLedgerTransaction.begin`.
  private let run = UUIDv7.make()
  let database: any DatabaseWriter
  /// Connections for long reads, apart from those of pulls; `nil` in memory, with one connection for all.
  private let searches: (any DatabaseReader)?
  /// A connection for `check` alone; `nil` in memory.
  private let health: (any DatabaseReader)?
  private let lanes: WriteQueues
  private let searchGate: Gate

  /// Opens or creates the file. Throws `BothyError`.
  ///
  /// - Parameters:
  ///   - readers: the most connections for pulls and other short reads, at least one.
  ///   - queries: the most connections for long reads, which are separate from those of short ones; at least one.
  public convenience init(at path: String, readers: Int = 4, queries: Int = 4) throws {
    try self.init(at: path, lanes: WriteQueues(), readers: readers, queries: queries)
  }

  /// Opens or creates the file with queues of another width, to measure their benefit.
  package init(at path: String, lanes: WriteQueues, readers: Int = 4, queries: Int = 4) throws {
    self.lanes = lanes
    searchGate = Gate(width: max(1, queries), queue: 16 * max(1, queries))
    self.path = path
    SQLiteLibrary.prepare()
    do {
      var configuration = Configuration()
      configuration.busyMode = .timeout(5)
      configuration.maximumReaderCount = max(1, readers)
      configuration.prepareDatabase { database in
        try database.execute(sql: "PRAGMA cache_size = -32768")
        QueryFunctions.install(in: database)
      }
      let pool = try DatabasePool(path: path, configuration: configuration)
      try pool.writeWithoutTransaction { database in
        try database.execute(sql: "PRAGMA synchronous = FULL")
        // The log is copied into the file at 16 MB, because bulk writes change the same pages repeatedly.
        try database.execute(sql: "PRAGMA wal_autocheckpoint = 4096")
      }
      database = pool
      identity = try pool.write(Self.install)
      configuration.readonly = true
      // Threads are assigned by urgency, and long reads may use all others.
      configuration.targetQueue = .global(qos: .userInteractive)
      health = try DatabaseQueue(path: path, configuration: configuration)
      configuration.targetQueue = nil
      configuration.maximumReaderCount = max(1, queries)
      searches = try DatabasePool(path: path, configuration: configuration)
    } catch {
      throw BothyError(error, path: path)
    }
  }

  /// Makes a storage in memory, for tests.
  public init() throws {
    lanes = WriteQueues()
    searchGate = Gate(width: 4, queue: 64)
    path = ":memory:"
    (searches, health) = (nil, nil)
    SQLiteLibrary.prepare()
    var configuration = Configuration()
    configuration.prepareDatabase { QueryFunctions.install(in: $0) }
    let queue = try DatabaseQueue(configuration: configuration)
    database = queue
    identity = try queue.write(Self.install)
  }

  public func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any LedgerTransaction) throws -> Result
  ) async throws -> Result {
    try await JoinedWrite.result(space: space, of: body) { write in
      if lanes.add(write, to: Self.lane) { Task { await commitWaiting() } }
    }
  }

  /// One writer means one queue.
  private static let lane = ""

  private func commitWaiting() async {
    while true {
      let writes = lanes.take(from: Self.lane)
      if writes.isEmpty { return }
      await commit(writes)
    }
  }

  private func commit(_ writes: [JoinedWrite]) async {
    do {
      let run = run
      for answer in try await database.write({ try Self.work(writes, $0, run) }) { answer() }
    } catch  where writes.count > 1 {
      // The commit itself failed. Each write now has its own, so that one doesn't affect the others.
      for write in writes { await commit([write]) }
    } catch {
      for write in writes { write.fail(named(error)) }
    }
  }

  /// Returns a full disk as `BothyError`, and other errors as the database reports them, for a log.
  private func named(_ error: any Error) -> any Error {
    let named = BothyError(error, path: path)
    return named.code == .diskFull ? named : error
  }

  /// Limits the file's size to a number of pages, as on a full disk; `nil` removes the limit.
  package func limit(pages: Int?) throws {
    try database.writeWithoutTransaction { database in
      let limit = pages ?? 4_294_967_294
      try database.execute(sql: "PRAGMA max_page_count = \(limit)")
    }
  }

  /// Does the work of the writes. If several share the transaction, each has a savepoint, and a failed one is undone
  /// alone.
  private static func work(
    _ writes: [JoinedWrite], _ database: Database, _ run: String
  ) throws -> [@Sendable () -> Void] {
    func work(_ write: JoinedWrite) throws -> @Sendable () -> Void {
      try write.work(SQLiteLedgerTransaction(database, space: write.space, run: run))
    }
    if writes.count == 1, let write = writes.first { return [try work(write)] }
    return try writes.map { write in
      var answer: (@Sendable () -> Void)?
      do {
        try database.inSavepoint {
          answer = try work(write)
          return .commit
        }
      } catch {
        // A full disk ends the whole transaction.
        guard database.isInsideTransaction else { throw error }
        return { write.fail(error) }
      }
      return answer ?? {}
    }
  }

  public func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any LedgerSnapshot) throws -> Result
  ) async throws -> Result {
    try await database.read { try body(SQLiteLedgerTransaction($0, space: space, run: nil)) }
  }

  public func search<Result: Sendable>(
    space: String, within limit: Duration, _ body: @escaping @Sendable (any LedgerSnapshot) throws -> Result
  ) async throws -> Result {
    let watch = SearchWatch(within: limit)
    return try await watch.ending {
      try await searchGate.withGate {
        try await (searches ?? database).read { database in
          try database.interrupted(when: { watch.isOver }) {
            try body(SQLiteLedgerTransaction(database, space: space, run: nil))
          }
        }
      }
    } isInterruption: {
      ($0 as? DatabaseError)?.resultCode == .SQLITE_INTERRUPT
    }
  }

  public func check() async throws {
    _ = try await (health ?? database).read {
      try SQLiteLedgerTransaction($0, space: "", run: nil).head
    }
  }

  /// Writes a copy of the present content to a new file, while other writes continue. Throws `BothyError`.
  public func backup(to path: String) async throws {
    do {
      try await database.vacuum(into: path)
    } catch { throw BothyError(error, path: path) }
  }

  /// Closes the file after the running transactions. Later calls throw. The file is the whole database then, unless
  /// another process reads it.
  public func close() throws {
    try health?.close()
    try searches?.close()
    try database.writeWithoutTransaction { database in
      do {
        try database.checkpoint(.truncate)
      } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {}
    }
    try database.close()
  }

  /// Creates the tables. Versions of the format: 1 — first version.
  private static func install(_ database: Database) throws -> String {
    try database.execute(
      sql: """
        CREATE TABLE IF NOT EXISTS server (identity TEXT NOT NULL) STRICT;
        CREATE TABLE IF NOT EXISTS space (
          name TEXT PRIMARY KEY NOT NULL, epoch TEXT NOT NULL, head INTEGER NOT NULL, floor INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS record (
          space TEXT NOT NULL, position INTEGER NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
          container TEXT NOT NULL, modified INTEGER NOT NULL, owner TEXT, deleted INTEGER NOT NULL,
          fields TEXT NOT NULL, sharing TEXT, created INTEGER, PRIMARY KEY (space, position)
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX IF NOT EXISTS record_id ON record (space, type, id);
        CREATE INDEX IF NOT EXISTS record_container ON record (space, container, position);
        CREATE TABLE IF NOT EXISTS departure (
          space TEXT NOT NULL, position INTEGER NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
          container TEXT NOT NULL, PRIMARY KEY (space, position, type, id, container)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS history (
          space TEXT NOT NULL, position INTEGER NOT NULL, container TEXT NOT NULL, type TEXT NOT NULL,
          id TEXT NOT NULL, kind INTEGER NOT NULL, moved_from TEXT, principal TEXT, time INTEGER NOT NULL,
          fields TEXT NOT NULL, PRIMARY KEY (space, position)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS operation (
          space TEXT NOT NULL, device TEXT NOT NULL, id TEXT NOT NULL, outcome TEXT NOT NULL,
          at INTEGER NOT NULL, PRIMARY KEY (space, device, id)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS member (
          space TEXT NOT NULL, principal TEXT NOT NULL, list TEXT NOT NULL, PRIMARY KEY (space, principal, list)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS member_list ON member (space, list);
        CREATE TABLE IF NOT EXISTS shared (
          space TEXT NOT NULL, list TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
          PRIMARY KEY (space, list, type, id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS shared_record ON shared (space, type, id);
        CREATE TABLE IF NOT EXISTS notice (
          space TEXT NOT NULL, principal TEXT NOT NULL, position INTEGER NOT NULL, type TEXT NOT NULL,
          id TEXT NOT NULL, PRIMARY KEY (space, principal, position)
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX IF NOT EXISTS notice_record ON notice (space, principal, type, id);
        PRAGMA user_version = 1;
        """ + upkeepTables + uniqueTables + runTables + webhookTables)
    if try !database.columns(in: "record").contains(where: { $0.name == "created" }) {
      try database.execute(sql: "ALTER TABLE record ADD COLUMN created INTEGER")
    }
    try addDueList(to: database)
    if let identity = try String.fetchOne(database, sql: "SELECT identity FROM server") { return identity }
    let identity = UUIDv7.make()
    try database.execute(sql: "INSERT INTO server VALUES (?)", arguments: [identity])
    return identity
  }
}
