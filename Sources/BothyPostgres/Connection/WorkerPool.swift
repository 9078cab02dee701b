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
    if WorkerDemand.startsThread(waiting: jobs.count, idle: idle, started: started, limit: limit) {
      started += 1
      let thread = Thread { [self] in work() }
      thread.name = "bothy postgres"
      thread.stackSize = 4 << 20
      thread.start()
    }
    condition.signal()
  }

  /// Adds a job that attempts `body`, and waits for its result. Its time begins now, also while it waits for a thread.
  /// See `Worker.attempt` for its errors.
  func run<Result: Sendable>(
    _ time: CallTime = CallTime(), _ body: @escaping @Sendable (PostgresConnection) throws -> Result
  ) async throws -> Result {
    try await withWorker { try $0.attempt(time, body) }
  }

  /// Adds a job and waits for its result.
  func withWorker<Result: Sendable>(
    _ body: @escaping @Sendable (Worker) throws -> Result
  ) async throws -> Result {
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
