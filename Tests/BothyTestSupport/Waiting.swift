import Foundation

/// The error of a wait that took too long.
package struct TimedOut: Error {
  package init() {}
}

/// Yields until `condition` holds because of another task. Throws `TimedOut` after 100 seconds.
package func until(
  isolation: isolated (any Actor)? = #isolation, _ condition: () throws -> Bool
) async throws {
  let end = ContinuousClock.now + .seconds(100)
  while try !condition() {
    guard ContinuousClock.now < end else { throw TimedOut() }
    await Task.yield()
  }
}

/// Runs `body`, or throws `TimedOut` after 100 seconds. For work that depends on another thread or process.
package func withDeadline<Result: Sendable>(
  _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  try await withThrowingTaskGroup(of: Result.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await ContinuousClock().sleep(for: .seconds(100))
      throw TimedOut()
    }
    defer { group.cancelAll() }
    guard let first = try await group.next() else { throw TimedOut() }
    return first
  }
}

/// Does nothing until its task is cancelled, and then throws `CancellationError`.
package func hang() async throws -> Never {
  let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
  for await _ in stream {}
  withExtendedLifetime(continuation) {}
  throw CancellationError()
}

/// Returns the processor time that the body takes on its thread, whatever else the machine does.
package func processorTime(_ body: () throws -> Void) rethrows -> Duration {
  func now() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
  let start = now()
  try body()
  return now() - start
}
