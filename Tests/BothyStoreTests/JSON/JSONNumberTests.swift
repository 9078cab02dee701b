import BothyStore
import Testing

@Suite("Numbers of JSON", .timeLimit(.minutes(5)))
struct JSONNumberTests {
  private func read(_ text: String) throws -> JSONReader.Number {
    try JSONReader.read(text) { try $0.number() }
  }

  @Test("A decimal is read as the nearest Double, however many digits it has")
  func decimals() throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let whole = UInt64.random(
        in: 0...UInt64(1) << UInt64.random(in: 0...63, using: &generator), using: &generator)
      let places = (0..<Int.random(in: 1...26, using: &generator)).map { _ in
        String(Int.random(in: 0...9, using: &generator))
      }
      let sign = Bool.random(using: &generator) ? "-" : ""
      let text = "\(sign)\(whole).\(places.joined())"
      #expect(try read(text) == .double(try #require(Double(text))), "\(text)")
    }
    for text in ["-0.0", "0.1", "-80.518694", "9007199254740993.0", "1e22", "1.5e-7", "5e-324"] {
      #expect(try read(text) == .double(try #require(Double(text))))
    }
    #expect(try read("-9223372036854775808") == .int(.min))
    #expect(try read("9223372036854775808") == .double(0x1p63))
  }

  @Test("A number too large for a Double can be skipped but not read")
  func beyond() throws {
    try JSONReader.read("[1e400, -1e999999999999999999999, 2]") { try $0.skip() }
    #expect(throws: JSONError.self) { try read("1e400") }
    for text in ["[01]", "[1.]", "[.5]", "[1e]", "[-]", "[+1]"] {
      #expect(throws: JSONError.self) { try JSONReader.read(text) { try $0.skip() } }
    }
  }
}
