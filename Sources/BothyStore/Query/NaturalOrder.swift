import Foundation

/// The order of texts that people expect: case and accents don't count, and numbers in texts sort by their value.
///
/// A text has a key, another text, and texts sort by the UTF-8 bytes of their keys. The key is made from properties
/// that Unicode keeps stable for each character, not from the tables of a language. So it is equal on all systems and
/// servers, and can be stored.
package enum NaturalOrder {
  /// Returns the key of a text, in which:
  ///
  /// 1. Characters are decomposed for compatibility (Unicode Standard Annex #15, NFKD): `ﬁ` is `fi`, `９` is `9`.
  /// 2. Letters have the lower case of their upper case, so that `STRASSE` and `Straße` are equal.
  /// 3. Marks above, below and across letters are left out, and the points of Hebrew and Arabic (combining classes 1,
  ///    10 to 36 and 200 to 240), as are characters that aren't shown. Marks that are vowels stay.
  /// 4. Each run of decimal digits of any script is a number: the count of its digits without leading zeros, then
  ///    these. The count *n* has *n* / 9 nines and one digit more for the rest.
  ///
  /// Letters that don't decompose, such as ø and ł, come after z. A key ends with the character that makes it `length`
  /// bytes long, or with the one at `longest`, so that long texts cost no more.
  package static func key(of text: String) -> String {
    var builder = KeyBuilder()
    if text.utf8.prefix(longest).allSatisfy({ $0 < 0x80 }) {
      for byte in text.utf8.prefix(longest) where !builder.isFull(length) { builder.append(ascii: byte) }
    } else {
      let start = String(String.UnicodeScalarView(text.unicodeScalars.prefix(longest)))
      let decomposed = start.decomposedStringWithCompatibilityMapping
      for scalar in decomposed.unicodeScalars where !builder.isFull(length) { builder.append(scalar) }
    }
    return builder.finished()
  }

  /// The number of bytes at which a key ends.
  private static let length = 400
  /// The number of characters of a text that count.
  private static let longest = 4000
}

private struct KeyBuilder {
  private var key: [UInt8] = []
  /// The digits of the number that has begun, without leading zeros; nil outside of a number.
  private var number: [UInt8]?

  func isFull(_ length: Int) -> Bool { key.count + (number?.count ?? 0) >= length }

  mutating func append(ascii byte: UInt8) {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): append(digit: byte)
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): append(other: byte | 0x20)
    default: append(other: byte)
    }
  }

  mutating func append(_ scalar: Unicode.Scalar) {
    let properties = scalar.properties
    if scalar.isASCII {
      append(ascii: UInt8(scalar.value))
    } else if properties.numericType == .decimal, let value = properties.numericValue {
      append(digit: UInt8(ascii: "0") + UInt8(value))
    } else if properties.changesWhenCaseMapped {
      let folded = String(scalar).lowercased().uppercased().lowercased()
      for scalar in folded.unicodeScalars { append(folded: scalar) }
    } else {
      append(folded: scalar)
    }
  }

  private mutating func append(folded scalar: Unicode.Scalar) {
    let properties = scalar.properties
    let mark = properties.canonicalCombiningClass.rawValue
    if mark == 1 || 10...36 ~= mark || 200...240 ~= mark || properties.isDefaultIgnorableCodePoint { return }
    for byte in String(scalar).utf8 { append(other: byte) }
  }

  private mutating func append(digit: UInt8) {
    if number == nil { number = [] }
    if digit != UInt8(ascii: "0") || number?.isEmpty == false { number?.append(digit) }
  }

  private mutating func append(other byte: UInt8) {
    endNumber()
    key.append(byte)
  }

  private mutating func endNumber() {
    guard let digits = number else { return }
    key += Array(repeating: UInt8(ascii: "9"), count: digits.count / 9)
    key.append(UInt8(ascii: "0") + UInt8(digits.count % 9))
    key += digits
    number = nil
  }

  mutating func finished() -> String {
    endNumber()
    return String(decoding: key, as: UTF8.self)
  }
}

extension AnyRecord {
  /// Returns the natural sort key of a field's text, or null. It is read from the record if noted there.
  private func naturalKey(_ key: SortKey, _ type: TypeSchema) -> FieldValue {
    if let noted = fields[SortKey.naturalColumn(key.field)] { return noted }
    return queried(key.field, type).naturalKey
  }

  /// Returns the value whose order is that of the key. The key isn't by distance.
  package func orderValue(_ key: SortKey, _ type: TypeSchema) -> FieldValue {
    if key.isRank { return .int(Int64(rank(by: key))) }
    return key.isNatural ? naturalKey(key, type) : queried(key.field, type)
  }

  /// Notes what sort keys compute as fields of the record, for the comparison with many others and for records that
  /// keep the sort keys alone.
  package mutating func noteSortKeys(_ order: [SortKey], _ type: TypeSchema) {
    for key in order { if let name = key.notedName { self[name] = orderValue(key, type) } }
  }

  /// Removes what `noteSortKeys` noted.
  mutating func removeSortKeys(_ order: [SortKey]) {
    for key in order { if let name = key.notedName { fields[name] = nil } }
  }
}

extension FieldValue {
  /// The natural sort key of a text, or null for other values.
  var naturalKey: FieldValue { text.map { .text(NaturalOrder.key(of: $0)) } ?? .null }
}

extension SortKey {
  /// The column with the stored keys of a field, and the name by which a record notes its key. No field has it.
  static func naturalColumn(_ field: String) -> String { "_sort_" + field }

  /// The name by which a record notes what the key computes, or nil for a value that the record has.
  package var notedName: String? { isRank ? Self.rank : isNatural ? Self.naturalColumn(field) : nil }
}
