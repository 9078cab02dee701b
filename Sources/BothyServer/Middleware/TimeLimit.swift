/// Returns the result of `body`, or throws `late` when the time is over. `body` is cancelled then, and awaited.
func within<Result: Sendable>(
  _ limit: Duration, by clock: any Clock<Duration> = ContinuousClock(), orThrow late: any Error,
  _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  try await withThrowingTaskGroup(of: Result.self) { tasks in
    tasks.addTask(operation: body)
    tasks.addTask {
      try await clock.sleep(for: limit)
      throw late
    }
    defer { tasks.cancelAll() }
    guard let first = try await tasks.next() else { throw late }
    return first
  }
}
