import BothyStore
public import BothySyncService
import Foundation
import Synchronization

/// A server's storage in PostgreSQL, for any number of server processes.
///
/// A writing transaction locks its space's row, so position order is commit order for all processes. Writes to one
/// space that arrive during a commit share the next one. Reads see one snapshot and never wait for writes.
///
/// A transaction that fails because of others, or with a lost connection, is repeated with growing waits. Before that,
/// a commit whose answer was lost is checked. Each writing transaction leaves its process's serial number in the space,
/// and the next one that holds the space's lock finds it there or not. So nothing is done twice, and no answered write
/// is lost as long as PostgreSQL keeps its commits.
///
/// A newer server may change the tables meanwhile, so that this one must not use them. Each transaction looks for that, in
/// a round trip that it makes anyway, and throws `BothyError` `.newerFile`.
public final class PostgresServerStorage: ServerStorage {
  /// The storage's use of the database.
  public struct Configuration: Sendable {
    /// The schema that has the tables, created if it is missing.
    public var schema: String
    /// The most connections for writes, and as many for reads. One more serves notifications, and one checks the health
    /// of the database.
    public var connections: Int
    /// The most connections for queries, which are separate from those for reads. With `nil` they are half as many.
    public var queries: Int?
    /// The longest time a call is repeated while the database is unavailable. A database that stops answering in the
    /// middle of a call is waited for a second more.
    public var patience: Duration
    /// True if `open` creates missing tables and runs missing steps.
    public var migrates = true
    /// The time between two looks for other processes' writes, which make up for lost notifications. Where the database
    /// has none, these writes are noticed after this time at the latest.
    public var lookInterval = Duration.seconds(5)
    /// The addresses of streaming standbys that answer reads, once `useReplicas` is called. Each may name several hosts.
    public var replicas: [String] = []
    /// The longest time a read waits for a replica that is behind, before the database itself answers it.
    public var replicaWait = Duration.milliseconds(100)
    /// The time between two looks at each replica.
    package var replicaLookInterval = Duration.seconds(1)
    /// The longest time of a check.
    package var checkTime = Duration.seconds(2)
    /// The most writes that share a commit.
    package var joinedWrites = 32
    /// The steps of the tables that the server knows, for tests of earlier and later servers.
    package var steps = StorageTables.steps
    /// Receives the SQL of each statement.
    package var trace: (@Sendable (String) -> Void)?

    /// Makes a configuration, by default with the schema `bothy`, 8 connections for writes and 8 for reads, and 15
    /// seconds of patience.
    public init(schema: String = "bothy", connections: Int = 8, patience: Duration = .seconds(15)) {
      self.schema = schema
      self.connections = connections
      self.patience = patience
    }
  }

  private let settings: SessionSettings
  private let writers: WorkerPool
  private let readers: WorkerPool
  /// The threads and connections for long reads.
  private let searchers: WorkerPool
  private let searchPermits: AsyncSemaphore
  /// A connection for `check` alone.
  private let health: WorkerPool
  private let checkTime: Duration
  /// The copies that answer reads; `nil` without any.
  private let copies: ReplicaSet?
  private let lanes: WriteQueues
  private let news: NewsChannel
  /// The process's name in the spaces that it writes to, and the number of its last transaction.
  private let name = UUIDv7.make()
  private let serial = Atomic<Int64>(0)
  private let ownIdentity = Mutex("")

  public var identity: String { ownIdentity.withLock { $0 } }

  /// Connects and updates the tables while other processes wait. A step that takes longer than a minute fails.
  ///
  /// `address` is a URL, `postgres://user@host:5432/database`, or a connection string of libpq. Several hosts are tried
  /// in order, and the first that accepts changes is used. A database that isn't available yet is tried for the time of
  /// `patience`. Throws `StorageUnavailable`, or `BothyError` for a database that cannot be used: `.newerFile` if it
  /// needs a newer server, `.schemaMismatch` if steps are missing and `migrates` is false, `.migrationFailed` for a slow
  /// step, `.cannotOpen` behind a pooler that mixes sessions.
  public static func open(
    _ address: String, configuration: Configuration = Configuration()
  ) async throws -> PostgresServerStorage {
    let storage = PostgresServerStorage(address, configuration)
    do {
      let identity = try await storage.writers.run { connection in
        _ = try configuration.installer(on: connection).install()
        return try connection.run(PostgresStatement("SELECT identity FROM server")).text(0, 0) ?? ""
      }
      storage.ownIdentity.withLock { $0 = identity }
      // A pooler that pools transactions lends the first session to this one, which is refused.
      try await storage.health.run { _ in }
    } catch {
      storage.close()
      throw error
    }
    return storage
  }

