import BothyCore
internal import Foundation
internal import HTTPTypes

/// The kind of some bytes, by their content, or by their media type if the content does not decide.
enum ContentKind: Sendable, Hashable {
  /// A picture, by its first bytes or its media type.
  case picture
  /// A vector tile, by its structure. Geometry isn't checked.
  case vectorTile
  case json
  /// HTML, or a script instead of it. Sign-in pages are of this kind.
  case page
  /// Bytes that aren't text, or a text whose media type isn't that of a page.
  ///
  /// Packed bytes that can't be unpacked to 64 MiB count as such.
  case data
  /// Text of an unknown kind, without a media type or with one of text.
  case text

  /// Determines the kind. Bytes that the server packed with gzip are unpacked first, even if its fields do not say so.
  init(_ fields: HTTPFields, _ body: Data) {
    let type = Self.mediaType(fields) ?? ""
    guard Gzip.isPacked(body) else {
      self = Self.kind(of: body, type)
      return
    }
    // Bytes that can't be unpacked within the limit are of an unknown kind.
    self = (try? Gzip.unpack(body, limit: Self.unpackedLimit)).map { Self.kind(of: $0, "") } ?? .data
  }

  private static let unpackedLimit = 64 << 20

  private static func kind(of body: Data, _ type: String) -> ContentKind {
    if PictureForm(body) != nil { return .picture }
    if VectorTileForm.isWhole(body) { return .vectorTile }
    let head = Array(body.prefix(1024))
    let wide = wideText(head)
    if wide == nil, head.contains(where: { $0 < 9 }) { return type.hasPrefix("image/") ? .picture : .data }
    let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
    let text = wide ?? String(decoding: head.drop { blanks.contains($0) }, as: UTF8.self).lowercased()
    if text.hasPrefix("{") || text.hasPrefix("[") { return .json }
    if pageTypes.contains(type) || isPage(text) { return .page }
    if wide != nil { return .text }
    if type.hasPrefix("image/") { return .picture }
    return type.isEmpty || type.hasPrefix("text/") ? .text : .data
  }

  /// True if JSON is that of a map: GeoJSON, TopoJSON or a grid of texts. Bytes that are packed with gzip are unpacked.
  static func isMapData(_ body: Data) -> Bool {
    let text = Gzip.isPacked(body) ? (try? Gzip.unpack(body, limit: unpackedLimit)) ?? Data() : body
    return ["\"Feature", "\"coordinates\"", "\"arcs\"", "\"grid\""].contains { member in
      text.range(of: Data(member.utf8)) != nil
    }
  }

  /// True if the bytes are a text that begins as HTML and XML do.
  static func isMarkup(_ body: Data) -> Bool {
    let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
    let head = body.prefix(1024).drop { blanks.contains($0) }
    return head.first == UInt8(ascii: "<") && !head.contains { $0 < 9 }
  }

  /// Returns the media type in lower case and without parameters, or `nil` without the field.
  static func mediaType(_ fields: HTTPFields) -> String? {
    fields[.contentType].map { said in
      ListReader.trimmed(said.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)[0])
        .lowercased()
    }
  }

  static let pageTypes: Set<String> = ["text/html", "application/xhtml+xml"]

  /// Returns the beginning of a text in UTF-16, in lower case, or `nil` for other bytes.
  private static func wideText(_ head: [UInt8]) -> String? {
    let isLittle = head.starts(with: [0xFF, 0xFE]) || head.starts(with: [0x3C, 0x00])
    guard isLittle || head.starts(with: [0xFE, 0xFF]) || head.starts(with: [0x00, 0x3C]) else { return nil }
    let units = stride(from: 0, to: head.count - 1, by: 2).map { place in
      let (first, second) = (UInt16(head[place]), UInt16(head[place + 1]))
      return isLittle ? second << 8 | first : first << 8 | second
    }
    return String(decoding: units, as: UTF16.self).lowercased()
      .trimmingCharacters(in: .whitespacesAndNewlines.union(CharacterSet(charactersIn: "\u{FEFF}")))
  }

  private static func isPage(_ text: String) -> Bool {
    guard text.hasPrefix("<") else { return false }
    return ["<!doctype html", "<html", "<head", "<body", "<script"].contains { text.contains($0) }
  }
}
