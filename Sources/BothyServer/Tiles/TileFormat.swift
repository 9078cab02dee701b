import BothyGeo

/// The format of a tile, with its extension and its media type.
enum TileFormat: String, CaseIterable, Sendable {
  case geojson, pbf, png, jpg, webp, avif

  /// Returns the format of an extension, or of the name that archives use, or `nil` for other text.
  init?(name: some StringProtocol) {
    switch name.lowercased() {
    case "geojson", "json": self = .geojson
    case "pbf", "mvt": self = .pbf
    case "png": self = .png
    case "jpg", "jpeg": self = .jpg
    case "webp": self = .webp
    case "avif": self = .avif
    default: return nil
    }
  }

  /// Returns the format of the first bytes of a tile, for archives that don't state it.
  init?(bytes: some Collection<UInt8>) {
    let head = Array(bytes.prefix(12))
    if head.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
      self = .png
    } else if head.starts(with: [0xFF, 0xD8, 0xFF]) {
      self = .jpg
    } else if head.starts(with: Array("RIFF".utf8)), head.dropFirst(8).starts(with: Array("WEBP".utf8)) {
      self = .webp
    } else if head.first == UInt8(ascii: "{") {
      self = .geojson
    } else {
      return nil
    }
  }

  /// The extensions of files of this format.
  var endings: [String] {
    switch self {
    case .geojson: ["json", "geojson"]
    case .pbf: ["pbf", "mvt"]
    case .jpg: ["jpg", "jpeg"]
    case .png, .webp, .avif: [rawValue]
    }
  }

  /// The extension of this format's addresses.
  var ending: String { self == .geojson ? "json" : rawValue }

  var mediaType: String {
    switch self {
    case .geojson: "application/geo+json"
    case .pbf: "application/vnd.mapbox-vector-tile"
    case .png: "image/png"
    case .jpg: "image/jpeg"
    case .webp: "image/webp"
    case .avif: "image/avif"
    }
  }

  /// True if compression makes tiles of this format smaller. Images are compressed already.
  var gainsByPacking: Bool { self == .geojson || self == .pbf }

  /// All media types of tiles. A tile of unknown format has the media type of bytes.
  static let allMediaTypes = allCases.map(\.mediaType) + [ServerResponse.bytesType]
}
