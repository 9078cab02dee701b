import NIOCore

/// Follows the bytes that a parser is given, to know when it is at the start of a request.
///
/// Knows it of requests that cannot be anything but lines up to an empty one: GET and HEAD, with no body and no change of
/// the protocol. After anything else it says no more that the parser is at a start, because then a body could be taken for
/// a request.
struct RequestBlocks {
  /// How many requests were whole.
  private(set) var count = 0
  /// What came since the last one's end.
  private var open = ByteBuffer()
  private var isLost = false

  /// The most that is looked through for the end of a request.
  static let longest = 16 << 10

  /// Whether all that came were requests, and whole.
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

  /// The bytes up to the first empty line, with it.
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
        // No part of an empty line: it cannot end before the fourth byte behind this one.
        default: last += 4
        }
      }
      return nil
    }
    return length.flatMap { bytes.getSlice(at: bytes.readerIndex, length: $0) }
  }

  /// Whether a block is a request without a body, or none at all, however it is read: lines end as they should, and no
  /// field speaks of a body or of another protocol.
  private static func isPlain(_ block: ByteBuffer) -> Bool {
    let text = Array(block.readableBytesView)
    guard text.starts(with: "GET ".utf8) || text.starts(with: "HEAD ".utf8) else { return false }
    var lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // Behind the last line feed.
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
