/// Whether a host is taken to be down. After some failures in a row it is left alone for a while, then one request at
/// a time tries whether it is back.
struct Circuit: Sendable {
  struct Rules: Sendable {
    /// Failures in a row after which a host counts as down, and the same when another host can stand in.
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

  /// Whether only a probe may go, now or later.
  var isDown: Bool { openUntil != nil }

  mutating func succeed() { self = Circuit() }

  /// - Parameter random: from 0 to 1. The pause is between half and all of a bound that doubles up to the limit.
  mutating func fail(_ rules: Rules, hasAlias: Bool, now: Duration, random: Double) {
    failures += 1
    isProbing = false
    guard isDown || failures >= (hasAlias ? rules.thresholdWithAlias : rules.threshold) else { return }
    // Failures of requests that were under way when the host went down add nothing.
    if let openUntil, now < openUntil { return }
    let bound = min(rules.limit, rules.first * (1 << min(trips, 20)))
    trips += 1
    openUntil = now + bound * (0.5 + 0.5 * min(max(random, 0), 1))
  }
}
