import BothyCache

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
