import BothyCache
import BothyCore
import BothyTesting
import Testing

@Suite("Dates in HTTP fields", .timeLimit(.minutes(5)))
struct HTTPDateTests {
  private func read(_ text: String) -> Int64? { HTTPDate.milliseconds(text, now: At.start) }

  @Test(
    "The three forms of the standard mean one time",
    arguments: [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
  func forms(text: String) {
    #expect(read(text) == 784_111_777_000)
  }

  @Test(
    "Names may be in any case, and a wrong weekday is ignored",
    arguments: [
      "THU, 18 Aug 2050 02:01:18 GMT", "Thu, 18 AUG 2050 02:01:18 GMT", "Thu, 18 Aug 2050 02:01:18 gMT",
      "Mon, 18 Aug 2050 02:01:18 GMT", "Thursday, 18-Aug-50 02:01:18 GMT", "Thu Aug 18 02:01:18 2050",
    ])
  func lenient(text: String) {
    #expect(read(text) == 2_544_400_878_000)
  }

  @Test(
    "A text outside the grammar is rejected",
    arguments: [
      "", "0", "-1", "Thu, 18 Aug 2050 02:01:18 UTC", "Thu, 18 Aug 2050 02:01:18 AEST",
      "Thu, 18 Aug 2050 02:01:18",
      "Thu, 18 Aug 50 02:01:18 GMT", "Thu 18 Aug 2050 02:01:18 GMT", "Thu, 18  Aug  2050 02:01:18 GMT",
      "Thu, 18-Aug-2050 02:01:18 GMT", "Thu, 18 Aug 2050 02.01.18 GMT", "Thu, 18 Aug 2050 2:01:18 GMT",
      "Thu, 18 Aug 2050 24:01:18 GMT", "Thu, 31 Feb 2050 02:01:18 GMT", "Thu, 00 Aug 2050 02:01:18 GMT",
      "Thu, 18 Aug 2050 02:01:18 GMT ", " Thu, 18 Aug 2050 02:01:18 GMT", "Xyz, 18 Aug 2050 02:01:18 GMT",
      "Thu, 18 Aug 2050 02:01:61 GMT", "Thu, 29 Feb 2100 00:00:00 GMT", "2050-08-18T02:01:18Z",
      "Thu, 18 Äug 2050 02:01:18 GMT", "Thu Aug 8 02:01:18 2050",
    ])
  func refused(text: String) {
    #expect(read(text) == nil)
  }

  @Test("A year of two digits is never more than fifty years ahead")
  func centuries() {
    #expect(
      read("Friday, 01-Jan-76 00:00:00 GMT") == HTTPDate.milliseconds("Wed, 01 Jan 2076 00:00:00 GMT", now: 0)
    )
    #expect(
      read("Friday, 01-Jan-77 00:00:00 GMT") == HTTPDate.milliseconds("Sat, 01 Jan 1977 00:00:00 GMT", now: 0)
    )
  }

  @Test(
    "A written date is read as an equal second, from year 0 to 9999", arguments: [2026, 77, 4711])
  func roundTrip(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<2000 {
      let moment = Int64.random(in: -62_167_219_200...253_402_300_799, using: &random) * 1000
      let text = HTTPDate.text(moment)
      #expect(read(text) == moment, "\(text), seed \(seed)")
    }
    #expect(HTTPDate.text(784_111_777_999) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(HTTPDate.text(-1) == "Wed, 31 Dec 1969 23:59:59 GMT")
  }

  @Test("The reader never stops the program, whatever the bytes are", arguments: [1, 2])
  func noise(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let model = Array("Sun, 06 Nov 1994 08:49:37 GMT".utf8)
    for _ in 0..<5000 {
      var bytes = Array(model.prefix(Int.random(in: 0...model.count, using: &random)))
      for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
        bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      let text = String(decoding: bytes, as: UTF8.self)
      if let moment = read(text) { #expect(read(HTTPDate.text(moment)) == moment, "\(text), seed \(seed)") }
    }
  }
}
