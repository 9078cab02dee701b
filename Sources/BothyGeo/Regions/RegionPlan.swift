public import BothyCache

/// The plan of an offline region: an area of the map, at some zooms, of one source or of all that a style needs.
///
/// A plain value. `OfflineRegions.estimate(_:)` says how large it is, and `create(_:)` makes a region of it.
public struct RegionPlan: Sendable, Hashable {
  /// The name for users. No other region has the same name.
  package var name: String
  /// The source of the tiles, or of the style, which the cache must know.
  ///
  /// It must allow bulk downloads (`allowsBulkDownload`). A source that is a file on this device needs no region.
  public var source: SourceID
  /// The area of the map. Each tile with a part of it is loaded.
  public var area: RegionArea
  /// The zooms, all of which the source must have. With a style, the zooms of the map.
  ///
  /// Each further zoom has about four times as many tiles as the one before.
  public var zooms: ZoomRange
  /// All that the style needs, or `nil` for tiles of one source.
  package var map: MapClosure?

  /// Describes a region. `OfflineRegions.create` checks it.
  ///
  /// The name is for people. It must not be empty, and no other region of the list may have it.
  public init(name: String, source: SourceID, area: RegionArea, zooms: ZoomRange) {
    self.name = name
    self.source = source
    self.area = area
    self.zooms = zooms
  }

  /// Describes a region with all that a renderer requests to draw a style there, between two zooms of the map.
  ///
  /// That is the style, its TileJSON documents, the tiles of its sources, all glyphs of its fonts, its sprites and its
  /// GeoJSON.
  ///
  /// Glyphs are 256 requests for each list of fonts. They are loaded once for all regions. A map that is tilted shows
  /// coarser tiles at its horizon, so give it a lower zoom to begin with.
  public init(name: String, style: MapStyle, area: RegionArea, zooms: ZoomRange) {
    self.init(name: name, source: style.source, area: area, zooms: zooms)
    map = style.closure
  }

  /// Returns the tiles of a region of one source, coarse ones first. Throws `BothyError` for an invalid area.
  package func tiles() throws(BothyError) -> RegionTiles { try RegionTiles(area, zooms: zooms) }

  /// The keys of the style and its TileJSON documents, at the beginning of `keys()`.
  var documentKeys: [ResourceKey] { map.map { $0.keys($0.requestedDocuments, of: source) } ?? [] }

  /// Returns the keys of all that the region has. Throws `BothyError` for an invalid area.
  package func keys() throws(BothyError) -> RegionKeys { try RegionKeys(self) }
}

/// The estimated size of a region. The number of tiles is exact, and the bytes are a guess.
///
/// Tiles that are stored already, or shared with other regions, are counted too.
public struct RegionEstimate: Sendable, Hashable {
  /// The exact number of its tiles. With a style, it includes the other resources.
  public var tiles: Int
  /// The number of tiles times the mean size of the source's stored tiles on the disk, or 16 KB if it has none.
  ///
  /// A style's sources are estimated one by one. A sum that doesn't fit is `Int64.max`.
  public var bytes: Int64
  /// The mean size on disk of the source's stored tiles, in bytes.
  package var bytesPerTile: Int64
  /// The number of stored tiles of the source behind the mean, or 0 if none is stored and `assumedBytesPerTile` is
  /// used.
  package var sample: Int

  /// The assumed size of a tile of a source without stored tiles: 16 KB.
  package static let assumedBytesPerTile: Int64 = 16_384

  /// Adds up estimates of several sources.
  init(adding parts: [RegionEstimate]) {
    tiles = parts.reduce(0) { $0 + $1.tiles }
    sample = parts.reduce(0) { $0 + $1.sample }
    bytes = parts.reduce(0) { sum, part in
      let (total, overflow) = sum.addingReportingOverflow(part.bytes)
      return overflow ? .max : total
    }
    bytesPerTile = tiles > 0 ? max(1, bytes / Int64(tiles)) : Self.assumedBytesPerTile
  }

  init(tiles: Int, stored: StoreTotals) {
    self.tiles = tiles
    sample = stored.count
    bytesPerTile =
      stored.count > 0 ? max(1, stored.bytes / Int64(stored.count)) : Self.assumedBytesPerTile
    let (product, overflow) = bytesPerTile.multipliedReportingOverflow(by: Int64(tiles))
    bytes = overflow ? .max : product
  }
}

/// The maximum numbers of tiles of regions.
package struct RegionLimits: Sendable, Hashable {
  /// The maximum number of tiles of one region.
  package var tilesInOne: Int
  /// The maximum number of tiles of all regions. A tile that several regions share counts for each.
  package var tilesInAll: Int

  /// Creates limits, by default 100,000 tiles in one region and a million in all.
  package init(tilesInOne: Int = 100_000, tilesInAll: Int = 1_000_000) {
    self.tilesInOne = max(0, tilesInOne)
    self.tilesInAll = max(0, tilesInAll)
  }

  /// Throws `BothyError` `tooManyTiles` if `tiles` tiles of a new region, with `others` of other regions, exceed a
  /// limit.
  func check(_ tiles: Int, _ name: String, beside others: Int) throws(BothyError) {
    guard tiles <= tilesInOne else {
      throw BothyError(
        .tooManyTiles,
        "The region '\(name)' has more than the \(tilesInOne) tiles that one may have. Choose a smaller area, a lower "
          + "zoom or a higher limit.")
    }
    guard others + tiles <= tilesInAll else {
      throw BothyError(
        .tooManyTiles,
        "The region '\(name)' has \(tiles) tiles; with the \(others) of others that is more than the \(tilesInAll) that "
          + "all may have. Delete a region, or choose a smaller area or a higher limit.")
    }
  }
}
