import CBothyZlib

/// Whole bodies in and out of gzip (RFC 1952), by the system's zlib, with bounded output.
enum Gzip {
  enum Failure: Error { case malformed, tooLarge, system(Int32) }

  /// Fast rather than small: level 1 halves JSON and more.
  static func compress(_ bytes: [UInt8], level: Int32 = 1) throws(Failure) -> [UInt8] {
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

  /// Throws `.tooLarge` as soon as the text grows beyond `limit` bytes.
  static func decompress(_ bytes: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
    var stream = z_stream()
    let begun = inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard begun == Z_OK else { throw .system(begun) }
    defer { inflateEnd(&stream) }
    var capacity = min(limit + 1, max(1024, bytes.count * 4))
    var output = [UInt8](repeating: 0, count: capacity)
    while true {
      let consumed = Int(stream.total_in)
      let written = Int(stream.total_out)
      let status = run(&stream, bytes, &output, from: consumed, to: written) { inflate(&$0, Z_NO_FLUSH) }
      if stream.total_out > limit { throw .tooLarge }
      switch status {
      case Z_STREAM_END:
        guard Int(stream.total_in) == bytes.count else { throw .malformed }
        output.removeLast(output.count - Int(stream.total_out))
        return output
      case Z_OK, Z_BUF_ERROR:
        guard Int(stream.total_out) == output.count else { throw .malformed }
        capacity = min(limit + 1, capacity * 4)
        output.append(contentsOf: repeatElement(0, count: capacity - output.count))
      default: throw .malformed
      }
    }
  }

  /// Lends input from `consumed` on and output from `written` on to one step of the stream.
  private static func run(
    _ stream: inout z_stream, _ bytes: [UInt8], _ output: inout [UInt8], from consumed: Int = 0,
    to written: Int = 0, _ step: (inout z_stream) -> Int32
  ) -> Int32 {
    bytes.withUnsafeBufferPointer { input in
      output.withUnsafeMutableBufferPointer { room in
        stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.advanced(by: consumed))
        stream.avail_in = UInt32(input.count - consumed)
        stream.next_out = room.baseAddress?.advanced(by: written)
        stream.avail_out = UInt32(room.count - written)
        let status = step(&stream)
        stream.next_in = nil
        stream.next_out = nil
        return status
      }
    }
  }
}
