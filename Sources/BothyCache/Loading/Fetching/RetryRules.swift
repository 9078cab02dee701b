/// How often a resource is asked for before its failure is told, and how long is waited in between.
package struct RetryRules: Sendable, Hashable {
  /// Requests in all, when each comes to an error that may pass. Each host of a source is asked once at least.
  package var attempts: Int
  /// The bound of the wait before the second request. It doubles with each further one; the wait is a random part of
  /// it (full jitter).
  package var first: Duration
  /// The highest bound.
  package var limit: Duration
  /// The longest a caller waits for a host that asked to be left alone (`Retry-After`) or is taken to be down.
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

  /// One request, no waiting: for whoever has something to show meanwhile, and for proxies.
  package static let once = RetryRules(attempts: 1, patience: .zero)

  /// The wait after the given number of failures; `random` from 0 to 1.
  func delay(afterFailures failures: Int, random: Double) -> Duration {
    min(limit, first * (1 << min(max(failures - 1, 0), 20))) * min(max(random, 0), 1)
  }
}
