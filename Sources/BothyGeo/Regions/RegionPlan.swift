public import BothyCache

/// What is to be had without a network: a part of the map, at some zooms, of one source.
public struct RegionPlan: Sendable, Hashable {
  /// What people call it; no other region has the same name.
  public var name: String
  /// The source of the tiles, which the cache must know.
  public var source: SourceID
  /// Which part of the map.
  public var area: RegionArea
  /// At which zooms; all of them must be the source's.
  public var zooms: ZoomRange

  /// Describes a region; `OfflineRegions.create` checks it.
  public init(name: String, source: SourceID, area: RegionArea, zooms: ZoomRange) {
    self.name = name
    self.source = source
    self.area = area
    self.zooms = zooms
  }

  /// The tiles, coarse ones first. Throws `GeoError` for an area that is none.
  public func tiles() throws(GeoError) -> RegionTiles { try RegionTiles(area, zooms: zooms) }
}

/// What a region will take.
public struct RegionEstimate: Sendable, Hashable {
  /// How many tiles it has; exact.
  public var tiles: Int
  /// So many times `bytesPerTile`.
  public var bytes: Int64
  /// The mean size on disk of the source's stored tiles, in bytes.
  public var bytesPerTile: Int64
  /// How many stored tiles of the source that is the mean of; 0 where none is stored and `assumedBytesPerTile` stands in.
  public var sample: Int

  /// What a tile is taken to have where nothing is known of the source: 16 KB.
  public static let assumedBytesPerTile: Int64 = 16_384

  init(tiles: Int, stored: StoreTotals) {
    self.tiles = tiles
    sample = stored.count
    bytesPerTile =
      stored.count > 0 ? max(1, stored.bytes / Int64(stored.count)) : Self.assumedBytesPerTile
    let (product, overflow) = bytesPerTile.multipliedReportingOverflow(by: Int64(tiles))
    bytes = overflow ? .max : product
  }
}

/// How much regions may be.
public struct RegionLimits: Sendable, Hashable {
  /// The most tiles of one region.
  public var tilesInOne: Int
  /// In all regions together; a tile that several share counts for each.
  public var tilesInAll: Int

  /// 100,000 tiles in one and a million in all, unless told otherwise.
  public init(tilesInOne: Int = 100_000, tilesInAll: Int = 1_000_000) {
    self.tilesInOne = max(0, tilesInOne)
    self.tilesInAll = max(0, tilesInAll)
  }

  /// Throws `GeoError` `.tooManyTiles` for a region of so many tiles beside others of so many.
  func check(_ tiles: Int, _ name: String, beside others: Int) throws(GeoError) {
    guard tiles <= tilesInOne else {
      throw GeoError(
        .tooManyTiles,
        "The region '\(name)' has more than the \(tilesInOne) tiles that one may have. Choose a smaller area, a lower "
          + "zoom or a higher limit.")
    }
    guard others + tiles <= tilesInAll else {
      throw GeoError(
        .tooManyTiles,
        "The region '\(name)' has \(tiles) tiles; with the \(others) of others that is more than the \(tilesInAll) that "
          + "all may have. Delete a region, or choose a smaller area or a higher limit.")
    }
  }
}
