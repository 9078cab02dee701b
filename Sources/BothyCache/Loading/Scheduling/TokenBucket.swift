/// A limit of requests over time that allows bursts (a token bucket).
///
/// Tokens come at a rate, up to a number, and each request takes one.
struct TokenBucket: Sendable {
  private var rate: Double
  private var burst: Double
  private var tokens: Double
  private var filledAt: Duration

  init(rate: Double, burst: Int, now: Duration) {
    self.rate = rate
    self.burst = Double(burst)
    tokens = Double(burst)
    filledAt = now
  }

  /// Applies another rate and burst from now on. The tokens that are there stay, up to the new burst.
  mutating func change(rate: Double, burst: Int, _ now: Duration) {
    guard rate != self.rate || Double(burst) != self.burst else { return }
    tokens = min(level(now), Double(burst))
    filledAt = max(filledAt, now)
    (self.rate, self.burst) = (rate, Double(burst))
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
