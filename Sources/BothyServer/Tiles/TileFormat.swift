import BothyGeo

/// What a tile is: how its addresses end, its media type, and whether packing it is of use.
enum TileFormat: String, CaseIterable, Sendable {
  case geojson, pbf, png, jpg, webp, avif

  /// By the end of a file's name or of an address, or as archives call it; nil for anything else.
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

  /// By the first bytes, for archives that don't say.
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

  /// The ends that names of files of this kind have.
  var endings: [String] {
    switch self {
    case .geojson: ["json", "geojson"]
    case .pbf: ["pbf", "mvt"]
    case .jpg: ["jpg", "jpeg"]
    case .png, .webp, .avif: [rawValue]
    }
  }

  /// The end of this kind of tile's addresses.
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

  /// Pictures are packed as they are.
  var gainsByPacking: Bool { self == .geojson || self == .pbf }

  /// The media type of a tile whose kind nobody knows is that of bytes.
  static let allMediaTypes = allCases.map(\.mediaType) + [Answer.bytesType]
}
