import BothySync
import BothyTesting
import Testing

@Suite("Backoff", .timeLimit(.minutes(5)))
struct BackoffTests {
  private func backoff(_ random: Double) -> Backoff {
    Backoff(first: .seconds(1), limit: .seconds(300), random: { random })
  }

  @Test("The bound doubles with each attempt up to the limit")
  func bound() {
    let backoff = backoff(1)
    let seconds = (1...12).map { backoff.delay(attempt: $0) / .seconds(1) }
    #expect(seconds == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
    #expect(backoff.delay(attempt: 1000) == .seconds(300))
    #expect(backoff.delay(attempt: 0) == .seconds(1))
  }

  @Test("The wait is a random part of the bound, never less than a tenth")
  func jitter() {
    #expect(abs(backoff(0.5).delay(attempt: 3) / .milliseconds(2200) - 1) < 1e-9)
    #expect(backoff(0).delay(attempt: 1) == .milliseconds(100))
    var random = SeededGenerator(seed: 7)
    for attempt in 1...20 {
      let drawn = Double.random(in: 0..<1, using: &random)
      let delay = backoff(drawn).delay(attempt: attempt)
      let bound = backoff(1).delay(attempt: attempt)
      #expect(delay <= bound && delay >= bound * 0.1, "seed 7, attempt \(attempt)")
    }
  }

  @Test("Waits differ for all random numbers, so devices don't return together")
  func spread() {
    let waits = (0..<100).map { backoff(Double($0) / 100).delay(attempt: 1) }
    #expect(Set(waits).count == 100)
  }

  @Test("A postponed attempt is never due at the same moment")
  func atLeastAMillisecond() {
    let backoff = Backoff(first: .nanoseconds(1), limit: .nanoseconds(1), random: { 0 })
    #expect(backoff.milliseconds(attempt: 1) == 1)
  }
}
