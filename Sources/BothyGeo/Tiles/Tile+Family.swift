/// Parents, children and neighbours.
extension Tile {
  /// The tile of the zoom before that this one is a quarter of; nil at zoom 0.
  public var parent: Tile? {
    zoom == 0 ? nil : Tile(uncheckedX: x >> 1, y: y >> 1, zoom: zoom - 1)
  }

  /// The tile of an earlier zoom that this one is a part of; itself at its own zoom, nil at a later or negative one.
  public func ancestor(atZoom zoom: Int) -> Tile? {
    guard zoom >= 0, zoom <= self.zoom else { return nil }
    let steps = self.zoom - zoom
    return Tile(uncheckedX: x >> steps, y: y >> steps, zoom: zoom)
  }

  /// From the parent to the tile of zoom 0.
  public var ancestors: [Tile] { stride(from: zoom - 1, through: 0, by: -1).compactMap(ancestor) }

  /// The four quarters, in the order of their quadkeys: north-west, north-east, south-west, south-east. None at the
  /// last zoom.
  public var children: [Tile] {
    guard zoom < Self.zooms.upperBound else { return [] }
    return (0..<4).map { Tile(uncheckedX: x << 1 | $0 & 1, y: y << 1 | $0 >> 1, zoom: zoom + 1) }
  }

  /// Whether the other tile is this one or a part of it.
  public func contains(_ other: Tile) -> Bool { other.ancestor(atZoom: zoom) == self }

  /// The tile so many columns to the east and rows to the south, around the world; nil beyond the first or last row.
  public func neighbor(east: Int, south: Int) -> Tile? {
    let side = 1 << zoom
    let (row, overflow) = y.addingReportingOverflow(south)
    guard !overflow, row >= 0, row < side else { return nil }
    return Tile(uncheckedX: (x &+ east) & (side - 1), y: row, zoom: zoom)
  }

  /// The part of an ancestor's picture that shows this tile; nil when the other is no ancestor.
  public func part(of ancestor: Tile) -> TilePart? {
    guard ancestor.contains(self) else { return nil }
    let steps = zoom - ancestor.zoom
    let size = 1 / Double(1 << steps)
    let mask = 1 << steps - 1
    return TilePart(x: Double(x & mask) * size, y: Double(y & mask) * size, size: size)
  }
}

/// A square within a tile's picture, as fractions of its edge from the upper left corner. All values are exact.
public struct TilePart: Sendable, Hashable {
  /// Where it begins from the left: 0 to less than 1.
  public var x: Double
  /// Where it begins from the top: 0 to less than 1.
  public var y: Double
  /// The edge of the square: 1 of the tile itself, a half of its parent, and so on.
  public var size: Double

  /// All of the picture.
  public static let whole = TilePart(x: 0, y: 0, size: 1)

  /// A part given by its corner and edge; nothing is checked.
  public init(x: Double, y: Double, size: Double) {
    self.x = x
    self.y = y
    self.size = size
  }
}
