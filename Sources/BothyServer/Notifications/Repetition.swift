import ServiceLifecycle

/// Repeats work, each time after a wait, until the server shuts down or the task is cancelled. Rethrows other errors of
/// the work.
func repeating(
  after wait: @escaping @Sendable () -> Duration, _ work: @escaping @Sendable () async throws -> Void
) async throws {
  try await cancelWhenGracefulShutdown {
    do {
      while true {
        try await Task.sleep(for: wait())
        try await work()
      }
    } catch is CancellationError {
      // The server stops, and this task with it.
    }
  }
}
