/// The limits for waiting for a busy server.
///
/// After a 503 or 429 with `Retry-After`, the request is repeated at that time. After a few repetitions it counts as
/// throttled. Without `Retry-After` it isn't repeated, and the sync engine's back-off decides on the next attempt.
public struct RetryAfterPolicy: Sendable {
  /// The number of repetitions of a request.
  public var retries: Int
  /// The longest pause to wait for. If the server requests a longer one, the request isn't repeated.
  public var longestWait: Duration
  /// The clock for waiting. A test passes a clock that it moves itself.
  public var clock: any Clock<Duration>

  /// Creates limits. The default is three repetitions with pauses of a minute at most. `retries: 0` never waits.
  public init(
    retries: Int = 3, longestWait: Duration = .seconds(60), clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.retries = retries
    self.longestWait = longestWait
    self.clock = clock
  }
}
