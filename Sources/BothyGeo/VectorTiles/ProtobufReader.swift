/// Reads one message of Protocol Buffers' wire format from a part of a byte buffer.
///
/// Every method checks its input and throws `VectorTileDamage` with the byte offset. No input traps. Nothing is
/// allocated, and nested messages are readers of the same buffer.
struct ProtobufReader {
  /// The ways to encode a value on the wire. Groups, which the format gave up, are refused.
  enum Wire: UInt64 {
    case varint = 0
    case fixed64 = 1
    case bytes = 2
    case fixed32 = 5
  }

  private let bytes: UnsafeRawBufferPointer
  private let end: Int
  /// The offset of the next byte in the whole buffer.
  private(set) var offset: Int

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    offset = 0
    end = bytes.count
  }

  private init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    self.bytes = bytes
    offset = range.lowerBound
    end = range.upperBound
  }

  /// The number of bytes that are left.
  var count: Int { end - offset }
  /// True if nothing is left.
  var isAtEnd: Bool { offset == end }

  func damage(_ reason: String) -> VectorTileDamage { VectorTileDamage(reason: reason, offset: offset) }

  /// Reads the number and encoding of the next field, or returns `nil` at the end.
  mutating func field() throws(VectorTileDamage) -> (number: UInt64, wire: Wire)? {
    if isAtEnd { return nil }
    let key = try varint()
    guard let wire = Wire(rawValue: key & 7) else { throw damage("a field has an unknown encoding") }
    guard key >> 3 > 0, key >> 3 < 1 << 29 else { throw damage("a field has no valid number") }
    return (key >> 3, wire)
  }

  /// Reads a number of up to 64 bits.
  mutating func varint() throws(VectorTileDamage) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard offset < end else { throw damage("the bytes end in a number") }
      let byte = bytes[offset]
      offset += 1
      guard shift < 63 || byte < 2 else { break }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    throw damage("a number has more than 64 bits")
  }

  /// Reads a number of up to 32 bits.
  mutating func uint32() throws(VectorTileDamage) -> UInt32 {
    guard let value = UInt32(exactly: try varint()) else { throw damage("a number has more than 32 bits") }
    return value
  }

  /// Reads a 32-bit number in which small negative numbers are short (zigzag).
  mutating func sint32() throws(VectorTileDamage) -> Int64 { Self.unzigzag(UInt64(try uint32())) }

  /// Returns the signed number of a zigzag code.
  static func unzigzag(_ value: UInt64) -> Int64 {
    Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  mutating func fixed32() throws(VectorTileDamage) -> UInt32 {
    guard count >= 4 else { throw damage("the bytes end in a number") }
    defer { offset += 4 }
    return UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  mutating func fixed64() throws(VectorTileDamage) -> UInt64 {
    guard count >= 8 else { throw damage("the bytes end in a number") }
    defer { offset += 8 }
    return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Returns a reader of a nested message or a packed list, and moves behind it.
  mutating func nested() throws(VectorTileDamage) -> ProtobufReader {
    guard let length = Int(exactly: try varint()), length <= count else {
      throw damage("the bytes end within a field")
    }
    defer { offset += length }
    return ProtobufReader(bytes, offset..<offset + length)
  }

  /// Reads a text. Throws for bytes that aren't UTF-8.
  mutating func text() throws(VectorTileDamage) -> String {
    let part = try nested()
    let found = UnsafeRawBufferPointer(rebasing: bytes[part.offset..<part.end])
    guard let text = String(validating: found, as: UTF8.self) else { throw damage("a text isn't UTF-8") }
    return text
  }

  /// Skips a value of an unknown field.
  mutating func skip(_ wire: Wire) throws(VectorTileDamage) {
    switch wire {
    case .varint: _ = try varint()
    case .fixed64: _ = try fixed64()
    case .bytes: _ = try nested()
    case .fixed32: _ = try fixed32()
    }
  }

  /// Throws if a known field isn't encoded as it must be.
  func check(_ wire: Wire, is expected: Wire, _ name: String) throws(VectorTileDamage) {
    guard wire == expected else { throw damage("\(name) has another type") }
  }
}

/// The reason why bytes aren't a vector tile, as the end of a sentence, and the byte at which that was noticed.
struct VectorTileDamage: Error, CustomStringConvertible {
  var reason: String
  var offset: Int

  var description: String { "\(reason), at byte \(offset)" }
}
