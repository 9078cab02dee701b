/// Parents, children and neighbours.
extension Tile {
  /// The tile of the previous zoom that contains this one, or `nil` at zoom 0.
  package var parent: Tile? {
    zoom == 0 ? nil : Tile(uncheckedX: x >> 1, y: y >> 1, zoom: zoom - 1)
  }

  /// Returns the tile of an earlier zoom that contains this one. Returns the tile itself at its own zoom, and `nil` at
  /// a later or negative zoom.
  package func ancestor(atZoom zoom: Int) -> Tile? {
    guard zoom >= 0, zoom <= self.zoom else { return nil }
    let steps = self.zoom - zoom
    return Tile(uncheckedX: x >> steps, y: y >> steps, zoom: zoom)
  }

  /// The tiles from the parent to the tile of zoom 0.
  package var ancestors: [Tile] { stride(from: zoom - 1, through: 0, by: -1).compactMap(ancestor) }

  /// The four quarters, in the order of their quadkeys: north-west, north-east, south-west, south-east. Empty at the
  /// last zoom.
  package var children: [Tile] {
    guard zoom < Self.zooms.upperBound else { return [] }
    return (0..<4).map { Tile(uncheckedX: x << 1 | $0 & 1, y: y << 1 | $0 >> 1, zoom: zoom + 1) }
  }

  /// Returns true if the other tile is this one or a part of it.
  package func contains(_ other: Tile) -> Bool { other.ancestor(atZoom: zoom) == self }

  /// Returns the tile at an offset in columns and rows, around the world, or `nil` beyond the first or last row.
  package func neighbor(east: Int, south: Int) -> Tile? {
    let side = 1 << zoom
    let (row, overflow) = y.addingReportingOverflow(south)
    guard !overflow, row >= 0, row < side else { return nil }
    return Tile(uncheckedX: (x &+ east) & (side - 1), y: row, zoom: zoom)
  }

  /// Returns the part of an ancestor's picture that shows this tile, or `nil` if the other tile isn't an ancestor.
  package func part(of ancestor: Tile) -> TilePart? {
    guard ancestor.contains(self) else { return nil }
    let steps = zoom - ancestor.zoom
    let size = 1 / Double(1 << steps)
    let mask = 1 << steps - 1
    return TilePart(x: Double(x & mask) * size, y: Double(y & mask) * size, size: size)
  }
}

/// A square within a tile's picture, as fractions of its edge from the upper left corner. All values are exact.
///
/// Multiply by the edge of the picture in pixels to get the pixels to draw.
package struct TilePart: Sendable, Hashable {
  /// The left edge: 0 to less than 1.
  package var x: Double
  /// The top edge: 0 to less than 1.
  package var y: Double
  /// The edge of the square: 1 for the tile itself, a half for its parent, and so on. Never 0.
  package var size: Double

  /// The complete picture.
  package static let whole = TilePart(x: 0, y: 0, size: 1)

  /// Creates a part from its corner and edge, without validation.
  package init(x: Double, y: Double, size: Double) {
    self.x = x
    self.y = y
    self.size = size
  }
}
