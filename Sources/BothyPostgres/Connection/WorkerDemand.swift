/// The decision if a pool starts another thread for a job. Pure.
package enum WorkerDemand {
  /// Returns true if the waiting jobs are more than the idle threads, and the pool may have more threads.
  ///
  /// A thread counts as idle until it has taken a job. So one that was woken for an earlier job is no thread for this
  /// one, which would wait until that job ends.
  package static func startsThread(waiting jobs: Int, idle: Int, started: Int, limit: Int) -> Bool {
    jobs > idle && started < limit
  }
}
