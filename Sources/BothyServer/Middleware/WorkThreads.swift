import Dispatch
import Foundation
import Hummingbird
import Synchronization

/// The threads that run requests. They are separate from the threads that serve connections and `/healthz`, which never
/// wait for large responses.
///
/// There is a thread for each request that may run at a time. So the long steps of one user's requests leave the
/// processors, and not the threads, to be shared with others, and the system divides those fairly.
final class WorkThreads: TaskExecutor, RouterMiddleware {
  private struct State {
    /// Serial queues without work. The last one worked most recently, so that few threads are used.
    var idle: [DispatchQueue]
    /// The jobs that found no idle queue, in the order of their arrival.
    var waiting: [UnownedJob] = []
  }

  /// The most threads, because the system has no more for queues.
  static let most = 240
  /// The threads for requests that have no slot yet.
  private static let others = 8

  private let state: Mutex<State>

  private init(count: Int) {
    // Each serial queue has a thread of its own while it works. Concurrent queues would share one for each processor.
    state = Mutex(
      State(idle: (0..<count).map { DispatchQueue(label: "bothy.requests.\($0)", qos: .utility) }))
  }

  /// - Parameter requests: the number of requests that may run at a time.
  convenience init(requests: Int) { self.init(count: min(Self.most, max(1, requests)) + Self.others) }

  /// Makes threads for files that are open to everybody: one for each processor, and four at least.
  static func forOpenFiles() -> WorkThreads {
    WorkThreads(count: max(4, ProcessInfo.processInfo.activeProcessorCount))
  }

  convenience init(_ limits: ServerConfiguration.Limits) {
    self.init(requests: limits.concurrency + limits.pushConcurrency + limits.queryConcurrency)
  }

  func handle(
    _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
  ) async throws -> Response {
    try await withTaskExecutorPreference(self) { try await next(request, context) }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let queue = state.withLock { state in
      let queue = state.idle.popLast()
      if queue == nil { state.waiting.append(job) }
      return queue
    }
    queue?.async { self.run(job, on: queue) }
  }

  /// Runs a job and those that wait, and returns the queue.
  private func run(_ first: UnownedJob, on queue: DispatchQueue?) {
    var next: UnownedJob? = first
    while let job = next {
      job.runSynchronously(on: asUnownedTaskExecutor())
      next = state.withLock { state in
        if !state.waiting.isEmpty { return state.waiting.removeFirst() }
        if let queue { state.idle.append(queue) }
        return nil
      }
    }
  }
}
