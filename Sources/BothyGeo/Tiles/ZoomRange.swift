/// The zooms that a source of tiles has.
public struct ZoomRange: Hashable, Sendable {
  /// The lowest zoom, the coarsest tiles.
  public let lowest: Int
  /// The highest zoom, the finest tiles.
  public let highest: Int

  /// Throws `GeoError` `.zoomOutOfRange` for a range that is empty or leaves 0 to 29.
  public init(_ lowest: Int, _ highest: Int) throws(GeoError) {
    guard lowest <= highest, Tile.zooms.contains(lowest), Tile.zooms.contains(highest) else {
      throw GeoError(
        .zoomOutOfRange,
        "There are no zooms from \(lowest) to \(highest). Give two from 0 to 29, the lower first.")
    }
    self.lowest = lowest
    self.highest = highest
  }

  init(unchecked range: ClosedRange<Int>) {
    lowest = range.lowerBound
    highest = range.upperBound
  }

  /// Every zoom that a tile can have: 0 to 29.
  public static let all = ZoomRange(unchecked: Tile.zooms)

  /// Whether the zoom is in the range, its ends included.
  public func contains(_ zoom: Int) -> Bool { zoom >= lowest && zoom <= highest }

  /// Throws `GeoError` `.zoomOutOfRange` for a tile of another zoom.
  public func check(_ tile: Tile) throws(GeoError) {
    guard contains(tile.zoom) else {
      throw GeoError(
        .zoomOutOfRange,
        "The source has no tile \(tile): its zooms go from \(lowest) to \(highest). Ask for one of these, or for the "
          + "part of a coarser tile.")
    }
  }

  /// The whole zoom to use for a map shown at a zoom between two: the nearest one in the range; the lowest for what is
  /// no number.
  public func nearest(to zoom: Double) -> Int {
    guard !zoom.isNaN else { return lowest }
    return Int(min(max(zoom.rounded(), Double(lowest)), Double(highest)))
  }

  /// The tile of this range that shows what the given one would, and which part of it: itself within the range, an
  /// ancestor beyond the highest zoom, nil before the lowest.
  public func stand(in tile: Tile) -> (tile: Tile, part: TilePart)? {
    guard tile.zoom >= lowest, let shown = tile.ancestor(atZoom: min(tile.zoom, highest)),
      let part = tile.part(of: shown)
    else { return nil }
    return (shown, part)
  }
}
