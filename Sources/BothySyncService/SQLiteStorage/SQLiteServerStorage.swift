import BothyStore
import Dispatch
import Foundation
import GRDB

/// A server's storage in one SQLite file, for a server of one process.
///
/// Records are clustered by position, so a pull reads consecutive rows, and an update moves its row to the end. SQLite
/// has one writer, which is the lock on every space. Writes that arrive during a commit share the next one. Each commit
/// waits for the disk.
///
/// Calls may be made from any task, and block none of its threads. A write on a full disk throws `BothyError`
/// `.diskFull` and leaves the file unchanged. Commands of operators may open the file beside the server. A write that
/// waits for theirs longer than 5 seconds throws `.busy`, with those that wait beside it. After those of a newer version
/// have changed the file's form, each call throws `.newerFile`.
public final class SQLiteServerStorage: ServerStorage {
  /// The identity of this database, created with it and kept by its copies.
  ///
  /// A UUID, read when the file was opened. Each storage in memory has one of its own.
  public let identity: String
  private let path: String
  /// The writes of this object. See `SQLiteServerTransaction.begin`.
  private let run: ServerRun
  let database: any DatabaseWriter
  /// Connections for long reads, apart from those of pulls; `nil` in memory, with one connection for all.
  private let searches: (any DatabaseReader)?
  /// A connection for `check` alone; `nil` in memory.
  private let health: (any DatabaseReader)?
  private let lanes: WriteQueues
  private let searchPermits: AsyncSemaphore

  /// Opens or creates the file, and runs the steps that an older one misses.
  ///
  /// Blocks the thread meanwhile, for as long as the steps take. The folder must exist. Each connection has a page
  /// cache of up to 32 MiB.
  ///
  /// - Parameters:
  ///   - readers: the most connections for pulls and other short reads, at least one.
  ///   - queries: the most connections for long reads, which are separate from those of short ones; at least one. 16
  ///     times as many may wait, and any further one throws `StorageUnavailable` `.busy`.
  ///   - migrates: false to refuse an older file.
  /// - Throws: `BothyError`. Before it changes anything: `.newerFile` for a file of a newer server, and `notADatabase`
  ///   for a file of another program, such as that of a device. `.schemaMismatch` if steps are missing and `migrates`
  ///   is false.
  public convenience init(
    at path: String, readers: Int = 4, queries: Int = 4, migrates: Bool = true
  ) throws {
    try self.init(at: path, lanes: WriteQueues(), readers: readers, queries: queries, migrates: migrates)
  }

