import BothyStore
import BothySyncService
import Foundation

/// Threads that each have one connection and run one job after another, because libpq blocks while it waits.
final class WorkerPool: @unchecked Sendable {
  typealias Job = @Sendable (Worker) -> Void

  private let settings: SessionSettings
  private let limit: Int
  /// Guards the properties below. Signaled for each job and when the pool closes.
  private let condition = NSCondition()
  private var jobs: [Job] = []
  private var idle = 0
  private var started = 0
  private var isClosed = false

  init(_ settings: SessionSettings, limit: Int) {
    self.settings = settings
    self.limit = limit
  }

  /// Adds a job, which runs after earlier ones. A closed pool still runs the jobs that were added before.
  func add(_ job: @escaping Job) {
    condition.lock()
    defer { condition.unlock() }
    jobs.append(job)
    if idle == 0 && started < limit {
      started += 1
      let thread = Thread { [self] in work() }
      thread.name = "bothy postgres"
      thread.stackSize = 4 << 20
      thread.start()
    }
    condition.signal()
  }

  /// Adds a job and waits for its result.
  func run<Result: Sendable>(_ body: @escaping @Sendable (Worker) throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      add { worker in continuation.resume(with: Swift.Result { try body(worker) }) }
    }
  }

  /// Ends the threads after their jobs.
  func close() {
    condition.lock()
    isClosed = true
    condition.broadcast()
    condition.unlock()
  }

  private func work() {
    let worker = Worker(settings)
    while let job = next() { job(worker) }
  }

  private func next() -> Job? {
    condition.lock()
    defer { condition.unlock() }
    while jobs.isEmpty {
      if isClosed {
        started -= 1
        return nil
      }
      idle += 1
      condition.wait()
      idle -= 1
    }
    return jobs.removeFirst()
  }
}

/// The settings of every session of a storage.
struct SessionSettings: Sendable {
  let address: String
  let schema: String
  /// The longest time one call may take, with all repetitions, before the database counts as unavailable.
  let patience: Duration
  /// Receives the SQL of each statement, for tests.
  let trace: (@Sendable (String) -> Void)?

  /// Opens a session. A transaction that is idle for ten seconds is ended, so that a stopped process can't keep a space
  /// locked.
  func open() throws(PostgresFailure) -> PostgresConnection {
    let connection = try PostgresConnection(to: address, trace: trace)
    try connection.execute(
      """
      SET search_path TO \(schema.quotedIdentifier); SET statement_timeout TO '60s'; SET lock_timeout TO '20s';
      SET idle_in_transaction_session_timeout TO '10s'
      """)
    return connection
  }
}

/// One thread's connection, made on demand and remade when it is lost.
final class Worker {
  private let settings: SessionSettings
  private var connection: PostgresConnection?

  init(_ settings: SessionSettings) { self.settings = settings }

  /// Runs `body` until it succeeds, fails permanently, or the time is over. Uses a new connection if the old one is
  /// lost. `body` must restart each time, and leave no effect when it throws.
  ///
  /// Throws `LedgerUnavailable` if the time is over, `BothyError` if PostgreSQL refuses a statement, and errors of
  /// `body`.
  func attempt<Result>(
    patiently: Bool = true, _ body: (PostgresConnection) throws -> Result
  ) throws -> Result {
    let start = ContinuousClock.now
    var backoff = Backoff()
    while true {
      do {
        let connection = try usable()
        defer { cleanUp(connection) }
        return try body(connection)
      } catch let failure as PostgresFailure {
        if failure.remedy == .none { throw failure.storeError }
        if failure.remedy == .reconnect { connection = nil }
        let wait = backoff.next()
        guard patiently, ContinuousClock.now - start + wait < settings.patience else {
          throw failure.unavailability
        }
        Thread.sleep(forTimeInterval: wait / .seconds(1))
      }
    }
  }

  private func usable() throws(PostgresFailure) -> PostgresConnection {
    if let connection { return connection }
    let new = try settings.open()
    connection = new
    return new
  }

  /// Rolls back an open transaction, so that none outlives its attempt.
  private func cleanUp(_ connection: PostgresConnection) {
    guard connection.isInTransaction else { return }
    do { try connection.execute("ROLLBACK") } catch { self.connection = nil }
  }
}

/// Waits that double, each reduced at random to a part of its length ("full jitter", Marc Brooker, "Exponential Backoff
/// And Jitter", 2015).
struct Backoff {
  private var bound = Duration.milliseconds(20)
  private let cap = Duration.seconds(1)

  mutating func next() -> Duration {
    defer { bound = min(bound * 2, cap) }
    return bound * Double.random(in: 0...1)
  }
}
