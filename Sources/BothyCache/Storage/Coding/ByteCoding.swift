/// Writes numbers and texts as little-endian bytes, for the stored forms.
struct ByteWriter {
  var bytes: [UInt8] = []

  mutating func write<Number: FixedWidthInteger>(_ number: Number) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
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

  mutating func read(count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, bytes.count - offset >= count else { return nil }
    defer { offset += count }
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
  }

  mutating func readCounted() -> UnsafeRawBufferPointer? {
    guard let count = read(UInt32.self) else { return nil }
    return read(count: Int(count))
  }

  mutating func readText() -> String? { readCounted().map { String(decoding: $0, as: UTF8.self) } }
}
