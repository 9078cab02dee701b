import BothyCore
import NIOCore

extension Gzip {
  /// Decompresses bytes into `size` bytes of memory. `unpackedSize(of:limit:)` returns that size.
  static func decompress(_ bytes: [UInt8], size: Int) throws(Failure) -> ByteBuffer {
    var output = ByteBuffer()
    output.reserveCapacity(size)
    try inflate(bytes, limit: size, pieces: min(max(size, 1), 64 << 10)) { output.writeBytes($0) }
    return output
  }
}
