import BothyStore
import Foundation

extension PMTilesHeader {
  /// The content of a header to write. The parts follow each other, the root directory first.
  struct Fields {
    var lengths: (root: Int, metadata: Int, leaves: Int, contents: UInt64) = (0, 0, 0, 0)
    var counts: (tiles: UInt64, entries: UInt64, contents: UInt64)
    var compression = TileArchiveInfo.Compression.none
    var format: String?
    var zooms: (lowest: Int, highest: Int)
    var bounds: GeoBox

    init(
      _ info: TileArchiveInfo, zooms: (lowest: Int, highest: Int),
      _ counts: (tiles: UInt64, entries: UInt64, contents: UInt64)
    ) {
      format = info.tileFormat
      self.zooms = zooms
      self.counts = counts
      // Reading doesn't depend on it.
      bounds = ((try? info.bounds.checked()) ?? TileArchiveInfo.wholeMap).stated
    }

    var encoded: Data {
      var data = Data("PMTiles".utf8) + [3]
      func append(_ number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
      }
      func append(degrees: Double) {
        withUnsafeBytes(of: Int32((degrees * 1e7).rounded()).littleEndian) { data.append(contentsOf: $0) }
      }
      var offset = UInt64(PMTilesHeader.size)
      let sizes = [lengths.root, lengths.metadata, lengths.leaves].map { UInt64($0) } + [lengths.contents]
      for size in sizes {
        append(offset)
        append(size)
        offset += size
      }
      for count in [counts.tiles, counts.entries, counts.contents] { append(count) }
      // Contents are in the order of the tiles. Directories are packed with gzip.
      data.append(contentsOf: [1, 2, PMTilesHeader.number(of: compression), PMTilesHeader.number(of: format)])
      data.append(contentsOf: [UInt8(clamping: zooms.lowest), UInt8(clamping: zooms.highest)])
      for degrees in [bounds.west, bounds.south, bounds.east, bounds.north] { append(degrees: degrees) }
      data.append(UInt8(clamping: zooms.lowest))
      append(degrees: bounds.center.longitude)
      append(degrees: bounds.center.latitude)
      return data
    }
  }

  private static func number(of compression: TileArchiveInfo.Compression) -> UInt8 {
    switch compression {
    case .unknown: 0
    case .none: 1
    case .gzip: 2
    case .brotli: 3
    case .zstd: 4
    }
  }

  private static func number(of format: String?) -> UInt8 {
    switch format {
    case "pbf", "mvt": 1
    case "png": 2
    case "jpg", "jpeg": 3
    case "webp": 4
    case "avif": 5
    default: 0
    }
  }
}

/// The metadata of an archive as the document that PMTiles stores.
enum PMTilesMetadata {
  /// The metadata that the header has already.
  private static let saidElsewhere: Set = ["bounds", "center", "format", "minzoom", "maxzoom", "json"]

  static func text(_ info: TileArchiveInfo) -> String {
    var members: [String: JSONValue] = [:]
    // MBTiles stores the layers of vector tiles in a document within its metadata.
    if let json = info.metadata["json"], let inner = document(json)?.objectValue { members = inner }
    for (name, text) in info.metadata where !saidElsewhere.contains(name) {
      members[name] = document(text) ?? .string(text)
    }
    members["name"] = info.name.map { .string($0) } ?? members["name"]
    members["attribution"] = info.attribution.map { .string($0) } ?? members["attribution"]
    return JSONValue.object(members).canonicalText
  }

  /// Parses a text that is a list or an object. Returns `nil` for all other texts.
  private static func document(_ text: String) -> JSONValue? {
    // Other content is plain text.
    guard let value = try? JSONValue(parsing: Data(text.utf8)) else { return nil }
    return value.arrayValue != nil || value.objectValue != nil ? value : nil
  }
}
