/// The decision about another thread for a job of a pool. Pure.
package enum WorkerDemand {
  /// Returns true if the waiting jobs are more than the idle threads, and the pool may have more threads.
  ///
  /// A thread counts as idle until it has taken a job. An idle thread may have been woken for an earlier job, and this
  /// job then waits until that one ends.
  package static func startsThread(waiting jobs: Int, idle: Int, started: Int, limit: Int) -> Bool {
    jobs > idle && started < limit
  }
}
