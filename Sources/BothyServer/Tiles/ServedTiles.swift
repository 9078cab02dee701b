import BothyGeo
import BothyStore
import Foundation

/// The tiles of one source, wherever they lie.
protocol ServedTiles: Sendable {
  /// Where a tile is, if it may be there; costs no reading. `format` nil takes whatever there is.
  func locate(_ tile: Tile, as format: TileFormat?) -> TilePlace?

  /// The tile as it is stored; nil where there is none.
  func read(_ tile: Tile, at place: TilePlace) async throws -> StoredTile?

  /// What is said of the source; nil where there are no tiles at all.
  func summary() async throws -> TileSummary?
}

/// Where a tile is: the file, the version of that file, and what the tile is as far as that is known.
struct TilePlace: Sendable {
  var file: String
  var stamp: FileStamp
  var format: TileFormat?
}

/// A tile's bytes as they are stored.
struct StoredTile: Sendable {
  var data: Data
  var format: TileFormat?
  var packing: TileArchiveInfo.Compression
  /// The version of the file after it was read; nil when it is gone.
  var stamp: FileStamp?

  static func isGzip(_ data: Data) -> Bool { data.starts(with: [0x1F, 0x8B]) }
}

/// What is said of a source of tiles.
struct TileSummary: Sendable {
  var name: String?
  var attribution: String?
  var about: String?
  var format: TileFormat?
  var zooms: ZoomRange
  var bounds: GeoBox
  /// The layers of vector tiles, as the archive describes them.
  var layers: JSONValue?

  /// The TileJSON document (version 3.0.0), whose tiles are at an address.
  func tileJSON(_ id: String, at address: String) -> JSONValue {
    var members: [String: JSONValue] = [
      "tilejson": "3.0.0", "scheme": "xyz", "name": .string(name ?? id),
      "tiles": [.string(address + "/{z}/{x}/{y}" + (format.map { "." + $0.ending } ?? ""))],
      "minzoom": .int(Int64(zooms.lowest)), "maxzoom": .int(Int64(zooms.highest)),
      "bounds": [.double(bounds.west), .double(bounds.south), .double(bounds.east), .double(bounds.north)],
    ]
    if let attribution { members["attribution"] = .string(attribution) }
    if let about { members["description"] = .string(about) }
    if format == .pbf { members["vector_layers"] = layers ?? [] }
    return .object(members)
  }
}
