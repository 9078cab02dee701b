internal import Foundation
internal import HTTPTypes

/// What is expected of a source that does not say what its bytes look like: what a resource is called and what is
/// stored of it tell that a web page in its place is none of the source's.
struct ContentGuard: Sendable {
  /// Whether a web page can't be what was asked for.
  private let refusesPages: Bool
  /// Whether what is stored is a picture, which only another picture may replace.
  private let wantsPicture: Bool

  init(_ key: ResourceKey, stored: StoredEntry?) {
    var kind: ContentKind?
    if let stored, !stored.isAbsent, !stored.entry.body.isEmpty {
      kind = ContentKind(stored.entry.metadata.fields, stored.entry.body)
    }
    wantsPicture = kind == .picture
    refusesPages = Self.namesNoPage(key.name) || kind.map { $0 != .page && $0 != .text } ?? false
  }

  /// Why an answer is not what is expected; nil when it may be.
  func mismatch(fields: HTTPFields, body: Data) -> ContentMismatch? {
    guard !body.isEmpty else { return nil }
    let kind = ContentKind(fields, body)
    let isRefused = kind == .page && refusesPages || wantsPicture && kind != .picture
    guard isRefused else { return nil }
    return ContentKind.mediaType(fields).map { .mediaType($0) } ?? .bytes
  }

  /// Tiles are never pages; of other resources the ending tells.
  private static func namesNoPage(_ name: ResourceKey.Name) -> Bool {
    guard case .path(let path) = name else { return true }
    let file = path.prefix { $0 != "?" }.split(separator: "/").last ?? ""
    guard let dot = file.lastIndex(of: ".") else { return false }
    return endings.contains(file[file.index(after: dot)...].lowercased())
  }

  private static let endings: Set<String> = [
    "png", "jpg", "jpeg", "gif", "webp", "avif", "heic", "svg", "ico", "bmp", "tif", "tiff", "json",
    "geojson",
    "topojson", "pbf", "mvt", "terrain", "css", "js", "mjs", "wasm", "map", "woff", "woff2", "ttf", "otf",
    "mp3",
    "m4a", "ogg", "mp4", "webm", "zip", "gz", "pmtiles", "mbtiles", "sqlite", "csv", "gpx", "pdf",
  ]
}

/// What bytes are, by how they begin, and by what they are called where that does not tell.
enum ContentKind: Sendable, Hashable {
  /// A picture, by its first bytes or its media type.
  case picture
  case json
  /// HTML.
  case page
  /// Bytes that are no text, and texts of a media type that is no page's.
  case data
  /// Text that nothing else is known of.
  case text

  init(_ fields: HTTPFields, _ body: Data) {
    let start = Array(body.prefix(512))
    let type = Self.mediaType(fields) ?? ""
    let text = start.drop { [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }
    if Self.pictures.contains(where: { start.starts(with: $0) }) || start.dropFirst(4).starts(with: Self.avif)
    {
      self = .picture
    } else if start.contains(where: { $0 < 9 }) || start.starts(with: [0x1F, 0x8B]) {
      self = type.hasPrefix("image/") ? .picture : .data
    } else if text.first == UInt8(ascii: "{") || text.first == UInt8(ascii: "[") {
      self = .json
    } else if Self.pageTypes.contains(type) || Self.beginsPage(text) {
      self = .page
    } else if type.hasPrefix("image/") {
      self = .picture
    } else {
      self = type.isEmpty || type.hasPrefix("text/") ? .text : .data
    }
  }

  /// In lower case, without parameters; nil without the field.
  static func mediaType(_ fields: HTTPFields) -> String? {
    fields[.contentType].map { said in
      ListReader.trimmed(said.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)[0])
        .lowercased()
    }
  }

  private static func beginsPage(_ text: ArraySlice<UInt8>) -> Bool {
    let start = String(decoding: text.prefix(15), as: UTF8.self).lowercased()
    return start.hasPrefix("<!doctype html") || start.hasPrefix("<html")
  }

  private static let pageTypes: Set<String> = ["text/html", "application/xhtml+xml"]
  private static let avif = Array("ftypavif".utf8)
  private static let pictures: [[UInt8]] = [
    [0x89, 0x50, 0x4E, 0x47], [0xFF, 0xD8, 0xFF], Array("GIF8".utf8), Array("RIFF".utf8),
  ]
}
