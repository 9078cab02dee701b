/// The number of attempts to load a resource before it fails, and the waits between them.
package struct RetryRules: Sendable, Hashable {
  /// The total of requests, if each ends in a temporary error. Each host of a source is tried at least once.
  package var attempts: Int
  /// The bound of the wait before the second request. It doubles with each further request.
  ///
  /// The wait is a random part of the bound (full jitter).
  package var first: Duration
  /// The highest bound.
  package var limit: Duration
  /// The longest time that a caller waits for a host that requested a pause (`Retry-After`) or counts as down.
  package var patience: Duration

  package init(
    attempts: Int = 3, first: Duration = .milliseconds(500), limit: Duration = .seconds(30),
    patience: Duration = .seconds(10)
  ) {
    self.attempts = max(1, attempts)
    self.first = first
    self.limit = limit
    self.patience = patience
  }

  /// One request and no waiting, for callers that can show something else, and for proxies.
  package static let once = RetryRules(attempts: 1, patience: .zero)

  /// Returns the wait after the given number of failures. `random` is from 0 to 1.
  func delay(afterFailures failures: Int, random: Double) -> Duration {
    min(limit, first * (1 << min(max(failures - 1, 0), 20))) * min(max(random, 0), 1)
  }
}
