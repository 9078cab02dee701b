/// Reads JSON text (RFC 8259) value by value from a byte buffer, without building a tree.
///
/// Every method checks its input and throws `JSONError` with the byte offset. No input traps. Nesting is limited to
/// `maximumDepth`, so that hostile input can't exhaust the stack.
///
/// Cost: linear in the bytes read. A string without escapes costs one copy.
package struct JSONReader {
  /// The greatest nesting depth of arrays and objects. A greater depth throws.
  package static let maximumDepth = 64

  private let bytes: UnsafeRawBufferPointer
  private let limit: Int
  private var position: Int
  private var depth = 0

  private init(_ bytes: UnsafeRawBufferPointer, limit: Int) {
    self.bytes = bytes
    self.limit = limit
    position = 0
  }

  /// The kind of the next value, determined by its first byte.
  package enum Kind: Sendable {
    /// `{` is next: read it with `object(_:)`.
    ///
    /// Its members are read in the order of the text.
    case object
    /// `[` is next: read it with `array(_:)`.
    ///
    /// Its elements may be of different kinds.
    case array
    /// A quotation mark is next: read it with `string()`.
    ///
    /// Names of members are read by `object(_:)` alone.
    case string
    /// A minus or a digit is next: read it with `number()`, `int()` or `double()`.
    ///
    /// The rest of the number is not checked yet.
    case number
    /// `t` or `f` is next: read it with `bool()`, which throws for other words.
    case bool
    /// `n` is next: read it with `nextIsNull()`, which throws for other words.
    case null
  }

  /// Runs `body` with a reader at the start of `source`, then checks that only white space follows.
  ///
  /// - Parameter limit: The greatest nesting depth of arrays and objects, if less than `maximumDepth`.
  package static func read<Result>(
    _ source: some ContiguousBytesSource, upTo limit: Int = maximumDepth,
    _ body: (inout JSONReader) throws -> Result
  ) throws -> Result {
    try source.withContiguousBytes { buffer in
      var reader = JSONReader(buffer, limit: min(limit, maximumDepth))
      let result = try body(&reader)
      reader.skipSpace()
      guard reader.position == buffer.count else { throw reader.error("text after the value") }
      return result
    }
  }

  /// The byte offset of the next unread byte.
  package var offset: Int { position }

  /// The number of arrays and objects that are open.
  var level: Int { depth }

  func bytes(from start: Int) -> [UInt8] { Array(bytes[start..<position]) }

  /// Moves to the next value and returns its kind without reading it. Throws if the text ends or no value can start
  /// here.
  package mutating func peek() throws(JSONError) -> Kind {
    skipSpace()
    guard position < bytes.count else { throw error("the text ends where a value should be") }
    switch bytes[position] {
    case UInt8(ascii: "{"): return .object
    case UInt8(ascii: "["): return .array
    case UInt8(ascii: "\""): return .string
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
    case UInt8(ascii: "n"): return .null
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
    default: throw error("no JSON value starts with this byte")
    }
  }

  /// Reads an object and calls `member` with each name. `member` must read or skip exactly one value.
  package mutating func object(_ member: (String, inout JSONReader) throws -> Void) throws {
    try enter(UInt8(ascii: "{"), "an object")
    if try leave(UInt8(ascii: "}")) { return }
    repeat {
      skipSpace()
      let name = try string()
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw error("':' is missing after a name") }
      try member(name, &self)
    } while try more(UInt8(ascii: "}"))
  }

  /// Reads an array and calls `element` for each element. `element` must read or skip exactly one value.
  package mutating func array(_ element: (inout JSONReader) throws -> Void) throws {
    try enter(UInt8(ascii: "["), "an array")
    if try leave(UInt8(ascii: "]")) { return }
    repeat { try element(&self) } while try more(UInt8(ascii: "]"))
  }

  /// Reads `true` or `false`. Throws for anything else.
  package mutating func bool() throws(JSONError) -> Bool {
    skipSpace()
    if literal("true") { return true }
    if literal("false") { return false }
    throw error("true or false expected")
  }

  /// Reads `null` if it is next. Returns true if it was.
  package mutating func nextIsNull() throws(JSONError) -> Bool {
    guard try peek() == .null else { return false }
    guard literal("null") else { throw error("null expected") }
    return true
  }

  /// Reads a whole number within 64 bits: one without a fraction, or with a fraction of zero (`2.0`, `1e3`). Throws for
  /// any other number rather than round it.
  package mutating func int() throws(JSONError) -> Int64 {
    switch try number() {
    case .int(let value): return value
    case .double(let value):
      if let exact = Int64(whole: value) { return exact }
      throw error("a whole number expected")
    }
  }

  /// Reads a number as the nearest `Double`. Throws if it is out of a `Double`'s range.
  package mutating func double() throws(JSONError) -> Double {
    switch try number() {
    case .int(let value): return Double(value)
    case .double(let value): return value
    }
  }

  /// A number as it was written.
  package enum Number: Sendable, Equatable {
    /// Written without fraction and exponent, and within 64 bits. All digits are kept.
    case int(Int64)
    /// Any other number: the nearest `Double`, never infinite.
    ///
    /// A whole number beyond 64 bits is rounded.
    case double(Double)
  }

  /// Reads a number. A number without fraction or exponent that fits 64 bits is `.int`, any other `.double`.
  package mutating func number() throws(JSONError) -> Number {
    skipSpace()
    let start = position
    let parts = try scanNumber()
    let negative = bytes[start] == UInt8(ascii: "-")
    if parts.isWhole && !parts.overflow {
      if negative, parts.magnitude <= UInt64(Int64.max) + 1 {
        return .int(Int64(truncatingIfNeeded: 0 &- parts.magnitude))
      }
      if !negative, let value = Int64(exactly: parts.magnitude) { return .int(value) }
    }
    if let value = parts.exactQuotient { return .double(negative ? -value : value) }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    guard let value = Double(text), value.isFinite else { throw error("the number is out of range") }
    return .double(value)
  }

  /// Reads a string and resolves its escapes. Throws for control characters, lone surrogates and bytes that are not
  /// UTF-8.
  package mutating func string() throws(JSONError) -> String {
    skipSpace()
    guard take(UInt8(ascii: "\"")) else { throw error("a string expected") }
    let start = position
    skipPlainText()
    let isASCII = position < bytes.count && bytes[position] < 0x80
    while position < bytes.count {
      let byte = bytes[position]
      if byte == UInt8(ascii: "\"") {
        let range = start..<position
        position += 1
        return try text(range, isASCII: isASCII)
      }
      if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
      if byte < 0x20 { throw error("a control character must be escaped") }
      position += 1
    }
    throw error("a string has no end")
  }

  /// Reads one value of any kind and discards it.
  package mutating func skip() throws { try skip(upTo: limit) }

  /// Reads one value of any kind and returns its bytes unchanged.
  package mutating func rawValue() throws -> [UInt8] { try rawValue(upTo: limit) }

  func error(_ reason: String) -> JSONError { JSONError(reason: reason, offset: position) }
}

