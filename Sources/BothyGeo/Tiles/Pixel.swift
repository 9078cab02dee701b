package import BothyStore

/// A pixel of the whole map at one zoom, counted from its north-western corner.
///
/// Don't use pixels to find the tile of a position: pixels are rounded, but `Tile(containing:zoom:)` is exact.
package struct Pixel: Hashable, Sendable {
  /// The number of pixels east of the meridian of 180°.
  package var x: Int64
  /// The number of pixels south of the map's northern edge.
  package var y: Int64
  /// The zoom of the pixels. The map's edge has 256 · 2^zoom of them.
  package let zoom: Int

  /// The rounding of a position to a pixel.
  package enum Rounding: Sendable {
    /// The pixel that contains the position.
    case down
    /// The nearest corner of a pixel, as in older map software: half a pixel further south and east.
    case nearest
  }

  /// Creates any pixel, also one beyond the map's edge. Throws `BothyError` for a zoom that no tile has.
  package init(x: Int64, y: Int64, zoom: Int) throws(BothyError) {
    _ = try Tile.side(zoom)
    self.x = x
    self.y = y
    self.zoom = zoom
  }

  /// Creates the pixel of a position, clamped to the map. Throws `BothyError` for values that aren't numbers and for a
  /// zoom that no tile has.
  package init(_ coordinate: Coordinate, zoom: Int, rounding: Rounding = .down) throws(BothyError) {
    let limit = Mercator.latitudeLimit
    let place = try coordinate.checked()
    let side = Double(Mercator.tileEdge) * Double(try Tile.side(zoom))
    let fractions = Mercator.fractions(
      Coordinate(
        latitude: min(max(place.latitude, -limit), limit), longitude: min(max(place.longitude, -180), 180)))
    let half = rounding == .nearest ? 0.5 : 0
    self.zoom = zoom
    x = Int64(min(max(fractions.x * side + half, 0), side - 1))
    y = Int64(min(max(fractions.y * side + half, 0), side - 1))
  }

  /// Creates the pixel at the upper left corner of a tile.
  package init(_ tile: Tile) {
    x = Int64(tile.x) * Int64(Mercator.tileEdge)
    y = Int64(tile.y) * Int64(Mercator.tileEdge)
    zoom = tile.zoom
  }

  /// The position of the pixel's upper left corner, clamped to the map.
  package var coordinate: Coordinate {
    let side = Double(Mercator.tileEdge) * Double(1 << zoom)
    return Coordinate(
      latitude: Mercator.latitude(fraction: min(max(Double(y), 0), side) / side),
      longitude: min(max(Double(x), 0), side) / side * 360 - 180)
  }

  /// Returns the tile that contains the pixel. Columns wrap around the world. Throws `BothyError` `invalidTile` north or
  /// south of the map.
  package func tile() throws(BothyError) -> Tile {
    let edge = Int64(Mercator.tileEdge)
    let side = Int64(1) << Int64(zoom)
    let (column, row) = (Self.floored(x, by: edge), Self.floored(y, by: edge))
    guard row >= 0, row < side else {
      throw BothyError(.invalidTile, "The pixel (\(x), \(y)) of zoom \(zoom) is north or south of the map.")
    }
    return Tile(uncheckedX: Int(column & (side - 1)), y: Int(row), zoom: zoom)
  }

  /// Divides and rounds down, also below zero.
  private static func floored(_ value: Int64, by divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
  }
}
