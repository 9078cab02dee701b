import BothyHTTP

/// The encoding of names as ids of Kinto.
///
/// Kinto's ids have letters, digits, `-` and `_`, and begin with a letter or digit. Every other byte of a name becomes
/// `_` and two hexadecimal digits. A name with another first character gets the prefix `0__`. No other name begins with
/// it, because `_` is always followed by two digits. UUIDs and plain words stay. The encoding is one to one.
package enum KintoName {
  private static let mark = "0__"

  /// Returns the id of a space, type or record in Kinto.
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

  /// Returns the name that was encoded. An id of another client that `encode` never creates is returned unchanged.
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
