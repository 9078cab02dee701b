/// The limits for waiting for a busy server.
///
/// After a 503 or 429 with `Retry-After`, the request is repeated at that time. After a few repetitions it
/// counts as throttled. Without `Retry-After` it isn't repeated, and the sync engine's back-off decides on the
/// next attempt. The call that waits stays suspended. A cancelled task stops waiting at once.
///
/// ```swift
/// let remote = BothyRemote(
///   url: "https://bothy.example.org", space: "home", patience: RetryAfterPolicy(retries: 0))
/// ```
public struct RetryAfterPolicy: Sendable {
  /// The number of repetitions of a request. 0 and negative numbers repeat none, so a busy server is reported
  /// at once.
  public var retries: Int
  /// The longest pause to wait for, before each repetition. If the server requests a longer one, the request
  /// isn't repeated. The response then counts as throttled.
  public var longestWait: Duration
  /// The clock for waiting. A test passes a clock that it moves itself, so that no time passes.
  public var clock: any Clock<Duration>

  /// Creates limits. The default is three repetitions with pauses of a minute at most. `retries: 0` never
  /// waits.
  ///
  /// With the default a call waits for at most three minutes in all, besides the time of its requests.
  public init(
    retries: Int = 3, longestWait: Duration = .seconds(60), clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.retries = retries
    self.longestWait = longestWait
    self.clock = clock
  }
}
