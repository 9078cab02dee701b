import BothyStore
import BothyTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct TimestampTests {
  @Test("Text and times convert like Foundation's from year 1 to 9999", arguments: 0..<10)
  func foundation(seed: UInt64) throws {
    var random = SeededChoices(seed: seed)
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    for _ in 0..<300 {
      // Foundation's calendar is Julian before 1582-10-15, so fields are compared from that date on.
      let milliseconds = Int64.random(in: -62_135_596_800_000..<253_402_300_800_000, using: &random)
      let time = Timestamp(milliseconds: milliseconds)
      #expect(Timestamp(rfc3339: time.rfc3339) == time, "seed \(seed): \(time.rfc3339)")
      #expect(Timestamp(time.date) == time, "seed \(seed)")
      if milliseconds < -12_219_292_800_000 { continue }
      let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: time.date)
      let text = String(
        format: "%04d-%02d-%02dT%02d:%02d:%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0,
        parts.hour ?? 0,
        parts.minute ?? 0, parts.second ?? 0)
      #expect(time.rfc3339.hasPrefix(text), "seed \(seed): \(milliseconds)")
    }
  }

  @Test("Known moments have their known text")
  func known() {
    let table: [(String, Int64)] = [
      ("1970-01-01", 0), ("1969-12-31T23:59:59.999Z", -1), ("0001-01-01T00:00:00Z", -62_135_596_800_000),
      ("9999-12-31T23:59:59.999Z", 253_402_300_799_999), ("2000-02-29T12:00:00+02:00", 951_818_400_000),
      ("2026-12-01t08:30:00z", 1_796_113_800_000), ("2026-12-01 08:30:00", 1_796_113_800_000),
      ("2026-12-01T08:30:00.5Z", 1_796_113_800_500), ("2026-12-01T08:30:00.123456789Z", 1_796_113_800_123),
    ]
    for (text, milliseconds) in table {
      #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds, "\(text)")
    }
    #expect(Timestamp(milliseconds: -1).rfc3339 == "1969-12-31T23:59:59.999Z")
    #expect(Timestamp(milliseconds: -62_135_596_800_000).rfc3339 == "0001-01-01T00:00:00.000Z")
  }

  @Test(
    "Text that isn't a date is refused",
    arguments: [
      "", "2026", "2026-1-1", "2026-02-29", "2100-02-29", "2026-13-01", "2026-00-01", "2026-01-00",
      "2026-04-31",
      "2026-12-01T24:00:00Z", "2026-12-01T08:60:00Z", "2026-12-01T08:30:61Z", "2026-12-01T08:30:00.Z",
      "2026-12-01T08:30:00+2", "2026-12-01T08:30:00Zx", "2026-12-01T", "２026-12-01", "-2026-12-01",
      "2026-12-01 ",
    ])
  func refused(text: String) { #expect(Timestamp(rfc3339: text) == nil) }

  @Test("The extremes of 64 bits do not trap")
  func extremes() {
    for milliseconds: Int64 in [.min, .max, .min + 1] { _ = Timestamp(milliseconds: milliseconds).rfc3339 }
    #expect(Timestamp(Date(timeIntervalSince1970: 1e300)).milliseconds == .max)
    #expect(Timestamp(Date(timeIntervalSince1970: -.infinity)).milliseconds == .min)
  }
}
