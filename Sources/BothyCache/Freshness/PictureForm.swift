import BothyCore
internal import Foundation

/// The format of a picture by its bytes, and its size if its head has it.
struct PictureForm: Sendable, Hashable {
  enum Format: String, Sendable { case png, jpeg, gif, webp, avif, svg }

  var format: Format
  var size: Size?

  struct Size: Sendable, Hashable {
    var width: Int
    var height: Int
  }

  /// Returns `nil` for bytes that aren't a picture of a known format.
  init?(_ body: Data) {
    let head = [UInt8](body.prefix(4096))
    if head.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
      format = .png
      size = head.dropFirst(12).starts(with: Array("IHDR".utf8)) ? Self.size(head, 16, 20, bytes: 4) : nil
    } else if head.starts(with: [0xFF, 0xD8, 0xFF]) {
      format = .jpeg
      size = Self.jpegSize(head)
    } else if head.starts(with: Array("GIF8".utf8)) {
      format = .gif
      size = Self.size(head, 6, 8, bytes: 2, isLittleEndian: true)
    } else if head.starts(with: Array("RIFF".utf8)), head.dropFirst(8).starts(with: Array("WEBP".utf8)) {
      format = .webp
      size = Self.webpSize(head)
    } else if head.dropFirst(4).starts(with: Array("ftypavi".utf8)) {
      format = .avif
    } else if Self.isDrawing(head) {
      format = .svg
    } else {
      return nil
    }
  }

  /// True if another picture may replace this one. It needs an equal format, and an equal size if both sizes are known.
  func isLike(_ other: PictureForm) -> Bool {
    format == other.format && (size == nil || other.size == nil || size == other.size)
  }

  /// True if the picture is as wide as it is high, or `nil` if its size isn't known.
  var isSquare: Bool? { size.map { $0.width == $0.height } }

  /// True if the picture has so few bytes for its size that it hardly shows more than one color, as one of the sea.
  ///
  /// Deflate makes equal bytes 1032 times as short at best, and a pixel has up to four bytes. JPEG repeats up to 14 bits
  /// for each square of 64 pixels of one color, so such bytes count as packed.
  func isBlank(_ body: Data) -> Bool {
    let pixels = size.map { $0.width * $0.height } ?? 0
    let most = Self.blankBytes + pixels / 256
    if body.count <= most { return format != .svg }
    guard format == .jpeg, body.count <= Self.blankBytes + pixels / 32, let packed = try? Gzip.pack(body)
    else { return false }
    return packed.count <= most
  }

  /// The bytes that a picture of one color may have besides its pixels.
  private static let blankBytes = 1024

  /// True if the bytes extend to the end mark of a picture of this format.
  func isWhole(_ body: Data) -> Bool {
    let tail = [UInt8](body.suffix(64))
    switch format {
    case .png: return Self.contains(tail, Array("IEND".utf8) + [0xAE, 0x42, 0x60, 0x82])
    case .jpeg: return Self.contains(tail, [0xFF, 0xD9])
    case .gif: return tail.last == 0x3B
    case .webp:
      let head = [UInt8](body.prefix(8))
      return head.count == 8 && body.count >= Self.number(head, 4, 4, isLittleEndian: true) + 8
    case .avif: return Self.fillsBoxes(body)
    case .svg: return Self.contains(tail, Array("</svg>".utf8))
    }
  }

  /// The form as a text, such as `png 256x256`.
  var text: String { format.rawValue + (size.map { " \($0.width)x\($0.height)" } ?? "") }

  private static let longestEdge = 16_384

  private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    guard bytes.count >= part.count else { return false }
    return (0...bytes.count - part.count).contains { bytes[$0...].starts(with: part) }
  }

  /// Returns the number at a place, or 0 beyond the end.
  private static func number(_ bytes: [UInt8], _ place: Int, _ count: Int, isLittleEndian: Bool = false)
    -> Int
  {
    guard place + count <= bytes.count else { return 0 }
    let part = bytes[place..<place + count]
    return isLittleEndian
      ? part.reversed().reduce(0) { $0 << 8 | Int($1) } : part.reduce(0) { $0 << 8 | Int($1) }
  }

  private static func size(_ width: Int, _ height: Int) -> Size? {
    guard (1...longestEdge).contains(width), (1...longestEdge).contains(height) else { return nil }
    return Size(width: width, height: height)
  }

  private static func size(
    _ bytes: [UInt8], _ width: Int, _ height: Int, bytes count: Int, isLittleEndian: Bool = false
  ) -> Size? {
    size(
      number(bytes, width, count, isLittleEndian: isLittleEndian),
      number(bytes, height, count, isLittleEndian: isLittleEndian))
  }

  /// Returns the size in the first frame header, or `nil` if that is beyond the examined bytes.
  private static func jpegSize(_ bytes: [UInt8]) -> Size? {
    var place = 2
    while place + 9 < bytes.count, bytes[place] == 0xFF {
      let marker = bytes[place + 1]
      if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
        return size(number(bytes, place + 7, 2), number(bytes, place + 5, 2))
      }
      place += 2 + max(2, number(bytes, place + 2, 2))
    }
    return nil
  }

  private static func webpSize(_ bytes: [UInt8]) -> Size? {
    let kind = bytes.dropFirst(12).prefix(4)
    if kind.elementsEqual(Array("VP8X".utf8)) {
      return size(
        number(bytes, 24, 3, isLittleEndian: true) + 1, number(bytes, 27, 3, isLittleEndian: true) + 1)
    }
    if kind.elementsEqual(Array("VP8L".utf8)) {
      let bits = number(bytes, 21, 4, isLittleEndian: true)
      return size(bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
    }
    return size(
      number(bytes, 26, 2, isLittleEndian: true) & 0x3FFF, number(bytes, 28, 2, isLittleEndian: true) & 0x3FFF
    )
  }

  private static func isDrawing(_ head: [UInt8]) -> Bool {
    let text = String(
      decoding: head.prefix(512).drop { [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) },
      as: UTF8.self
    )
    .lowercased()
    guard text.hasPrefix("<svg") || text.hasPrefix("<?xml") || text.hasPrefix("<!--") else { return false }
    return text.contains("<svg") && !text.contains("<html")
  }

  /// True if the boxes of an ISO media file fill the bytes exactly.
  private static func fillsBoxes(_ body: Data) -> Bool {
    var place = 0
    while place < body.count {
      let head = [UInt8](body.dropFirst(place).prefix(16))
      guard head.count >= 8 else { return false }
      let size = number(head, 0, 4)
      if size == 0 { return true }
      guard size >= 8, size <= body.count - place else { return false }
      place += size
    }
    return place == body.count
  }
}