extension JSONReader {
  mutating func skipSpace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return
      }
    }
  }

  mutating func take(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  private mutating func digit() -> UInt8? {
    guard position < bytes.count, bytes[position] >= 0x30, bytes[position] <= 0x39 else { return nil }
    position += 1
    return bytes[position - 1] - 0x30
  }

  private mutating func literal(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard position + count <= bytes.count else { return false }
    for index in 0..<count where bytes[position + index] != text.utf8Start[index] { return false }
    position += count
    return true
  }

  private mutating func enter(_ byte: UInt8, _ what: String) throws(JSONError) {
    skipSpace()
    guard take(byte) else { throw error("\(what) expected") }
    depth += 1
    guard depth <= limit else { throw error("nested deeper than \(limit)") }
  }

  private mutating func leave(_ byte: UInt8) throws(JSONError) -> Bool {
    skipSpace()
    guard take(byte) else { return false }
    depth -= 1
    return true
  }

  private mutating func more(_ end: UInt8) throws(JSONError) -> Bool {
    skipSpace()
    if take(UInt8(ascii: ",")) { return true }
    if try leave(end) { return false }
    throw error("',' or the end of the object or array expected")
  }

  /// Skips a number and collects the digits of its whole part and fraction as one integer.
  private mutating func scanNumber() throws(JSONError) -> NumberParts {
    var parts = NumberParts()
    _ = take(UInt8(ascii: "-"))
    let firstDigit = position
    while let digit = digit() { parts.append(digit) }
    guard position > firstDigit else { throw error("a number expected") }
    if bytes[firstDigit] == UInt8(ascii: "0") && position > firstDigit + 1 {
      throw error("a number may not start with a zero")
    }
    if take(UInt8(ascii: ".")) {
      let firstPlace = position
      while let digit = digit() { parts.append(digit) }
      guard position > firstPlace else { throw error("a digit must follow the point") }
      parts.places = position - firstPlace
      parts.isWhole = false
    }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
      guard digit() != nil else { throw error("a digit must follow the exponent sign") }
      while digit() != nil {}
      parts.hasExponent = true
      parts.isWhole = false
    }
    return parts
  }

  mutating func skipNumber() throws(JSONError) { _ = try scanNumber() }

  /// Skips a string. Plain ASCII, the usual case, is scanned without a copy. Other strings are read and discarded.
  mutating func skipString() throws(JSONError) {
    let start = position
    position += 1
    skipPlainText()
    if position < bytes.count, bytes[position] == UInt8(ascii: "\"") {
      position += 1
      return
    }
    position = start
    _ = try string()
  }

  /// Moves to the next byte that ends a run of plain text: a quotation mark, a backslash, a control character, or a
  /// byte beyond ASCII. Looks at eight bytes at a time (Lamport, "Multiple byte processing with full-word
  /// instructions", 1975).
  private mutating func skipPlainText() {
    let (ones, highs) = (0x0101_0101_0101_0101 as UInt64, 0x8080_8080_8080_8080 as UInt64)
    while bytes.count - position >= 8 {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      let (quotes, slashes) = (word ^ (ones &* 0x22), word ^ (ones &* 0x5C))
      let control = (word &- (ones &* 0x20)) & ~word
      let found = (control | ((quotes &- ones) & ~quotes) | ((slashes &- ones) & ~slashes) | word) & highs
      if found != 0 {
        position += found.trailingZeroBitCount / 8
        return
      }
      position += 8
    }
    while position < bytes.count {
      switch bytes[position] {
      case 0x22, 0x5C, 0..<0x20, 0x80...: return
      default: position += 1
      }
    }
  }

  /// Returns the text of a range. Decoding replaces bytes that aren't UTF-8, so the result then differs from the input.
  private func text(_ range: Range<Int>, isASCII: Bool) throws(JSONError) -> String {
    let slice = UnsafeRawBufferPointer(rebasing: bytes[range])
    var text = slice.withMemoryRebound(to: UInt8.self) { String(decoding: $0, as: UTF8.self) }
    if isASCII || text.withUTF8({ $0.elementsEqual(slice) }) { return text }
    throw error("text is not UTF-8")
  }

  private mutating func escapedString(from start: Int) throws(JSONError) -> String {
    var text = Array(bytes[start..<position])
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let result = String(validating: text, as: UTF8.self) else { throw error("text is not UTF-8") }
        return result
      case UInt8(ascii: "\\"): try appendEscape(to: &text)
      case 0..<0x20: throw error("a control character must be escaped")
      default: text.append(byte)
      }
    }
    throw error("a string has no end")
  }

  private mutating func appendEscape(to text: inout [UInt8]) throws(JSONError) {
    guard position < bytes.count else { throw error("a string has no end") }
    let byte = bytes[position]
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "u"): text.append(contentsOf: Array(String(try scalar()).utf8))
    default: throw error("unknown escape")
    }
  }

  /// Reads a `\u` escape, joined with the low surrogate that follows a high one. Throws for a lone surrogate.
  private mutating func scalar() throws(JSONError) -> Character {
    let first = try fourHexDigits()
    var code = UInt32(first)
    if (0xD800..<0xDC00).contains(first) {
      guard literal("\\u") else { throw error("a high surrogate has no low surrogate") }
      let second = try fourHexDigits()
      guard (0xDC00..<0xE000).contains(second) else { throw error("a high surrogate has no low surrogate") }
      code = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
    }
    guard let scalar = Unicode.Scalar(code) else { throw error("a low surrogate has no high surrogate") }
    return Character(scalar)
  }

  private mutating func fourHexDigits() throws(JSONError) -> UInt16 {
    guard position + 4 <= bytes.count else { throw error("four hexadecimal digits expected") }
    var value: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = Character(Unicode.Scalar(bytes[position])).hexDigitValue else {
        throw error("four hexadecimal digits expected")
      }
      value = value << 4 | UInt16(digit)
      position += 1
    }
    return value
  }
}

extension Int64 {
  /// Creates the number if it is whole and within 64 bits. Refuses -2^63, because smaller integers that are read as a
  /// `Double` are rounded to it. An integer -2^63 in the text is never read as a `Double`.
  package init?(whole number: Double) {
    guard number.magnitude < 0x1p63 else { return nil }
    self.init(exactly: number)
  }
}
