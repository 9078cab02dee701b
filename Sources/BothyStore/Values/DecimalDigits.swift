import Foundation

/// The digits of a decimal number, and its text in files and on the wire.
///
/// The bytes of the texts sort like the numbers, and equal numbers have one text. So every index, server and merge that
/// knows texts orders decimals. A positive number has a letter before it for the number of digits before its point:
/// `a0.5`, `b12.5`, `d1000`. From 26 digits on there are three letters, the first of them `z`. A negative number is `-`,
/// the text of its magnitude with each letter and digit mirrored, and `~`: `-y87.4~` is -12.5.
package struct DecimalDigits: Sendable, Hashable {
  /// True of a number below zero.
  let isNegative: Bool
  /// The digits before the point, from 0 to 9. The first is 0 only if it is the only one.
  let whole: [UInt8]
  /// The digits behind the point, from 0 to 9. The last isn't 0.
  let fraction: [UInt8]

  /// The most bytes of a text that is read. The text of a `Decimal` has fewer than 200.
  private static let longestText = 400

  /// Creates the digits of a number, which may have zeros in excess.
  init(isNegative: Bool, whole: [UInt8], fraction: [UInt8]) {
    let kept = Array(whole.drop { $0 == 0 })
    let length = fraction.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
    self.isNegative = isNegative && (!kept.isEmpty || length > 0)
    self.whole = kept.isEmpty ? [0] : kept
    self.fraction = Array(fraction.prefix(length))
  }

  /// Creates the digits of a number, or nil for one that isn't a number.
  init?(_ value: Decimal) {
    guard !value.isNaN else { return nil }
    let text = Array(value.description.utf8)
    let isNegative = text.first == Self.minus
    self.init(isNegative: isNegative, digits: isNegative ? text[1...] : text[...])
  }

  /// Reads `12.5`, a number without its sign. Returns nil for other text.
  private init?(isNegative: Bool, digits text: ArraySlice<UInt8>) {
    let parts = text.split(separator: Self.point, maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, parts.allSatisfy({ $0.allSatisfy(Self.isDigit) }) else { return nil }
    self.init(
      isNegative: isNegative, whole: whole.map { $0 - Self.zero },
      fraction: parts.dropFirst().first?.map { $0 - Self.zero } ?? [])
  }

  /// Reads the text of a number. Returns nil for every other text, also for one of an equal number, which sorts
  /// elsewhere.
  package init?(stored text: some Collection<UInt8>) {
    guard text.count <= Self.longestText else { return nil }
    var bytes = Array(text)
    let isNegative = bytes.first == Self.minus
    if isNegative { bytes = bytes.dropFirst().dropLast().map(Self.mirrored) }
    self.init(isNegative: isNegative, digits: bytes.drop(while: Self.isLetter))
    guard stored.utf8.elementsEqual(text) else { return nil }
  }

  /// Reads a number as people write it, `-12.5`. Returns nil for other text, and for more digits than a `Decimal` has.
  init?(written text: String) {
    let bytes = Array(text.utf8.prefix(Self.longestText + 1))
    let isNegative = bytes.first == Self.minus
    let digits = isNegative ? bytes[1...] : bytes[...]
    guard bytes.count <= Self.longestText, let first = digits.first, Self.isDigit(first),
      digits.last != Self.point
    else { return nil }
    self.init(isNegative: isNegative, digits: digits)
    guard decimal != nil else { return nil }
  }

  /// The text of the number in files and on the wire.
  package var stored: String {
    var bytes = Self.letters(for: whole.count) + whole.map { $0 + Self.zero }
    if !fraction.isEmpty { bytes += [Self.point] + fraction.map { $0 + Self.zero } }
    guard isNegative else { return String(decoding: bytes, as: UTF8.self) }
    return "-" + String(decoding: bytes.map(Self.mirrored), as: UTF8.self) + "~"
  }

  /// The number as people write it: `-12.5`.
  var written: String { (isNegative ? "-" : "") + magnitude }

  /// The number without its sign, as people write it: `12.5`.
  var magnitude: String {
    let bytes = whole.map { $0 + Self.zero } + [Self.point] + fraction.map { $0 + Self.zero }
    return String(decoding: fraction.isEmpty ? bytes.dropLast() : bytes[...], as: UTF8.self)
  }

  /// The number, or nil if a `Decimal` can't have all of its digits.
  var decimal: Decimal? {
    guard let size = Decimal(string: magnitude) else { return nil }
    let value = isNegative ? -size : size
    return DecimalDigits(value) == self ? value : nil
  }

  private static let minus = UInt8(ascii: "-")
  private static let point = UInt8(ascii: ".")
  private static let zero = UInt8(ascii: "0")

  private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }
  private static func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte }

  /// Returns the letters before a number with `count` digits before its point: one up to 25, else three.
  private static func letters(for count: Int) -> [UInt8] {
    count < 26 ? [letter(count - 1)] : [letter(25), letter(count / 26), letter(count % 26)]
  }

  private static func letter(_ number: Int) -> UInt8 { 0x61 + UInt8(number) }

  /// Returns `z` for `a`, `9` for `0`, and so on. The point sorts before all of them and before the end of the text, `~`.
  private static func mirrored(_ byte: UInt8) -> UInt8 {
    if isDigit(byte) { return 0x30 + 0x39 - byte }
    return isLetter(byte) ? 0x61 + 0x7A - byte : byte
  }
}