  private init(_ address: String, _ configuration: Configuration) {
    settings = SessionSettings(
      address: address, schema: configuration.schema, patience: configuration.patience,
      trace: configuration.trace)
    lanes = WriteQueues(limit: configuration.joinedWrites)
    writers = WorkerPool(settings, limit: max(1, configuration.connections))
    readers = WorkerPool(settings, limit: max(1, configuration.connections))
    let width = max(1, configuration.queries ?? configuration.connections / 2)
    searchers = WorkerPool(settings, limit: width)
    searchPermits = AsyncSemaphore(width: width, queue: 16 * width)
    health = WorkerPool(settings, limit: 1)
    checkTime = configuration.checkTime
    news = NewsChannel(settings, pause: configuration.lookInterval)
    copies =
      configuration.replicas.isEmpty
      ? nil : ReplicaSet(configuration, primary: settings, queries: width)
  }

  /// Closes the connections after the running work.
  public func close() {
    news.finish()
    copies?.close()
    writers.close()
    readers.close()
    searchers.close()
    health.close()
  }

  public func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    try check(space)
    if let found = try await copies?.read(space, body) { return found }
    return try await readers.run { try Self.read(space, $0, body) }
  }

  public func check() async throws {
    try await health.run(CallTime(limit: checkTime, isRepeated: false)) {
      _ = try Self.read("", $0) { $0.head }
    }
  }

  public func search<Result: Sendable>(
    space: String, within limit: Duration, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    try check(space)
    let watch = SearchWatch(within: limit)
    return try await watch.ending {
      if let found = try await copies?.search(space, watch, body) { return found }
      return try await searchPermits.withPermit {
        // The server ends a statement after the limit, so its own answer is awaited.
        try await searchers.run(CallTime(grace: limit + .seconds(2))) { connection in
          try Self.search(watch, connection) {
            try Self.beginSearch(in: space, watch, connection)
          } body: {
            try body($0)
          }
        }
      }
    } isInterruption: {
      $0 is Interrupted
    }
  }

  /// A statement was ended because its time was over, or because its caller was cancelled.
  struct Interrupted: Error {}

  private static func beginSearch(
    in space: String, _ watch: SearchWatch, _ connection: PostgresConnection
  ) throws -> PostgresTransaction {
    let milliseconds = Int64(watch.left / .milliseconds(1))
    let found = try connection.run([
      PostgresStatement.command(StorageSQL.beginReading),
      PostgresStatement.command("SET LOCAL statement_timeout TO \(max(1, milliseconds))"),
      PostgresStatement(StorageSQL.state, in: space), PostgresStatement(StorageSQL.checkTables),
    ])
    return PostgresTransaction(connection, space: space, row: found[2])
  }

  /// Runs a search in the transaction that `begin` begins. Throws `Interrupted` at the end of the watch.
  static func search<Result>(
    _ watch: SearchWatch, _ connection: PostgresConnection, begin: () throws -> PostgresTransaction,
    body: (any ServerSnapshot) throws -> Result
  ) throws -> Result {
    try watch.check()
    let canceller = connection.canceller()
    watch.setOnCancel { canceller?.cancel() }
    defer { watch.setOnCancel(nil) }
    do {
      let transaction = try begin()
      transaction.watch = watch
      let result = try body(transaction)
      try connection.execute("COMMIT")
      return result
    } catch let failure as PostgresFailure where failure.code == "57014" && watch.isOver {
      throw Interrupted()
    }
  }

  private static func read<Result>(
    _ space: String, _ connection: PostgresConnection, _ body: (any ServerSnapshot) throws -> Result
  ) throws -> Result {
    let found = try connection.run([
      PostgresStatement.command(StorageSQL.beginReading),
      PostgresStatement(StorageSQL.state, in: space), PostgresStatement(StorageSQL.checkTables),
    ])
    let result = try body(PostgresTransaction(connection, space: space, row: found[1]))
    try connection.execute("COMMIT")
    return result
  }

  public func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result {
    try check(space)
    return try await JoinedWrite.result(space: space, of: body) { write in
      if lanes.add(write, to: space) { writers.add { self.goOn(space, $0) } }
    }
  }

  /// Returns the number of writes to a space that wait for one of this process.
  package func waitingWrites(in space: String) -> Int { lanes.count(in: space) }

  /// Commits the waiting writes of a space, and those that come until it has the space's lock. Then lets other spaces use the thread.
  private func goOn(_ space: String, _ worker: Worker) {
    let writes = lanes.take(from: space)
    if writes.isEmpty { return }
    commit(writes, in: space, worker) { self.lanes.takeMore(from: space, besides: $0) }
    writers.add { self.goOn(space, $0) }
  }

  private func commit(
    _ writes: [JoinedWrite], in space: String, _ worker: Worker,
    joining more: @escaping (Int) -> [JoinedWrite]
  ) {
    var group = GroupCommit(writes, space: space, writer: name, joining: more)
    let time = CallTime(start: writes.map(\.added).min() ?? .now)
    do {
      try worker.attempt(time) { connection in
        let number = serial.wrappingAdd(1, ordering: .relaxed).newValue
        try group.attempt(number, on: connection)
      }
    } catch  where group.writes.count > 1 && !group.isInDoubt && !(error is StorageUnavailable) {
      // The commit itself failed. Each write now has its own, so that one doesn't affect the others.
      for write in group.writes { commit([write], in: space, worker) { _ in [] } }
      return
    } catch {
      for write in group.writes { write.fail(error) }
      return
    }
    if let head = group.newHead { news.tell(space, head: head) }
    group.answer()
  }

  /// Calls `receive` with the name of each space that another process has written to. `followed` returns the relevant
  /// spaces. Their positions are looked at every `lookInterval`, to make up for lost notifications. `report` receives
  /// one sentence for a log if the database has no LISTEN and NOTIFY, and these looks are all there is, and one whenever
  /// the connection for them can't be made for some seconds.
  ///
  /// Costs one connection. Call it once.
  public func passNews(
    of followed: @escaping @Sendable () -> [String], to receive: @escaping @Sendable (String) -> Void,
    reporting report: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    news.start(NewsChannel.Listener(followed: followed, receive: receive, report: report))
  }

  /// Begins to use the replicas of the configuration for reads, as soon as each proves that it can be used. `report`
  /// receives one sentence for a log whenever that changes.
  ///
  /// Each read then gets the position of the database first, together with others, and is answered by a replica that
  /// has applied all up to there. The database answers where none has in time. Costs one connection to the database, and
  /// to each replica one more than the database has for reads and queries. That one looks at it every second.
  public func useReplicas(reporting report: @escaping @Sendable (String) -> Void = { _ in }) {
    copies?.watch(identity, reporting: report)
  }

  /// True if the database refused LISTEN or NOTIFY. Other processes' writes are then noticed within `lookInterval`.
  public var looksForNews: Bool { news.isLooking }

  /// Runs one transaction that holds the space's lock and may be repeated.
  func change(
    _ space: String, _ time: CallTime = CallTime(),
    _ statements: @escaping @Sendable () -> [PostgresStatement]
  ) async throws {
    try check(space)
    try await writers.run(time) { connection in
      _ = try connection.run(
        [
          .command(StorageSQL.beginWriting), PostgresStatement(StorageSQL.lockedState, in: space),
          PostgresStatement(StorageSQL.checkTables),
        ] + statements() + [.command("COMMIT")])
    }
  }

  /// Like `change(_:_:)`, but first reads, in one round trip. `reads` must begin with a statement that locks the
  /// space's row. `body` receives their results, and returns the statements that are committed.
  func change<Result: Sendable>(
    _ space: String, _ time: CallTime = CallTime(), after reads: [PostgresStatement],
    _ body: @escaping @Sendable (PostgresConnection, [PostgresResult]) throws -> (Result, [PostgresStatement])
  ) async throws -> Result {
    try check(space)
    return try await writers.run(time) { connection in
      let found = try connection.run(
        [.command(StorageSQL.beginWriting)] + reads + [PostgresStatement(StorageSQL.checkTables)])
      let (result, writes) = try body(connection, Array(found.dropFirst()))
      _ = try connection.run(writes + [.command("COMMIT")])
      return result
    }
  }

  /// Runs statements of which each is a transaction of its own and may be repeated.
  func update<Result: Sendable>(
    _ body: @escaping @Sendable (Worker) throws -> Result
  ) async throws -> Result {
    try await writers.withWorker(body)
  }

  /// Runs one read without a transaction of the storage's own.
  func look<Result: Sendable>(
    _ time: CallTime = CallTime(), _ body: @escaping @Sendable (PostgresConnection) throws -> Result
  ) async throws -> Result {
    try await readers.run(time, body)
  }

  /// Runs one statement that needs no lock of a space, on a connection for writes. It may be repeated.
  func act<Result: Sendable>(
    _ statement: PostgresStatement, _ body: @escaping @Sendable (PostgresResult) throws -> Result
  ) async throws -> Result {
    try await writers.run(CallTime()) { try body($0.act(statement)) }
  }

  private func check(_ space: String) throws {
    guard !space.utf8.contains(0) else {
      throw BothyError(.invalidValue, "The name of a space has no zero byte.")
    }
  }
}

extension PostgresConnection {
  /// Runs a statement that is a transaction of its own, unless the tables need a newer server.
  func act(_ statement: PostgresStatement) throws -> PostgresResult {
    try run([PostgresStatement(StorageSQL.checkTables), statement])[1]
  }
}

extension PostgresServerStorage: ReplicatedStorage {
  package var replicas: [ReplicaState] { copies?.present ?? [] }
}
