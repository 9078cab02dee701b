import BothyHTTP
import BothyStore
import Testing

/// The pause that a response requests by a date.
@Suite("Dates of a retry", .timeLimit(.minutes(5))) struct RetryAfterTests {
  private let early = "Sat, 21 Nov 2026 05:38:50 GMT"
  private let late = "Sat, 21 Nov 2026 05:38:52 GMT"

  @Test("A date that has passed requests no pause, and a coming one its distance")
  func dates() {
    #expect(RetryAfter.seconds(late, date: early) == 2)
    #expect(RetryAfter.seconds(early, date: early) == 0)
    #expect(RetryAfter.seconds(early, date: late) == 0)
    #expect(RetryAfter.milliseconds(early, date: nil, now: 1_900_000_000_000) == 0)
  }
}
