/// The zooms of a source of tiles, both ends included.
public struct ZoomRange: Hashable, Sendable {
  /// The lowest zoom, with the coarsest tiles.
  public let lowest: Int
  /// The highest zoom, with the finest tiles.
  public let highest: Int

  /// Creates a range. For one zoom, both ends are equal.
  ///
  /// - Throws: `BothyError` `zoomOutOfRange` for a range that is empty or exceeds 0 to 29.
  public init(_ lowest: Int, _ highest: Int) throws(BothyError) {
    guard lowest <= highest, Tile.zooms.contains(lowest), Tile.zooms.contains(highest) else {
      throw BothyError(
        .zoomOutOfRange,
        "The zooms from \(lowest) to \(highest) aren't valid. Give two from 0 to 29, the lower first.")
    }
    self.lowest = lowest
    self.highest = highest
  }

  init(unchecked range: ClosedRange<Int>) {
    lowest = range.lowerBound
    highest = range.upperBound
  }

  /// Every zoom that a tile can have: 0 to 29.
  package static let all = ZoomRange(unchecked: Tile.zooms)

  /// Returns true if the range contains the zoom, ends included.
  package func contains(_ zoom: Int) -> Bool { zoom >= lowest && zoom <= highest }

  /// Returns the zooms that are in both ranges, or `nil` if there are none.
  func common(with other: ZoomRange) -> ZoomRange? {
    let (low, high) = (max(lowest, other.lowest), min(highest, other.highest))
    return low <= high ? ZoomRange(unchecked: low...high) : nil
  }

  /// Returns the zooms from the lowest to the highest of both ranges.
  func joined(with other: ZoomRange?) -> ZoomRange {
    guard let other else { return self }
    return ZoomRange(unchecked: min(lowest, other.lowest)...max(highest, other.highest))
  }

  /// Throws `BothyError` `zoomOutOfRange` for a tile of another zoom.
  package func check(_ tile: Tile) throws(BothyError) {
    guard contains(tile.zoom) else {
      throw BothyError(
        .zoomOutOfRange,
        "The source has no tile \(tile): its zooms go from \(lowest) to \(highest). Ask for one of these, or for the "
          + "part of a coarser tile.")
    }
  }

  /// Returns the whole zoom of the range that is nearest to the zoom of a map. Returns the lowest zoom for a value that
  /// isn't a number.
  package func nearest(to zoom: Double) -> Int {
    guard !zoom.isNaN else { return lowest }
    return Int(min(max(zoom.rounded(), Double(lowest)), Double(highest)))
  }

  /// Returns the tile of this range that shows a tile, and the part to show.
  ///
  /// It is the tile itself within the range, an ancestor beyond the highest zoom, and `nil` before the lowest.
  package func stand(in tile: Tile) -> (tile: Tile, part: TilePart)? {
    guard tile.zoom >= lowest, let shown = tile.ancestor(atZoom: min(tile.zoom, highest)),
      let part = tile.part(of: shown)
    else { return nil }
    return (shown, part)
  }
}
