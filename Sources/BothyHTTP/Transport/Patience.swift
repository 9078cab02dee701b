/// How long a busy server is waited for: an answer 503 or 429 that says when to come again is followed by the same
/// request at that time, a few times, before it counts as throttled.
///
/// Without `Retry-After` nothing is sent again: when to try is then for the sync engine's back-off to say.
public struct Patience: Sendable {
  /// How often a request is sent again.
  public var retries: Int
  /// A server that asks for more time than this is not waited for.
  public var longestWait: Duration
  /// What waits are slept on; a test gives one that it moves itself.
  public var clock: any Clock<Duration>

  /// Three times, a minute at most each time, unless told otherwise; `retries: 0` waits for no server.
  public init(
    retries: Int = 3, longestWait: Duration = .seconds(60), clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.retries = retries
    self.longestWait = longestWait
    self.clock = clock
  }
}
