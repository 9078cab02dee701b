/// A limit of requests over time that allows bursts: tokens come at a rate, up to a number, and each request takes one.
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

  /// When the next token is there; now if there is one already.
  func next(_ now: Duration) -> Duration {
    let present = level(now)
    return present >= 1 ? now : now + .seconds(min((1 - present) / rate, 1e9))
  }

  mutating func take(_ now: Duration) {
    tokens = level(now) - 1
    filledAt = max(filledAt, now)
  }

  // A token that is there but for rounding is there.
  private func level(_ now: Duration) -> Double {
    min(burst, tokens + max(0, (now - filledAt) / .seconds(1)) * rate + 1e-6)
  }
}
