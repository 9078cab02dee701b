import BothyGeo
import BothyStore
import Foundation

/// The tiles of one source, from an archive or a folder.
protocol ServedTiles: Sendable {
  /// Returns the place of a tile that may exist, without reading it. A `format` of `nil` accepts any.
  func locate(_ tile: Tile, as format: TileFormat?) -> TilePlace?

  /// Returns the tile as it is stored, or `nil` if it doesn't exist.
  func read(_ tile: Tile, at place: TilePlace) async throws -> StoredTile?

  /// Returns the description of the source, or `nil` if it has no tiles at all.
  func summary() async throws -> TileSummary?
}

/// The place of a tile: the file, the version of that file, and the tile's format if it is known.
struct TilePlace: Sendable {
  var file: String
  var stamp: FileVersion
  var format: TileFormat?
}

/// A tile's bytes as they are stored.
struct StoredTile: Sendable {
  var data: Data
  var format: TileFormat?
  var packing: TileArchiveInfo.Compression
  /// The version of the file after it was read, or `nil` if the file was deleted.
  var stamp: FileVersion?

  static func isGzip(_ data: Data) -> Bool { data.starts(with: [0x1F, 0x8B]) }
}

/// The description of a source of tiles.
struct TileSummary: Sendable {
  var name: String?
  var attribution: String?
  var about: String?
  var format: TileFormat?
  var zooms: ZoomRange
  var bounds: GeoBox
  /// The layers of vector tiles, as the archive describes them.
  var layers: JSONValue?

  /// Returns the TileJSON document (version 3.0.0) of tiles at an address.
  func tileJSON(_ id: String, at address: String) -> JSONValue {
    let bounds = bounds.stated
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
