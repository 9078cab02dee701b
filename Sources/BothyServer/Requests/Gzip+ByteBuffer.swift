import BothyCore
import NIOCore

extension Gzip {
  /// Unpacks what has `size` bytes, as `unpackedSize(of:limit:)` says, into as much memory.
  static func decompress(_ bytes: [UInt8], size: Int) throws(Failure) -> ByteBuffer {
    var output = ByteBuffer()
    output.reserveCapacity(size)
    try inflate(bytes, limit: size, pieces: min(max(size, 1), 64 << 10)) { output.writeBytes($0) }
    return output
  }
}
