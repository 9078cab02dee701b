import Dispatch

/// The threads that run requests. They are separate from the threads that serve connections and `/healthz`, which never
/// wait for large responses. The system has about as many threads as processors.
final class WorkThreads: TaskExecutor {
  private let queue = DispatchQueue(label: "bothy.requests", qos: .utility, attributes: .concurrent)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
