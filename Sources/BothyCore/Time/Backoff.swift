import Synchronization

/// How long to wait before trying again: a random time between a tenth of a bound and the whole of it; the bound doubles
/// with each attempt up to a limit (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog).
public struct Backoff: Sendable {
  /// The bound for the first retry.
  public var first: Duration
  /// The bound that no wait exceeds.
  public var limit: Duration
  /// A random number from 0 up to, not including, 1.
  public var random: @Sendable () -> Double

  /// One second at first and a minute at most, unless told otherwise: a server that is back has everything within a
  /// minute. A server that needs longer says so with Retry-After.
  public init(
    first: Duration = .seconds(1), limit: Duration = .seconds(60),
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) {
    self.first = first
    self.limit = limit
    self.random = random
  }

  /// The wait before the retry after `attempt` failures, spread evenly from a tenth of its bound on: no two devices
  /// of many that lost their server at the same moment come back together.
  public func delay(attempt: Int) -> Duration {
    let bound = min(limit, first * (1 << min(max(attempt - 1, 0), 30)))
    return bound * (0.1 + 0.9 * random())
  }

  /// The same in whole milliseconds, at least one: what is put off is never due at the same moment.
  package func milliseconds(attempt: Int) -> Int64 {
    let delay = delay(attempt: attempt).components
    return max(1, delay.seconds * 1000 + delay.attoseconds / 1_000_000_000_000_000)
  }
}
