import Dispatch

/// The threads that requests are worked on: apart from those on which connections are served and `/healthz` is answered,
/// which never wait for large answers that are being made. The system has about as many as processors.
final class WorkThreads: TaskExecutor {
  private let queue = DispatchQueue(label: "bothy.requests", qos: .utility, attributes: .concurrent)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
