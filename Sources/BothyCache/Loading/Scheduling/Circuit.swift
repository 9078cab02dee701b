/// A circuit breaker, which decides if a host counts as down.
///
/// After some failures in a row the host receives no requests for a while. Then one request at a time probes it.
struct Circuit: Sendable {
  struct Rules: Sendable {
    /// Failures in a row after which a host counts as down. `thresholdWithAlias` applies if another host can replace
    /// it.
    var threshold = 5
    var thresholdWithAlias = 1
    var first: Duration = .seconds(1)
    var limit: Duration = .seconds(60)

    init() {}
  }

  private(set) var failures = 0
  private var trips = 0
  private(set) var openUntil: Duration?
  var isProbing = false

  /// True if only a probe may be sent, now or later.
  var isDown: Bool { openUntil != nil }

  mutating func succeed() { self = Circuit() }

  /// Records a failure. The pause is between half of a bound and all of it. The bound doubles up to the limit.
  /// - Parameter random: a number from 0 to 1.
  mutating func fail(_ rules: Rules, hasAlias: Bool, now: Duration, random: Double) {
    failures += 1
    isProbing = false
    guard isDown || failures >= (hasAlias ? rules.thresholdWithAlias : rules.threshold) else { return }
    // Failures of requests that were running when the host became unavailable do not count.
    if let openUntil, now < openUntil { return }
    let bound = min(rules.limit, rules.first * (1 << min(trips, 20)))
    trips += 1
    openUntil = now + bound * (0.5 + 0.5 * min(max(random, 0), 1))
  }
}
