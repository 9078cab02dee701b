import BothyCache

extension OfflineRegions {
  /// The estimated size of a region. The number of tiles is exact, and the bytes are a guess.
  ///
  /// Tiles that are stored already, or shared with other regions, are counted too.
  public struct Estimate: Sendable, Hashable {
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
    init(adding parts: [OfflineRegions.Estimate]) {
      tiles = parts.reduce(0) { $0 + $1.tiles }
      sample = parts.reduce(0) { $0 + $1.sample }
      bytes = parts.reduce(0) { sum, part in
        let (total, overflow) = sum.addingReportingOverflow(part.bytes)
        return overflow ? .max : total
      }
      bytesPerTile = tiles > 0 ? max(1, bytes / Int64(tiles)) : Self.assumedBytesPerTile
    }

    init(tiles: Int, stored: ResourceCache.Totals) {
      self.tiles = tiles
      sample = stored.count
      bytesPerTile =
        stored.count > 0 ? max(1, stored.bytes / Int64(stored.count)) : Self.assumedBytesPerTile
      let (product, overflow) = bytesPerTile.multipliedReportingOverflow(by: Int64(tiles))
      bytes = overflow ? .max : product
    }
  }
}
