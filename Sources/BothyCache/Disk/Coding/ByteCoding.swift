/// Writes numbers and texts as little-endian bytes, for the stored forms.
struct ByteWriter {
  var bytes: [UInt8] = []

  mutating func write<Number: FixedWidthInteger>(_ number: Number) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }

  /// Writes a number in seven bits a byte, the lowest first. Numbers near zero are short, negative ones too.
  mutating func write(short number: Int64) {
    var rest = UInt64(bitPattern: number << 1 ^ number >> 63)
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func write(counted content: some Collection<UInt8>) {
    write(UInt32(truncatingIfNeeded: content.count))
    bytes.append(contentsOf: content)
  }
}

/// Reads the output of `ByteWriter`. Past the end every value is `nil`.
struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  private(set) var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  mutating func read<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
    let size = MemoryLayout<Number>.size
    guard bytes.count - offset >= size else { return nil }
    defer { offset += size }
    return Number(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: type))
  }

  /// Reads what `ByteWriter.write(short:)` wrote.
  mutating func readShort() -> Int64? {
    var number: UInt64 = 0
    for shift in stride(from: 0, to: 64, by: 7) {
      guard let byte = read(UInt8.self) else { return nil }
      number |= UInt64(byte & 0x7F) << UInt64(shift)
      if byte < 0x80 { return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1) }
    }
    return nil
  }

  var isAtEnd: Bool { offset == bytes.count }

  mutating func read(count: Int) -> UnsafeRawBufferPointer? {
    guard let part = bytes.part(at: offset, count: count) else { return nil }
    offset += count
    return part
  }

  mutating func readCounted() -> UnsafeRawBufferPointer? {
    guard let count = read(UInt32.self) else { return nil }
    return read(count: Int(count))
  }

  mutating func readText() -> String? { readCounted().map { String(decoding: $0, as: UTF8.self) } }
}

extension UnsafeRawBufferPointer {
  /// Returns the bytes of a part, or `nil` for one that isn't inside.
  func part(at place: Int, count: Int) -> UnsafeRawBufferPointer? {
    guard place >= 0, count >= 0, place <= self.count, count <= self.count - place else { return nil }
    return UnsafeRawBufferPointer(rebasing: self[place..<place + count])
  }
}
