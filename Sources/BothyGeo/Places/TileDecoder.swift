import BothyCache
import BothyCore
import BothyStore
public import Foundation

/// A reader of tiles in a format of the app's own. A `PlaceStore` with one has places of such tiles.
///
/// ```swift
/// struct HutList: TileDecoder {
///   func features(in payload: Data, of tile: Tile, categories: CategoryTable) throws -> [TileFeature] {
///     let huts = try JSONDecoder().decode([String: [Double]].self, from: payload).map { name, place in
///       #"{"type": "Feature", "geometry": {"type": "Point", "coordinates": \#(place)}, "#
///         + #""properties": {"tourism": "wilderness_hut", "name": "\#(name)"}}"#
///     }
///     let json = #"{"type": "FeatureCollection", "features": [\#(huts.joined(separator: ", "))]}"#
///     return try TileFeature.decode(geoJSON: Data(json.utf8), categories: categories)
///   }
/// }
///
/// let huts = try PlaceStore(path: path, decoder: HutList())
/// ```
public protocol TileDecoder: Sendable {
  /// Returns the features of a tile. Equal bytes must give equal features.
  ///
  /// Called on any thread, before the tile is stored and again when the file of places needs its features anew. A thrown
  /// error says that the bytes aren't such a tile. They then replace no tile.
  ///
  /// - Parameters:
  ///   - payload: the bytes of the tile, without gzip. They may be empty.
  ///   - tile: the requested tile.
  ///   - categories: the table of the file of places, for `TileFeature.decode(geoJSON:categories:)`.
  func features(in payload: Data, of tile: Tile, categories: CategoryTable) throws -> [TileFeature]
}

/// Reads the bytes of tiles for a file of places: by the app's decoder, or as one of the known formats.
struct PlaceDecoder: Sendable {
  private let own: (any TileDecoder)?
  private let known: AnyTileDecoder
  /// A number that differs between decoders and schemas. Tiles that another one has read are decoded again.
  let identity: Int64

  /// - Parameters:
  ///   - schema: the meaning of vector tiles, which the app's decoder doesn't use.
  ///   - own: the app's decoder, or `nil` to read the known formats.
  ///   - version: the version of the app's decoder.
  init(_ schema: TileSchema?, _ own: (any TileDecoder)?, version: Int) {
    self.own = own
    known = AnyTileDecoder(schema: schema)
    identity = own.map { Self.identity(of: $0, version) } ?? schema?.identity ?? 0
  }

  private static func identity(of decoder: any TileDecoder, _ version: Int) -> Int64 {
    let name = Array("\(type(of: decoder)) \(version)".utf8)
    return Int64(bitPattern: XXH64.hash(name) >> 8 | 1)
  }

  /// Returns the features of a tile.
  ///
  /// Throws `BothyError`: `notATile` for bytes of another format, and `invalidCategories` for a vector tile that needs a
  /// schema.
  func features(
    in payload: Data, of tile: Tile, categories: CategoryTable
  ) throws(BothyError) -> [TileFeature] {
    guard let own else { return try known.decode(payload, of: tile, categories: categories).features }
    let content = Gzip.isPacked(payload) ? try TileFormat.unpacked(payload) : payload
    do { return try own.features(in: content, of: tile, categories: categories) } catch {
      throw BothyError(
        .notATile, "\(type(of: own)) can't read the tile: \(BothyError.cause(error)). Get it again.",
        underlying: error)
    }
  }
}
