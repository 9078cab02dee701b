import BothyStore
import BothySyncService
import Foundation

/// Threads that each hold one connection and do one job after another: libpq waits for answers by blocking.
final class WorkerPool: @unchecked Sendable {
  typealias Job = @Sendable (Worker) -> Void

  private let settings: SessionSettings
  private let limit: Int
  /// Guards all below; signalled for each job and when the pool closes.
  private let condition = NSCondition()
  private var jobs: [Job] = []
  private var idle = 0
  private var started = 0
  private var isClosed = false

  init(_ settings: SessionSettings, limit: Int) {
    self.settings = settings
    self.limit = limit
  }

  /// Adds a job; those before it are done first. A closed pool does what was added before it closed.
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

  /// Adds a job and waits for what it gives.
  func run<Result: Sendable>(_ body: @escaping @Sendable (Worker) throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      add { worker in continuation.resume(with: Swift.Result { try body(worker) }) }
    }
  }

  /// Lets the threads end when their jobs are done.
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

/// What every session of a ledger begins with.
struct SessionSettings: Sendable {
  let address: String
  let schema: String
  /// How long one call may take, with all its repetitions, before it is answered that the database is not there.
  let patience: Duration
  /// Sees the SQL of each statement, for tests.
  let trace: (@Sendable (String) -> Void)?

  /// Opens a session. Whoever stops in the middle of a transaction loses it after ten seconds, so that no process can
  /// keep a space locked.
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

/// One thread's connection, made when it is needed and made again when it is lost.
final class Worker {
  private let settings: SessionSettings
  private var connection: PostgresConnection?

  init(_ settings: SessionSettings) { self.settings = settings }

  /// Runs `body` until it succeeds, fails for good, or patience is at an end; with a new connection where the old one
  /// is lost. `body` must begin anew each time, and leave nothing behind when it throws.
  ///
  /// Throws `LedgerUnavailable` when it could not be done in time, `StoreError` for what PostgreSQL refuses, and what
  /// `body` throws.
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

  /// No transaction outlives its attempt.
  private func cleanUp(_ connection: PostgresConnection) {
    guard connection.isInTransaction else { return }
    do { try connection.execute("ROLLBACK") } catch { self.connection = nil }
  }
}

/// Waits that double, each cut by chance between nothing and its whole ("full jitter", Marc Brooker, "Exponential Backoff
/// And Jitter", 2015).
struct Backoff {
  private var bound = Duration.milliseconds(20)
  private let cap = Duration.seconds(1)

  mutating func next() -> Duration {
    defer { bound = min(bound * 2, cap) }
    return bound * Double.random(in: 0...1)
  }
}
