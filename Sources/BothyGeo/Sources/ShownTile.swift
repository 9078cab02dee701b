import BothyCache

/// An available tile for an area, either the requested tile or a coarser one.
///
/// Draw the part of its picture, enlarged to the whole tile.
public struct ShownTile: Sendable {
  /// The requested tile or one that contains it.
  public let tile: Tile
  /// The square of its picture that shows the requested tile, as fractions of its edge from the upper left corner.
  ///
  /// It is the whole picture, of the size 1, for the requested tile itself. All values are exact. Multiply them by the edge
  /// of the picture in pixels to get the pixels to draw.
  public var part: (x: Double, y: Double, size: Double) { (square.x, square.y, square.size) }
  /// The square as a value.
  package let square: TilePart
  /// The tile's bytes, with their origin and freshness.
  public let resource: CachedResource

  /// True if it is the requested tile.
  package var isExact: Bool { square == .whole }
}
