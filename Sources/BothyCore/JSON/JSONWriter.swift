/// Appends JSON text to a byte buffer, one value at a time, with no intermediate tree.
///
/// Commas are placed by the writer: after each value the next sibling gets one. Numbers are written so that
/// equal numbers have equal text: a `Double` without a fraction below 2^53 is written as an integer, which is
/// what RFC 8785 (JSON Canonicalization Scheme) asks for in that range. NaN and infinities, which JSON lacks,
/// become `null`.
///
/// Cost: linear in the bytes written; one growing allocation.
public struct JSONWriter: Sendable {
  /// The text so far, UTF-8.
  public private(set) var bytes: [UInt8] = []
  private var needsComma = false

  /// An empty text; `capacity` bytes of memory are taken at once, more as they are needed.
  public init(reserving capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  /// The text so far as a string.
  public var string: String { String(decoding: bytes, as: UTF8.self) }

  /// Forgets the text and keeps the memory, so that one writer can serve many documents.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    needsComma = false
  }

  /// Writes `{`; then come pairs of a `key(_:)` and a value, then `endObject()`.
  public mutating func beginObject() { open(UInt8(ascii: "{")) }
  /// Writes `}`. That it closes the object opened last is the caller's business.
  public mutating func endObject() { close(UInt8(ascii: "}")) }
  /// Writes `[`; then come values, then `endArray()`.
  public mutating func beginArray() { open(UInt8(ascii: "[")) }
  /// Writes `]`. That it closes the array opened last is the caller's business.
  public mutating func endArray() { close(UInt8(ascii: "]")) }

  /// Writes `"name":`; the next call writes its value.
  public mutating func key(_ name: String) {
    separate()
    quote(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes `null`.
  public mutating func null() { literal("null") }
  /// Writes `true` or `false`.
  public mutating func value(_ flag: Bool) { literal(flag ? "true" : "false") }
  /// Writes a whole number in decimal digits.
  public mutating func value(_ number: Int) { value(Int64(number)) }

  /// Writes a whole number in decimal digits, also where it is beyond what a `Double` holds exactly (2^53).
  public mutating func value(_ number: Int64) {
    separate()
    appendDecimal(number)
    needsComma = true
  }

  /// Writes the shortest digits that give the same `Double` again; `2.0` as `2`, NaN and infinities as `null`.
  public mutating func value(_ number: Double) {
    guard number.isFinite else { return null() }
    if number == number.rounded(.towardZero), abs(number) < 9_007_199_254_740_992 {
      return value(Int64(number))
    }
    literal(number.description)
  }

  /// Writes a string in quotation marks, with no more escapes than RFC 8259 section 7 asks for.
  public mutating func value(_ text: String) {
    separate()
    quote(text)
    needsComma = true
  }

  /// Writes bytes that are one complete JSON value already, as they stand.
  public mutating func raw(_ json: [UInt8]) {
    separate()
    bytes.append(contentsOf: json)
    needsComma = true
  }

  /// Writes text that is one complete JSON value already, as it stands.
  public mutating func raw(_ json: String) {
    separate()
    appendUTF8(json)
    needsComma = true
  }

  private mutating func literal(_ text: String) {
    separate()
    appendUTF8(text)
    needsComma = true
  }

  private mutating func open(_ byte: UInt8) {
    separate()
    bytes.append(byte)
    needsComma = false
  }

  private mutating func close(_ byte: UInt8) {
    bytes.append(byte)
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
  }

  private mutating func appendUTF8(_ text: String) {
    var text = text
    text.withUTF8 { bytes.append(contentsOf: $0) }
  }

  private mutating func appendDecimal(_ number: Int64) {
    if number >= 0 && number < 10 {
      bytes.append(UInt8(ascii: "0") + UInt8(number))
      return
    }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var rest = number.magnitude
      var position = 20
      repeat {
        position -= 1
        digits[position] = UInt8(ascii: "0") + UInt8(rest % 10)
        rest /= 10
      } while rest > 0
      if number < 0 {
        position -= 1
        digits[position] = UInt8(ascii: "-")
      }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[position...]))
    }
  }

  /// RFC 8259 section 7: the quotation mark, the backslash and the controls below U+0020 are escaped.
  private mutating func quote(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    if text.utf8.withContiguousStorageIfAvailable({ appendEscaped($0) }) == nil {
      var text = text
      text.withUTF8 { appendEscaped($0) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func appendEscaped(_ utf8: UnsafeBufferPointer<UInt8>) {
    var end = Self.firstToEscape(in: utf8, from: 0)
    if end == utf8.count { return bytes.append(contentsOf: utf8) }
    var start = 0
    while end < utf8.count {
      bytes.append(contentsOf: utf8[start..<end])
      escape(utf8[end])
      start = end + 1
      end = Self.firstToEscape(in: utf8, from: start)
    }
    bytes.append(contentsOf: utf8[start...])
  }

  /// The index of the first byte from `start` on that is to be escaped, the count where none is.
  ///
  /// Looks at eight bytes at a time. That some byte of a word is below n shows in the high bits of `word - n` that
  /// `word` itself lacks (S. E. Anderson, Bit Twiddling Hacks, "Determine if a word has a byte less than n"); that one
  /// equals n is the same question about `word ^ n` and 1.
  private static func firstToEscape(in utf8: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let bytes = UnsafeRawBufferPointer(utf8)
    var index = start
    while index &+ 8 <= bytes.count {
      let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let quotation = word ^ (ones &* 0x22)
      let backslash = word ^ (ones &* 0x5C)
      let found =
        (word &- ones &* 0x20) & ~word | (quotation &- ones) & ~quotation | (backslash &- ones) & ~backslash
      if found & (ones &* 0x80) != 0 { break }
      index &+= 8
    }
    while index < bytes.count, !needsEscape(bytes[index]) { index &+= 1 }
    return index
  }

  private static func needsEscape(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x22 || byte == 0x5C }

  private mutating func escape(_ byte: UInt8) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x22, 0x5C: bytes.append(byte)
    case 0x0A: bytes.append(UInt8(ascii: "n"))
    case 0x0D: bytes.append(UInt8(ascii: "r"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    default:
      let hex = Array("0123456789abcdef".utf8)
      bytes.append(contentsOf: [UInt8(ascii: "u"), 0x30, 0x30, hex[Int(byte >> 4)], hex[Int(byte & 15)]])
    }
  }
}
