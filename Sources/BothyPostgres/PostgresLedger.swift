import BothyStore
public import BothySyncService
import Foundation
import Synchronization

/// A ledger in PostgreSQL, for any number of server processes side by side.
///
/// A writing transaction locks its space's row, so position order is commit order for all processes. Writes to one space
/// that come while another is committed share the next commit. Reads see one snapshot and wait for nobody.
///
/// What fails because of others, or because the connection was lost, is done again, with growing waits. A commit whose
/// answer was lost is looked up before: each writing transaction leaves its process's serial number in the space, and the
/// next one that holds the space's lock sees whether it is there. So nothing is done twice and nothing that was answered
/// is lost, as long as PostgreSQL keeps what it commits.
public final class PostgresLedger: Ledger {
  /// How the ledger uses the database.
  public struct Configuration: Sendable {
    /// The schema that holds the tables, made where it is missing.
    public var schema: String
    /// The most connections for writes, and as many for reads; half as many for queries, one for news and one that tells
    /// whether the database is well.
    public var connections: Int
    /// How long a call is tried again while the database is away.
    public var patience: Duration
    /// The most writes that share a commit.
    package var joinedWrites = 32
    /// Sees the SQL of each statement.
    package var trace: (@Sendable (String) -> Void)?

    /// The schema `bothy`, 8 connections for writes and 8 for reads, 15 seconds of patience unless told otherwise.
    public init(schema: String = "bothy", connections: Int = 8, patience: Duration = .seconds(15)) {
      self.schema = schema
      self.connections = connections
      self.patience = patience
    }
  }

  private let settings: SessionSettings
  private let writers: WorkerPool
  private let readers: WorkerPool
  /// Threads and connections for what may take long.
  private let searchers: WorkerPool
  private let searchGate: Gate
  /// A connection that nothing but `check` waits for.
  private let health: WorkerPool
  private let lanes: WriteLanes
  private let news: NewsChannel
  /// The process's name in the spaces that it writes to, and the number of its last transaction.
  private let name = UUIDv7.make()
  private let serial = Atomic<Int64>(0)
  private let ownIdentity = Mutex("")

  public var identity: String { ownIdentity.withLock { $0 } }

  /// Connects and brings the tables up to date, other processes waiting meanwhile.
  ///
  /// `address` is a URL, `postgres://user@host:5432/database`, or a connection string as libpq knows them; several hosts
  /// are tried in order, and the one that takes changes is chosen. A database that is not there yet is waited for as long
  /// as patience lasts. Throws `LedgerUnavailable`, or `StoreError` for one that cannot be used.
  public static func open(
    _ address: String, configuration: Configuration = Configuration()
  ) async throws -> PostgresLedger {
    let ledger = PostgresLedger(address, configuration)
    let schema = configuration.schema
    do {
      let identity = try await ledger.writers.run { worker in
        try worker.attempt { connection in
          try LedgerTables.install(in: schema, on: connection)
          return try connection.run(PostgresStatement("SELECT identity FROM server")).text(0, 0) ?? ""
        }
      }
      ledger.ownIdentity.withLock { $0 = identity }
    } catch {
      ledger.close()
      throw error
    }
    return ledger
  }

  private init(_ address: String, _ configuration: Configuration) {
    settings = SessionSettings(
      address: address, schema: configuration.schema, patience: configuration.patience,
      trace: configuration.trace)
    lanes = WriteLanes(limit: configuration.joinedWrites)
    writers = WorkerPool(settings, limit: max(1, configuration.connections))
    readers = WorkerPool(settings, limit: max(1, configuration.connections))
    let width = max(1, configuration.connections / 2)
    searchers = WorkerPool(settings, limit: width)
    searchGate = Gate(width: width, queue: 16 * width)
    health = WorkerPool(settings, limit: 1)
    news = NewsChannel(settings)
  }

  /// Lets the connections go when what was begun is done.
  public func close() {
    news.finish()
    writers.close()
    readers.close()
    searchers.close()
    health.close()
  }