  /// Opens or creates the file with queues of another width, to measure their benefit, or with a run or a patience that a
  /// test chooses.
  ///
  /// - Parameter patience: the seconds for which a write waits for another process.
  package init(
    at path: String, lanes: WriteQueues, readers: Int = 4, queries: Int = 4, migrates: Bool = true,
    patience: Double = 5, run: ServerRun = ServerRun()
  ) throws {
    self.lanes = lanes
    self.run = run
    searchPermits = AsyncSemaphore(width: max(1, queries), queue: 16 * max(1, queries))
    self.path = path
    SQLiteLibrary.prepare()
    do {
      var configuration = Configuration()
      configuration.busyMode = .timeout(patience)
      configuration.maximumReaderCount = max(1, readers)
      configuration.prepareDatabase { database in
        try Self.refuseUnknown(database, path)
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
      identity = try pool.write { try Self.install($0, path, migrates: migrates) }
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
  ///
  /// It has one connection, so reads and writes wait for each other. Its content ends with it.
  public init() throws {
    run = ServerRun()
    lanes = WriteQueues()
    searchPermits = AsyncSemaphore(width: 4, queue: 64)
    path = ":memory:"
    (searches, health) = (nil, nil)
    SQLiteLibrary.prepare()
    var configuration = Configuration()
    configuration.prepareDatabase { QueryFunctions.install(in: $0) }
    let queue = try DatabaseQueue(configuration: configuration)
    database = queue
    identity = try queue.write { try Self.install($0, ":memory:", migrates: true) }
  }

  /// Runs `body` in one transaction that holds the lock of all spaces.
  ///
  /// Writes that wait share one commit, each with a savepoint of its own, so a failed one undoes itself alone. If the
  /// commit fails, each write is run once more in a transaction of its own. Returns when the disk has the commit. A
  /// cancelled task waits all the same.
  ///
  /// - Throws: the error of `body`, `BothyError` `.diskFull` or `.busy`, or the database's own error.
  public func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
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
      for answer in try await change({ try Self.work(writes, $0, run) }) { answer() }
    } catch  where writes.count > 1 && !isBusy(error) {
      // The commit itself failed. Each write now has its own, so that one doesn't affect the others.
      for write in writes { await commit([write]) }
    } catch {
      for write in writes { write.fail(named(error)) }
    }
  }

  /// True if another process has kept the file locked. Each write by itself would wait for it again.
  private func isBusy(_ error: any Error) -> Bool { BothyError(error, path: path).code == .busy }

  /// Returns a full disk and a lock of another process as `BothyError`, and other errors as the database reports them, for
  /// a log.
  private func named(_ error: any Error) -> any Error {
    let named = BothyError(error, path: path)
    return [BothyError.Code.diskFull, .busy].contains(named.code) ? named : error
  }

  /// Runs one transaction beside the queue of writes, for operators, upkeep and webhooks. Throws like `write(space:_:)`.
  func change<Result: Sendable>(_ body: @Sendable (Database) throws -> Result) async throws -> Result {
    do {
      return try await database.write { [path] database in
        try Self.refuseNewer(database, path)
        return try body(database)
      }
    } catch { throw named(error) }
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
    _ writes: [JoinedWrite], _ database: Database, _ run: ServerRun
  ) throws -> [@Sendable () -> Void] {
    func work(_ write: JoinedWrite) throws -> @Sendable () -> Void {
      try write.work(SQLiteServerTransaction(database, space: write.space, run: run))
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

  /// Runs `body` once on one consistent state, on one of the connections for short reads.
  ///
  /// Writes and long reads don't delay it in a file. It waits while all of these connections are in use.
  public func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    try await database.read { [path] in try body(Self.snapshot($0, of: space, path)) }
  }

  /// Like `read(space:_:)`, and calls `step` after each thousand steps of one statement, for tests of costs.
  package func read<Result: Sendable>(
    space: String, eachThousand step: @escaping @Sendable () -> Void,
    _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    try await database.read { [path] database in
      try database.interrupted(when: {
        step()
        return false
      }) {
        try body(Self.snapshot(database, of: space, path))
      }
    }
  }

  private static func snapshot(
    _ database: Database, of space: String, _ path: String
  ) throws -> SQLiteServerTransaction {
    try refuseNewer(database, path)
    return try SQLiteServerTransaction(database, space: space, run: nil)
  }

  /// Like `read(space:_:)`, but on the connections for long reads, which never delay short ones.
  ///
  /// SQLite is interrupted at the limit, and when the task is cancelled. In memory it has the one connection of all
  /// calls.
  ///
  /// - Throws: `SyncServiceError` `.tooExpensive` after `limit`, the wait included. `CancellationError` if the task is
  ///   cancelled. `StorageUnavailable` `.busy` if too many wait already.
  public func search<Result: Sendable>(
    space: String, within limit: Duration, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    let watch = SearchWatch(within: limit)
    return try await watch.ending {
      try await searchPermits.withPermit {
        try await (searches ?? database).read { [path] database in
          try database.interrupted(when: { watch.isOver }) {
            try body(Self.snapshot(database, of: space, path))
          }
        }
      }
    } isInterruption: {
      ($0 as? DatabaseError)?.resultCode == .SQLITE_INTERRUPT
    }
  }

  /// Reads one row on a connection of its own, so that no other call delays it. Throws the database's error if it
  /// can't.
  public func check() async throws {
    _ = try await (health ?? database).read { [path] in try Self.snapshot($0, of: "", path).head }
  }

  /// Writes a copy of the present content to a new file.
  ///
  /// Reads continue meanwhile, and so do writes of other processes. Writes of this object wait until the copy is made.
  /// Costs a read of the whole content, and the room on the disk. The copy has no unused pages and the identity of this
  /// storage. Call `startEpoch(space:)` for each space after a restore.
  ///
  /// - Throws: `BothyError`, for example `.diskFull`, and for a path at which a file with content is already.
  public func backup(to path: String) async throws {
    do {
      try await database.vacuum(into: path)
    } catch { throw BothyError(error, path: path) }
  }

  /// Closes the file after the running transactions. Later calls throw.
  ///
  /// The file is the whole database then, unless another process reads it. Blocks the thread until then.
  public func close() throws {
    try health?.close()
    try searches?.close()
    try database.writeWithoutTransaction { database in
      // A cancellation between two statements interrupts a checkpoint that follows, but no statement.
      try database.execute(sql: "SELECT 1")
      do {
        try database.checkpoint(.truncate)
      } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {}
    }
    try database.close()
  }
}
