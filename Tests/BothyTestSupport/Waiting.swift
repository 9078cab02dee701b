import Foundation

/// The error of a wait that took too long.
package struct TimedOut: Error {
  package init() {}
}

/// The limits of a wait, which is too long when both are reached.
///
/// On a busy machine the threads of tasks may all be taken for a long time. Neither the wait nor the task that it waits
/// for has a turn then.
private enum Limit {
  static let time = Duration.seconds(100)
  static let turns = 100_000
}

/// Yields until `condition` holds because of another task. Throws `TimedOut` after 100 seconds and 100,000 turns, and
/// after 100 seconds in a cancelled task.
package func until(
  isolation: isolated (any Actor)? = #isolation, _ condition: () throws -> Bool
) async throws {
  let end = ContinuousClock.now + Limit.time
  var turns = 0
  while try !condition() {
    let hasTurnsLeft = turns < Limit.turns && !Task.isCancelled
    guard hasTurnsLeft || ContinuousClock.now < end else { throw TimedOut() }
    turns += 1
    await Task.yield()
  }
}

/// Runs `body`, or throws `TimedOut` after 100 seconds and then 100,000 turns. For work that depends on another thread or
/// process.
package func withDeadline<Result: Sendable>(
  _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  try await withThrowingTaskGroup(of: Result.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await ContinuousClock().sleep(for: Limit.time)
      for _ in 0..<Limit.turns where !Task.isCancelled { await Task.yield() }
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
