extension Sequence<UInt8> {
  /// Two lower-case digits for each byte, the form of checksums and trace ids.
  @inlinable
  package var hexadecimal: String { String(decoding: hexadecimalDigits, as: UTF8.self) }

  /// These digits as the bytes of their text.
  @inlinable
  package var hexadecimalDigits: [UInt8] {
    var digits: [UInt8] = []
    digits.reserveCapacity(2 * underestimatedCount)
    for byte in self {
      digits.append(Self.digit(byte >> 4))
      digits.append(Self.digit(byte & 15))
    }
    return digits
  }

  @inlinable
  package static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 87 + value }
}

extension UInt64 {
  /// The number in 16 hexadecimal digits.
  package var hexadecimal: String { padded(to: 16, radix: 16) }
}
