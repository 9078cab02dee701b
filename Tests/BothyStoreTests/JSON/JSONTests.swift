import BothyStore
import BothyTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct JSONTests {
  @Test(
    "Valid JSON of RFC 8259 is read",
    arguments: [
      ("null", "null"), (" [ ] ", "[]"), ("{}", "{}"), ("\t[1,\r\n2]\n", "[1,2]"), ("-0", "0"), ("0", "0"),
      ("-1", "-1"), ("1.5e3", "1500"), ("1E+2", "100"), ("1e-2", "0.01"), ("0.10", "0.1"), ("-0.0", "0"),
      ("9223372036854775807", "9223372036854775807"), ("-9223372036854775808", "-9223372036854775808"),
      ("\"\"", "\"\""), ("\"\\u0041\\n\\/\"", "\"A\\n/\""), ("\"\\ud83d\\ude00\"", "\"😀\""),
      ("\"\\uDBFF\\uDFFF\"", "\"\u{10FFFF}\""), ("\"\\u0000\"", "\"\\u0000\""), ("\"\u{7F}\"", "\"\u{7F}\""),
      ("\"é\u{2028}\"", "\"é\u{2028}\""), ("{\"b\":1,\"a\":[true,false]}", "{\"a\":[true,false],\"b\":1}"),
      ("{\"a\":1,\"a\":2}", "{\"a\":2}"), ("\"\\b\\f\\r\\t\\\"\\\\\"", "\"\\u0008\\u000c\\r\\t\\\"\\\\\""),
    ])
  func accepted(text: String, canonical: String) throws {
    #expect(try JSONValue(parsing: text).canonicalText == canonical)
  }

  @Test(
    "Text that RFC 8259 forbids is refused",
    arguments: [
      "", " ", "nul", "nulll", "True", "[", "]", "[1", "[1,]", "[,1]", "[1 2]", "{", "{\"a\"}", "{\"a\":}",
      "{a:1}",
      "{\"a\":1,}", "{\"a\":1 \"b\":2}", "01", "-", "-01", "+1", ".5", "1.", "1.e1", "1e", "1e+", "0x1",
      "1e999", "NaN",
      "Infinity", "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12G4\"", "\"\\ud800\"", "\"\\udc00\"",
      "\"\\ud800\\u0041\"", "\"\\ud800x\"", "\"\n\"", "\"\u{0}\"", "1 2", "'a'", "[1]]", "// x\n1",
      "\u{FEFF}1",
      "\"\\u\u{FF11}\u{FF11}\u{FF11}\u{FF11}\"",
    ])
  func refused(text: String) {
    #expect(throws: JSONError.self, "\(text)") { try JSONValue(parsing: text) }
  }

  @Test("Bytes that are not UTF-8 are refused, with and without escapes")
  func encoding() {
    for bytes: [UInt8] in [
      [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0x5C, 0x6E, 0xED, 0xA0, 0x80, 0x22],
    ] {
      #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
    }
  }

  @Test("Nesting is allowed up to the limit and refused beyond it")
  func depth() throws {
    func nested(_ levels: Int) -> String {
      String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }
    _ = try JSONValue(parsing: nested(JSONReader.maximumDepth))
    #expect(throws: JSONError.self) { try JSONValue(parsing: nested(JSONReader.maximumDepth + 1)) }
    #expect(throws: JSONError.self) { try JSONValue(parsing: String(repeating: "[", count: 1_000_000)) }
    #expect(throws: JSONError.self) { try JSONValue(parsing: String(repeating: "{\"a\":", count: 100_000)) }
    _ = try JSONValue(parsing: "[" + Array(repeating: "[]", count: 1000).joined(separator: ",") + "]")
  }

  @Test("A skipped value is checked like one that is read, to any depth limit")
  func skipping() throws {
    func raw(_ text: String, upTo limit: Int = JSONReader.maximumDepth) throws -> String {
      try JSONReader.read(text) { String(decoding: try $0.rawValue(upTo: limit), as: UTF8.self) }
    }
    for text in [#"{"a":[1,{"b":null},[],{}],"c":"x"}"#, "[[],[[]]]", "1.5", #""a\"]""#] {
      #expect(try raw(text) == text)
    }
    for text in [
      "[", "[1", "[1,]", "[,1]", "[1 2]", "{", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "[}", "{]",
    ] {
      #expect(throws: JSONError.self, "\(text)") { try raw(text) }
    }
    let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
    #expect(try raw(deep, upTo: .max) == deep)
    #expect(throws: JSONError.self) { try raw(deep) }
    #expect(try raw("[[1]]", upTo: 2) == "[[1]]")
    #expect(throws: JSONError.self) { try raw("[[1]]", upTo: 1) }
  }

  @Test("Numbers keep their value, equal numbers have equal text", arguments: 0..<10)
  func numbers(seed: UInt64) throws {
    var random = SeededChoices(seed: seed)
    let edges: [Double] = [
      0.1, 1e21, 1e-7, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 9_007_199_254_740_992,
      9_007_199_254_740_994, -1e300, 1e15,
      9.223372036854775807e18,
    ]
    let some = (0..<500).map { _ in Double(bitPattern: random.next()) }
    for number in edges + some where number.isFinite {
      var writer = JSONWriter()
      writer.value(number)
      #expect(try JSONValue(parsing: writer.bytes).doubleValue == number, "seed \(seed): \(writer.string)")
    }
    for _ in 0..<500 {
      let number = Int64(truncatingIfNeeded: random.next()) >> Int64.random(in: 0..<64, using: &random)
      var writer = JSONWriter()
      writer.value(number)
      #expect(writer.string == String(number))
      #expect(try JSONValue(parsing: writer.bytes) == .int(number))
    }
  }

  @Test("Whole numbers are read from any notation, fractions and overflow refused")
  func integers() throws {
    func int(_ text: String) throws -> Int64 { try JSONReader.read(text) { try $0.int() } }
    #expect(try int("1e3") == 1000)
    #expect(try int("1.0") == 1)
    for text in ["1.5", "9223372036854775808", "-9223372036854775809", "1e30", "18446744073709551616"] {
      #expect(throws: JSONError.self, "\(text)") { try int(text) }
    }
  }

  @Test("Any text survives being written and read", arguments: 0..<10)
  func strings(seed: UInt64) throws {
    var random = SeededChoices(seed: seed)
    for _ in 0..<300 {
      var text = String.UnicodeScalarView()
      for _ in 0..<Int.random(in: 0...20, using: &random) {
        let limit: UInt32 = random.pick([0x30, 0x80, 0x2100, 0x11_0000])
        if let scalar = Unicode.Scalar(UInt32.random(in: 0..<limit, using: &random)) { text.append(scalar) }
      }
      var writer = JSONWriter()
      writer.value(String(text))
      let again = try JSONReader.read(writer.bytes) { try $0.string() }
      #expect(again.unicodeScalars.elementsEqual(text), "seed \(seed): \(writer.string)")
    }
  }

  @Test("Exactly the characters that need it are escaped, anywhere in any text")
  func escapes() throws {
    let specials = [
      ("\"", "\\\""), ("\\", "\\\\"), ("\n", "\\n"), ("\u{0}", "\\u0000"), ("\u{1F}", "\\u001f"), (" ", " "),
      ("!", "!"), ("#", "#"), ("[", "["), ("]", "]"), ("\u{7F}", "\u{7F}"), ("é", "é"),
      ("\u{10FFFF}", "\u{10FFFF}"),
    ]
    for length in 0..<26 {
      for place in 0...length {
        for (plain, written) in specials {
          let before = String(repeating: "a", count: place)
          let after = String(repeating: "z", count: length - place)
          var writer = JSONWriter()
          writer.value(before + plain + after + plain)
          #expect(writer.string == "\"" + before + written + after + written + "\"")
        }
      }
    }
  }

  @Test("No text makes the reader trap", arguments: 0..<10)
  func noise(seed: UInt64) {
    var random = SeededChoices(seed: seed)
    let alphabet = Array("{}[]\",:\\u0dD8e+-.tfn1 \u{1}".utf8) + [0xFF, 0xC3]
    for _ in 0..<3000 {
      let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in random.pick(alphabet) }
      _ = try? JSONValue(parsing: bytes)  // Both outcomes are correct.
    }
  }
}
