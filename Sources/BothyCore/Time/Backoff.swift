import Synchronization

/// The waits between retries: random times between a tenth of a bound and the bound.
///
/// The bound doubles with each attempt up to a limit (Brooker, "Exponential Backoff And Jitter", AWS Architecture
/// Blog).
package struct Backoff: Sendable {
  /// The bound for the first retry.
  package var first: Duration
  /// The greatest bound.
  package var limit: Duration
  /// A random number from 0 up to but not including 1.
  package var random: @Sendable () -> Double

  /// Creates a back-off. By default the bound is one second at first and a minute at most, so a server that is back
  /// receives everything within a minute. A server that needs longer sends Retry-After.
  package init(
    first: Duration = .seconds(1), limit: Duration = .seconds(60),
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) {
    self.first = first
    self.limit = limit
    self.random = random
  }

  /// Returns the wait before the retry after `attempt` failures, a random time between a tenth of its bound and the
  /// bound. Devices that lost their server at the same moment thus return at different times.
  package func delay(attempt: Int) -> Duration {
    let bound = min(limit, first * (1 << min(max(attempt - 1, 0), 30)))
    return bound * (0.1 + 0.9 * random())
  }

  /// Like `delay(attempt:)`, but in whole milliseconds and at least one, so that no retry is due at the moment of its
  /// failure.
  package func milliseconds(attempt: Int) -> Int64 {
    let delay = delay(attempt: attempt).components
    return max(1, delay.seconds * 1000 + delay.attoseconds / 1_000_000_000_000_000)
  }
}
