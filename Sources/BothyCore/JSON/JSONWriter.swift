/// Appends JSON text to a byte buffer, one value at a time, without an intermediate tree.
///
/// The writer places the commas: each sibling after the first gets one. Equal numbers have equal text. A `Double`
/// without a fraction below 2^53 is therefore written as an integer, as RFC 8785 (JSON Canonicalization Scheme)
/// requires in that range. NaN and infinities, which JSON lacks, become `null`.
///
/// Cost: linear in the bytes written, with one growing allocation.
package struct JSONWriter: Sendable {
  /// The text so far, UTF-8.
  package private(set) var bytes: [UInt8] = []
  private var needsComma = false

  /// Creates an empty text. Allocates `capacity` bytes at once, and more when they are needed.
  package init(reserving capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  /// The text so far as a string.
  package var string: String { String(decoding: bytes, as: UTF8.self) }

  /// Deletes the text and keeps the memory, so that one writer can serve many documents.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    needsComma = false
  }

  /// Writes `{`. Pairs of a `key(_:)` and a value follow, then `endObject()`.
  package mutating func beginObject() { open(UInt8(ascii: "{")) }
  /// Writes `}`. The caller makes sure that it closes the object opened last.
  package mutating func endObject() { close(UInt8(ascii: "}")) }
  /// Writes `[`. Values follow, then `endArray()`.
  package mutating func beginArray() { open(UInt8(ascii: "[")) }
  /// Writes `]`. The caller makes sure that it closes the array opened last.
  package mutating func endArray() { close(UInt8(ascii: "]")) }

  /// Writes `"name":`. The next call writes its value.
  package mutating func key(_ name: String) {
    separate()
    quote(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes `null`.
  package mutating func null() { literal("null") }
  /// Writes `true` or `false`.
  package mutating func value(_ flag: Bool) { literal(flag ? "true" : "false") }
  /// Writes a whole number in decimal digits.
  package mutating func value(_ number: Int) { value(Int64(number)) }

  /// Writes a whole number in decimal digits, even beyond the integers that a `Double` holds exactly (2^53).
  package mutating func value(_ number: Int64) {
    separate()
    appendDecimal(number)
    needsComma = true
  }

  /// Writes the shortest digits that read back as the same `Double`. Writes `2.0` as `2`, and NaN and infinities as
  /// `null`.
  package mutating func value(_ number: Double) {
    guard number.isFinite else { return null() }
    if number == number.rounded(.towardZero), abs(number) < 9_007_199_254_740_992 {
      return value(Int64(number))
    }
    literal(number.description)
  }

  /// Writes a string in quotation marks, with only the escapes that RFC 8259 section 7 requires.
  package mutating func value(_ text: String) {
    separate()
    quote(text)
    needsComma = true
  }

  /// Writes bytes that are already one complete JSON value, unchanged.
  package mutating func raw(_ json: [UInt8]) {
    separate()
    bytes.append(contentsOf: json)
    needsComma = true
  }

  /// Writes text that is already one complete JSON value, unchanged.
  package mutating func raw(_ json: String) {
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

  /// Writes a quoted string. Escapes the quotation mark, the backslash and the controls below U+0020 (RFC 8259 section
  /// 7).
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

  /// Returns the index of the first byte from `start` on that needs an escape, or the count.
  ///
  /// Looks at eight bytes at a time. A byte below n sets the high bit in `word - n` where `word` itself lacks it (S. E.
  /// Anderson, Bit Twiddling Hacks, "Determine if a word has a byte less than n"). A byte equal to n is found by the
  /// test of `word ^ n` for a byte below 1.
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
