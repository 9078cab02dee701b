import BothyStore

/// Converts positions on the grid of a vector tile to positions on earth.
struct TileGridProjection {
  let tile: Tile
  let extent: Int64

  /// Returns the position of a point, or `nil` for one that is more than a world away from the map.
  ///
  /// A point of two neighbouring tiles, in the margin of one, gives equal numbers in both. Corners of the grid are exactly
  /// the corners of the tile.
  func coordinate(_ point: GridPoint) -> Coordinate? {
    let side = Int64(1) << Int64(tile.zoom) * extent
    let (x, y) = (Int64(tile.x) * extent + point.x, Int64(tile.y) * extent + point.y)
    guard x >= -side, x <= 2 * side, y >= -side, y <= 2 * side else { return nil }
    return Coordinate(
      latitude: Mercator.latitude(fraction: Double(y) / Double(side)),
      longitude: Geodesy.normalized(longitude: Double(x) / Double(side) * 360 - 180))
  }

  /// Returns true if the point belongs to the tile. One on an edge belongs to the tile to the east or south.
  func contains(_ point: GridPoint) -> Bool {
    (0..<extent).contains(point.x) && (0..<extent).contains(point.y)
  }

  /// Returns true if the tile has a part of the shape. A shape in the margin alone belongs to a neighbour.
  func reaches(_ shape: GridShape) -> Bool {
    let points = shape.points
    return points.contains { $0.x >= 0 } && points.contains { $0.x < extent }
      && points.contains { $0.y >= 0 } && points.contains { $0.y < extent }
  }

  /// Returns true if all of the shape is between the edges, so that the tile has cut nothing off.
  func encloses(_ shape: GridShape) -> Bool {
    shape.points.allSatisfy { $0.x > 0 && $0.x < extent && $0.y > 0 && $0.y < extent }
  }

  /// Returns the shape on earth, of points only those of the tile. Returns `nil` if none is.
  func geometry(_ shape: GridShape) throws(BrokenFeature) -> Geometry? {
    switch shape {
    case .points(let all):
      let points = try line(all.filter(contains))
      guard let first = points.first else { return nil }
      return points.count == 1 ? .point(first) : .multiPoint(points)
    case .lines(let lines):
      guard reaches(shape) else { return nil }
      let found = try self.lines(lines)
      return found.count == 1 ? .lineString(found[0]) : .multiLineString(found)
    case .polygons(let polygons):
      guard reaches(shape) else { return nil }
      var found: [GeoPolygon] = []
      for rings in polygons {
        if let polygon = GeoPolygon(rings: try lines(rings)) { found.append(polygon) }
      }
      return found.count == 1 ? .polygon(found[0]) : .multiPolygon(found)
    }
  }

  private func lines(_ lines: [[GridPoint]]) throws(BrokenFeature) -> [[Coordinate]] {
    var found: [[Coordinate]] = []
    found.reserveCapacity(lines.count)
    for line in lines { found.append(try self.line(line)) }
    return found
  }

  private func line(_ points: [GridPoint]) throws(BrokenFeature) -> [Coordinate] {
    var found: [Coordinate] = []
    found.reserveCapacity(points.count)
    for point in points {
      guard let coordinate = coordinate(point) else {
        throw BrokenFeature(reason: "a position is not on earth")
      }
      found.append(coordinate)
    }
    return found
  }
}
