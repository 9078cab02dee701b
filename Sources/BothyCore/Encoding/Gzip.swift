internal import CBothyZlib
package import Foundation

/// Gzip (RFC 1952) by the system's zlib: unpacking with bounded output, and packing.
package enum Gzip {
  package enum Failure: Error { case malformed, tooLarge }

  package static func isPacked(_ data: Data) -> Bool { data.starts(with: [0x1F, 0x8B]) }

  /// Throws `.tooLarge` as soon as there are more than `limit` bytes.
  package static func unpack(_ data: Data, limit: Int) throws(Failure) -> Data {
    var stream = z_stream()
    guard
      inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { throw .malformed }
    defer { inflateEnd(&stream) }
    var input = [UInt8](data)
    var output = Data()
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    var status = Z_OK
    input.withUnsafeMutableBufferPointer { bytes in
      stream.next_in = bytes.baseAddress
      stream.avail_in = UInt32(clamping: bytes.count)
      while status == Z_OK, output.count <= limit {
        piece.withUnsafeMutableBufferPointer { room in
          stream.next_out = room.baseAddress
          stream.avail_out = UInt32(room.count)
          status = inflate(&stream, Z_NO_FLUSH)
          output.append(contentsOf: room.prefix(room.count - Int(stream.avail_out)))
        }
      }
      stream.next_in = nil
      stream.next_out = nil
    }
    guard output.count <= limit else { throw .tooLarge }
    guard status == Z_STREAM_END else { throw .malformed }
    return output
  }

  package static func pack(_ data: Data) throws(Failure) -> Data {
    var stream = z_stream()
    let begun = deflateInit2_(
      &stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    guard begun == Z_OK else { throw .malformed }
    defer { deflateEnd(&stream) }
    var input = [UInt8](data)
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(data.count))))
    var status = Z_OK
    input.withUnsafeMutableBufferPointer { bytes in
      output.withUnsafeMutableBufferPointer { room in
        stream.next_in = bytes.baseAddress
        stream.avail_in = UInt32(clamping: bytes.count)
        stream.next_out = room.baseAddress
        stream.avail_out = UInt32(clamping: room.count)
        status = deflate(&stream, Z_FINISH)
        stream.next_in = nil
        stream.next_out = nil
      }
    }
    guard status == Z_STREAM_END else { throw .malformed }
    return Data(output.prefix(Int(stream.total_out)))
  }
}
