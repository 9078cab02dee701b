/// A limit of requests over time that allows bursts (a token bucket).
///
/// Tokens come at a rate, up to a number, and each request takes one.
struct TokenBucket: Sendable {
  private let rate: Double
  private let burst: Double
  private var tokens: Double
  private var filledAt: Duration

  init(rate: Double, burst: Int, now: Duration) {
    self.rate = rate
    self.burst = Double(burst)
    tokens = Double(burst)
    filledAt = now
  }

  /// Returns the time of the next available token, which is now if one is available.
  func next(_ now: Duration) -> Duration {
    let present = level(now)
    return present >= 1 ? now : now + .seconds(min((1 - present) / rate, 1e9))
  }

  mutating func take(_ now: Duration) {
    tokens = level(now) - 1
    filledAt = max(filledAt, now)
  }

  // The small addend prevents that rounding hides an available token.
  private func level(_ now: Duration) -> Double {
    min(burst, tokens + max(0, (now - filledAt) / .seconds(1)) * rate + 1e-6)
  }
}
