import NIOCore

/// Tracks the bytes that a parser receives, to know when it is at the start of a request.
///
/// It recognizes requests that can only be lines up to an empty one: GET and HEAD, without a body or a change of the
/// protocol. After any other request it never reports a start again, because a body could be taken for a request.
struct RequestBlocks {
  /// The number of complete requests.
  private(set) var count = 0
  /// The bytes since the end of the last complete request.
  private var open = ByteBuffer()
  private var isLost = false

  /// The largest number of bytes searched for the end of a request.
  static let longest = 16 << 10

  /// True if all bytes so far were complete requests.
  var isAtStart: Bool { !isLost && open.readableBytes == 0 }

  mutating func take(_ bytes: ByteBuffer) {
    guard !isLost else { return }
    open.writeImmutableBuffer(bytes)
    while let block = Self.first(in: open) {
      guard Self.isPlain(block) else { return lose() }
      count += 1
      open.moveReaderIndex(forwardBy: block.readableBytes)
    }
    if open.readableBytes == 0 { open = ByteBuffer() } else if open.readableBytes > Self.longest { lose() }
  }

  private mutating func lose() { (isLost, open) = (true, ByteBuffer()) }

  /// Returns the bytes up to and including the first empty line.
  static func first(in bytes: ByteBuffer) -> ByteBuffer? {
    let length = bytes.withUnsafeReadableBytes { bytes -> Int? in
      var last = 3
      while last < bytes.count {
        switch bytes[last] {
        case UInt8(ascii: "\n"):
          if bytes[last - 1] == UInt8(ascii: "\r"), bytes[last - 2] == UInt8(ascii: "\n"),
            bytes[last - 3] == UInt8(ascii: "\r")
          {
            return last + 1
          }
          last += 2
        case UInt8(ascii: "\r"): last += 1
        // This byte isn't part of an empty line, so none can end before the fourth byte after it.
        default: last += 4
        }
      }
      return nil
    }
    return length.flatMap { bytes.getSlice(at: bytes.readerIndex, length: $0) }
  }

  /// True if every parser reads a block as a request without a body, or as an invalid one. Its lines end as they
  /// should, and no field describes a body or another protocol.
  private static func isPlain(_ block: ByteBuffer) -> Bool {
    let text = Array(block.readableBytesView)
    guard text.starts(with: "GET ".utf8) || text.starts(with: "HEAD ".utf8) else { return false }
    var lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // The text after the last line feed.
    lines.removeLast()
    return lines.allSatisfy { line in
      guard line.last == UInt8(ascii: "\r"), !line.dropLast().contains(UInt8(ascii: "\r")) else {
        return false
      }
      let name = String(decoding: line.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self).lowercased()
      return !name.contains("content-length") && !name.contains("transfer-encoding") && name != "upgrade"
    }
  }
}
