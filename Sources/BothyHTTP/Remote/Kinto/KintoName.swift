/// Names that Kinto takes for names that we have, and back.
///
/// Kinto's ids are letters, digits, `-` and `_`, the first a letter or digit. Every other byte of ours becomes `_` and two
/// hexadecimal digits; a name that would begin with anything else gets `0__` before it, which no other name begins
/// with, as `_` is always followed by two digits. UUIDs and plain words stay as they are. The encoding is one to one.
package enum KintoName {
  private static let mark = "0__"

  /// The id of a space, type or record in Kinto.
  package static func encode(_ name: String) -> String {
    var text = ""
    for byte in name.utf8 {
      if isAlphanumeric(byte) || byte == UInt8(ascii: "-") {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        text += "_" + hex(byte >> 4) + hex(byte & 15)
      }
    }
    guard let first = text.utf8.first, isAlphanumeric(first) else { return mark + text }
    return text
  }

  /// What `encode` made of a name; an id that it never makes, given by another client, stands for itself.
  package static func decode(_ id: String) -> String {
    let decoded = decoded(id.hasPrefix(mark) ? id.dropFirst(mark.count) : id[...])
    guard let decoded, encode(decoded) == id else { return id }
    return decoded
  }

  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "_") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
        return nil
      }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: false
    }
  }

  private static func hex(_ number: UInt8) -> String { String(number, radix: 16, uppercase: true) }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    default: nil
    }
  }
}
