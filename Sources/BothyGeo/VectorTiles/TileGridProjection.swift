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

  /// Returns true if the tile has a part of a line or ring. One in the margin alone belongs to a neighbour, also one that
  /// passes by a corner of the tile.
  private func reaches(_ line: [GridPoint]) -> Bool {
    line.contains(where: contains) || zip(line, line.dropFirst()).contains { crosses($0, $1) }
  }

  /// Returns true if a segment between two positions outside of the tile has a part in it (Liang and Barsky).
  private func crosses(_ start: GridPoint, _ end: GridPoint) -> Bool {
    guard max(start.x, end.x) >= 0, min(start.x, end.x) < extent, max(start.y, end.y) >= 0,
      min(start.y, end.y) < extent
    else { return false }
    var (enter, leave) = (0.0, 1.0)
    for (slope, room) in [
      (start.x - end.x, start.x), (end.x - start.x, extent - start.x), (start.y - end.y, start.y),
      (end.y - start.y, extent - start.y),
    ] where slope != 0 {
      let part = Double(room) / Double(slope)
      if slope < 0 { enter = max(enter, part) } else { leave = min(leave, part) }
    }
    return enter < leave
  }

  /// Returns true if the tile has a part of a polygon: an edge crosses it, or its middle is inside.
  private func reaches(_ rings: [[GridPoint]]) -> Bool {
    if rings.contains(where: { reaches($0) }) { return true }
    let middle = Double(extent) / 2
    var isInside = false
    for ring in rings {
      for (start, end) in zip(ring, ring.dropFirst())
      where (Double(start.y) > middle) != (Double(end.y) > middle) {
        let part = (middle - Double(start.y)) / Double(end.y - start.y)
        if Double(start.x) + part * Double(end.x - start.x) > middle { isInside.toggle() }
      }
    }
    return isInside
  }

  /// Returns true if all of the shape is between the edges, so that the tile has cut nothing off.
  func encloses(_ shape: GridShape) -> Bool {
    shape.points.allSatisfy { $0.x > 0 && $0.x < extent && $0.y > 0 && $0.y < extent }
  }

  /// Returns the shape on earth, without points and parts that lie outside of the tile. Returns `nil` if all do.
  ///
  /// Shapes that reach beyond the edges aren't cut off. Intersections need the ways that lead to them, and pieces of one
  /// shape are known by what they have in common.
  func geometry(_ shape: GridShape) throws(BrokenFeature) -> Geometry? {
    switch shape {
    case .points(let all):
      let points = try line(all.filter(contains))
      guard let first = points.first else { return nil }
      return points.count == 1 ? .point(first) : .multiPoint(points)
    case .lines(let lines):
      let found = try self.lines(lines.filter { reaches($0) })
      guard let first = found.first else { return nil }
      return found.count == 1 ? .lineString(first) : .multiLineString(found)
    case .polygons(let polygons):
      let parts = polygons.filter { reaches($0) }
      if parts.isEmpty { return nil }
      var found: [GeoPolygon] = []
      for rings in parts {
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