  public func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any LedgerSnapshot) throws -> Result
  ) async throws -> Result {
    try check(space)
    return try await readers.run { worker in
      try worker.attempt { try Self.read(space, $0, body) }
    }
  }

  public func check() async throws {
    try await health.run { worker in
      try worker.attempt(patiently: false) { _ = try Self.read("", $0) { $0.head } }
    }
  }

  public func search<Result: Sendable>(
    space: String, within limit: Duration, _ body: @escaping @Sendable (any LedgerSnapshot) throws -> Result
  ) async throws -> Result {
    try check(space)
    let watch = SearchWatch(within: limit)
    return try await watch.ending {
      try await searchGate.withGate {
        try await searchers.run { worker in
          try worker.attempt { try Self.search(space, watch, $0, body) }
        }
      }
    } isInterruption: {
      $0 is Interrupted
    }
  }

  /// A statement was ended because its time was over, or because nobody waits for it any more.
  private struct Interrupted: Error {}

  private static func search<Result>(
    _ space: String, _ watch: SearchWatch, _ connection: PostgresConnection,
    _ body: (any LedgerSnapshot) throws -> Result
  ) throws -> Result {
    try watch.check()
    let canceller = connection.canceller()
    watch.setOnCancel {
      // It connects, which may take its time: not on the thread of who cancels.
      Thread.detachNewThread { canceller?.cancel() }
    }
    defer { watch.setOnCancel(nil) }
    do {
      let milliseconds = Int64(watch.left / .milliseconds(1))
      let found = try connection.run([
        PostgresStatement.command(LedgerSQL.beginReading),
        PostgresStatement.command("SET LOCAL statement_timeout TO \(max(1, milliseconds))"),
        PostgresStatement(LedgerSQL.state, in: space),
      ])
      let transaction = PostgresTransaction(connection, space: space, row: found[2])
      transaction.watch = watch
      let result = try body(transaction)
      try connection.execute("COMMIT")
      return result
    } catch let failure as PostgresFailure where failure.code == "57014" && watch.isOver {
      throw Interrupted()
    }
  }

  private static func read<Result>(
    _ space: String, _ connection: PostgresConnection, _ body: (any LedgerSnapshot) throws -> Result
  ) throws -> Result {
    let found = try connection.run([
      PostgresStatement.command(LedgerSQL.beginReading),
      PostgresStatement(LedgerSQL.state, in: space),
    ])
    let result = try body(PostgresTransaction(connection, space: space, row: found[1]))
    try connection.execute("COMMIT")
    return result
  }

  public func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any LedgerTransaction) throws -> Result
  ) async throws -> Result {
    try check(space)
    return try await JoinedWrite.result(space: space, of: body) { write in
      if lanes.add(write, to: space) { writers.add { self.goOn(space, $0) } }
    }
  }

  /// Commits what waits for a space, then lets other spaces have the thread.
  private func goOn(_ space: String, _ worker: Worker) {
    let writes = lanes.take(from: space)
    if writes.isEmpty { return }
    commit(writes, in: space, worker)
    writers.add { self.goOn(space, $0) }
  }

  private func commit(_ writes: [JoinedWrite], in space: String, _ worker: Worker) {
    var group = GroupCommit(writes, space: space, writer: name)
    do {
      try worker.attempt { connection in
        let number = serial.wrappingAdd(1, ordering: .relaxed).newValue
        try group.attempt(number, on: connection)
      }
    } catch  where writes.count > 1 && !group.isInDoubt && !(error is LedgerUnavailable) {
      // Something in the commit itself: each for itself, so that one does not hurt the others.
      for write in writes { commit([write], in: space, worker) }
      return
    } catch {
      for write in writes { write.fail(error) }
      return
    }
    if let head = group.newHead { news.tell(space, head: head) }
    group.answer()
  }

  /// Calls `receive` with the name of each space that another process has written to. `followed` says which spaces
  /// matter: their positions are looked at now and then, so that news which got lost on the way is made up for.
  ///
  /// Costs one connection. Call it once.
  public func passNews(
    of followed: @escaping @Sendable () -> [String], to receive: @escaping @Sendable (String) -> Void
  ) {
    news.start(followed: followed, receive: receive)
  }

  /// One transaction that holds the space's lock and can be done twice.
  func change(
    _ space: String, _ statements: @escaping @Sendable () -> [PostgresStatement]
  ) async throws {
    try check(space)
    try await writers.run { worker in
      try worker.attempt { connection in
        _ = try connection.run(
          [.command(LedgerSQL.beginWriting), PostgresStatement(LedgerSQL.lockedState, in: space)]
            + statements() + [.command("COMMIT")])
      }
    }
  }

  /// One reading without a transaction of the ledger's own.
  func look<Result: Sendable>(
    _ body: @escaping @Sendable (PostgresConnection) throws -> Result
  ) async throws -> Result {
    try await readers.run { worker in try worker.attempt(body) }
  }

  private func check(_ space: String) throws {
    guard !space.utf8.contains(0) else {
      throw StoreError(.invalidValue, "The name of a space has no zero byte.")
    }
  }
}
