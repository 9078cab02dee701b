import CBothyZlib
package import Foundation

/// Gzip (RFC 1952) by the system's zlib, with bounded output.
package enum Gzip {
  package enum Failure: Error { case malformed, tooLarge, system(Int32) }

  package static func isPacked(_ data: Data) -> Bool { data.starts(with: [0x1F, 0x8B]) }

  /// Compresses all of `data` for size rather than speed.
  package static func pack(_ data: Data) throws(Failure) -> Data {
    Data(try compress([UInt8](data), level: 6))
  }

  /// Decompresses `data`, and ignores bytes after the end. Throws `.tooLarge` as soon as the result has more than
  /// `limit` bytes.
  package static func unpack(_ data: Data, limit: Int) throws(Failure) -> Data {
    var output = Data()
    try inflate([UInt8](data), limit: limit, pieces: 1 << 16) { output.append(contentsOf: $0) }
    return output
  }

  /// Compresses all of `bytes`. Level 1 is fast and at least halves JSON.
  package static func compress(_ bytes: [UInt8], level: Int32 = 1) throws(Failure) -> [UInt8] {
    var stream = z_stream()
    let begun = deflateInit2_(
      &stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    guard begun == Z_OK else { throw .system(begun) }
    defer { deflateEnd(&stream) }
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
    let status = run(&stream, bytes, &output) { deflate(&$0, Z_FINISH) }
    guard status == Z_STREAM_END else { throw .system(status) }
    output.removeLast(output.count - Int(stream.total_out))
    return output
  }

  /// Returns the number of bytes that the data decompresses to. Throws `.tooLarge` as soon as there are more than
  /// `limit`, and `.malformed` for bytes after the end. Uses 64 KiB of memory at any size.
  package static func unpackedSize(of bytes: [UInt8], limit: Int) throws(Failure) -> Int {
    let (consumed, size) = try inflate(bytes, limit: limit, pieces: 64 << 10) { _ in }
    guard consumed == bytes.count else { throw .malformed }
    return size
  }

  /// Calls `take` with each piece of the content in order. Returns the number of bytes read and of bytes produced.
  @discardableResult
  package static func inflate(
    _ bytes: [UInt8], limit: Int, pieces: Int, _ take: (UnsafeRawBufferPointer) -> Void
  ) throws(Failure) -> (consumed: Int, size: Int) {
    var stream = z_stream()
    let begun = inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard begun == Z_OK else { throw .system(begun) }
    defer { inflateEnd(&stream) }
    var piece = [UInt8](repeating: 0, count: pieces)
    while true {
      let (consumed, written) = (Int(stream.total_in), Int(stream.total_out))
      let status = run(&stream, bytes, &piece, from: consumed) { CBothyZlib.inflate(&$0, Z_NO_FLUSH) }
      let made = Int(stream.total_out) - written
      guard stream.total_out <= limit else { throw .tooLarge }
      piece.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0.prefix(made))) }
      switch status {
      case Z_STREAM_END: return (Int(stream.total_in), Int(stream.total_out))
      case Z_OK where made > 0 || Int(stream.total_in) > consumed: continue
      default: throw .malformed
      }
    }
  }

  /// Passes the input from `consumed` on, and the output, to one step of the stream.
  private static func run(
    _ stream: inout z_stream, _ bytes: [UInt8], _ output: inout [UInt8], from consumed: Int = 0,
    _ step: (inout z_stream) -> Int32
  ) -> Int32 {
    bytes.withUnsafeBufferPointer { input in
      output.withUnsafeMutableBufferPointer { room in
        stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.advanced(by: consumed))
        stream.avail_in = UInt32(input.count - consumed)
        stream.next_out = room.baseAddress
        stream.avail_out = UInt32(room.count)
        let status = step(&stream)
        stream.next_in = nil
        stream.next_out = nil
        return status
      }
    }
  }
}
