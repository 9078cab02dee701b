import CBothyZlib
package import Foundation

/// Gzip (RFC 1952) by the system's zlib, with bounded output.
package enum Gzip {
  package enum Failure: Error { case malformed, tooLarge, system(Int32) }

  /// The first bytes of each member.
  private static let magic: [UInt8] = [0x1F, 0x8B]

  package static func isPacked(_ data: Data) -> Bool { data.starts(with: magic) }

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
  ///
  /// Goes on with each further member that follows at once (RFC 1952 §2.2).
  @discardableResult
  package static func inflate(
    _ bytes: [UInt8], limit: Int, pieces: Int, _ take: (UnsafeRawBufferPointer) -> Void
  ) throws(Failure) -> (consumed: Int, size: Int) {
    var stream = z_stream()
    let begun = inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard begun == Z_OK else { throw .system(begun) }
    defer { inflateEnd(&stream) }
    var piece = [UInt8](repeating: 0, count: pieces)
    var (consumed, size) = (0, 0)
    while true {
      let (read, written) = (stream.total_in, stream.total_out)
      let status = run(&stream, bytes, &piece, from: consumed) { CBothyZlib.inflate(&$0, Z_NO_FLUSH) }
      let (taken, made) = (Int(stream.total_in - read), Int(stream.total_out - written))
      (consumed, size) = (consumed.addingClamped(taken), size.addingClamped(made))
      guard size <= limit else { throw .tooLarge }
      piece.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0.prefix(made))) }
      switch status {
      case Z_STREAM_END:
        guard bytes[consumed...].starts(with: magic) else { return (consumed, size) }
        guard inflateReset(&stream) == Z_OK else { throw .malformed }
      case Z_OK where made > 0 || taken > 0: continue
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
