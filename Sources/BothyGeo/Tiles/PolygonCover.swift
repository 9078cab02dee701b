package import BothyStore

/// The tiles that an area touches, found from zoom 0 down. Tiles completely inside or outside the area aren't divided
/// further, so counting costs about as many steps as tiles along the edges.
struct PolygonCover: Sendable {
  struct Edge {
    var start: FlatRing.Point
    var end: FlatRing.Point
    /// True if its ring has no width or no height. Then a border on which it runs counts.
    var isFlat = false
  }

  private let rings: [FlatRing]
  let edges: [Edge]

  init(_ polygons: [GeoPolygon]) {
    rings = polygons.flatMap(\.rings).map { FlatRing($0, from: 0) }
    edges = rings.flatMap { ring in
      let isFlat = Self.isFlat(ring)
      return zip(ring.points, ring.points.dropFirst()).flatMap { start, end in
        [-360.0, 0, 360].compactMap { turn -> Edge? in
          let edge = Edge(
            start: .init(x: start.x + turn, y: start.y), end: .init(x: end.x + turn, y: end.y), isFlat: isFlat
          )
          let (west, east) = (min(edge.start.x, edge.end.x), max(edge.start.x, edge.end.x))
          return turn == 0 || east > -180 && west < 180 ? edge : nil
        }
      }
    }
  }

  private static func isFlat(_ ring: FlatRing) -> Bool {
    guard let first = ring.points.first else { return true }
    return ring.points.allSatisfy { $0.x == first.x } || ring.points.allSatisfy { $0.y == first.y }
  }

  /// Passes whole subtrees to `body`: a tile of `zoom` or an earlier one, all of whose parts belong to the cover. Stops
  /// when `body` returns false.
  func visit(zoom: Int, _ body: (Tile) -> Bool) {
    _ = visit(Tile(uncheckedX: 0, y: 0, zoom: 0), edges, zoom, body)
  }

  private func visit(_ tile: Tile, _ near: [Edge], _ zoom: Int, _ body: (Tile) -> Bool) -> Bool {
    switch place(of: tile, near) {
    case .outside: return true
    case .inside: return body(tile)
    case .edge(let touching):
      if tile.zoom == zoom { return body(tile) }
      for child in tile.children where !visit(child, touching, zoom, body) { return false }
      return true
    }
  }

  /// The place of a tile: completely outside or inside the area, or at some of its edges.
  enum Place {
    case outside
    case inside
    case edge([Edge])
  }

  /// Returns the place of a tile.
  ///
  /// - Parameter near: the edges that touch the tile's parent.
  func place(of tile: Tile, _ near: [Edge]) -> Place {
    let box = tile.bounds
    let last = 1 << tile.zoom - 1
    // An area that only touches a border has no part of the tile. A line on a border is in the tile to the east or
    // south. Positions beyond the map are in the nearest row.
    let east = tile.x == last ? box.east : box.east.nextDown
    let south = tile.y == last ? -90 : box.south.nextUp
    let north = tile.y == 0 ? 90 : box.north
    let touching = near.filter { edge in
      let west = edge.isFlat ? box.west : box.west.nextUp
      return Self.touches(edge, west, south, east, edge.isFlat || tile.y == 0 ? north : north.nextDown)
    }
    if !touching.isEmpty { return .edge(touching) }
    return holds(x: (box.west + box.east) / 2, y: (south + north) / 2) ? .inside : .outside
  }

  private func holds(x: Double, y: Double) -> Bool {
    var isInside = false
    for ring in rings {
      for turn in [-360.0, 0, 360] where ring.locate(x: x + turn, y: y) == .inside { isInside.toggle() }
    }
    return isInside
  }

  /// Returns true if an edge has a common point with a closed rectangle (clipping by Liang and Barsky).
  private static func touches(
    _ edge: Edge, _ west: Double, _ south: Double, _ east: Double, _ north: Double
  ) -> Bool {
    // Compares the numbers directly: the divisions below round, so that an edge ending at a side could reach beyond it.
    if max(edge.start.x, edge.end.x) < west || min(edge.start.x, edge.end.x) > east
      || max(edge.start.y, edge.end.y) < south || min(edge.start.y, edge.end.y) > north
    {
      return false
    }
    let (width, height) = (edge.end.x - edge.start.x, edge.end.y - edge.start.y)
    var (enter, leave) = (0.0, 1.0)
    let sides = [
      (-width, edge.start.x - west), (width, east - edge.start.x), (-height, edge.start.y - south),
      (height, north - edge.start.y),
    ]
    for (slope, room) in sides {
      if slope == 0 {
        if room < 0 { return false }
      } else if slope < 0 {
        enter = max(enter, room / slope)
      } else {
        leave = min(leave, room / slope)
      }
    }
    return enter <= leave
  }
}

/// The cover of an area at several zooms.
package struct AreaCover: Sendable {
  let cover: PolygonCover

  /// Creates the cover of several polygons. Overlaps count as holes, so pass a union. Throws `BothyError` for positions
  /// that aren't numbers.
  package init(_ polygons: [GeoPolygon]) throws(BothyError) {
    for polygon in polygons {
      for ring in polygon.rings { for position in ring { try position.checked() } }
    }
    cover = PolygonCover(polygons)
  }

  /// Creates the cover of one polygon. Throws `BothyError` for positions that aren't numbers.
  package init(_ polygon: GeoPolygon) throws(BothyError) { try self.init([polygon]) }

  /// Creates the cover of a box. Throws `BothyError` `invalidCoordinate` for an invalid box.
  package init(_ box: GeoBox) throws(BothyError) { try self.init([GeoPolygon(box.checked())]) }

  /// Returns the number of tiles at the zooms without listing them, at most `limit + 1`, as counting ends there.
  package func count(zooms: ClosedRange<Int>, limit: Int = .max) throws(BothyError) -> Int {
    _ = try (Tile.side(zooms.lowerBound), Tile.side(zooms.upperBound))
    var total = 0
    for zoom in zooms {
      cover.visit(zoom: zoom) { tile in
        let steps = 2 * (zoom - tile.zoom)
        total = Self.adding(total, steps < Int.bitWidth - 1 ? 1 << steps : .max)
        return total <= limit
      }
      if total > limit { return limit == .max ? total : limit + 1 }
    }
    return total
  }

  /// Returns the tiles at a zoom, row by row from the north. If there are more than `limit`, throws `BothyError`
  /// `tooManyTiles` before it lists any.
  package func tiles(
    zoom: Int, limit: Int = TileGrid.defaultLimit
  ) throws(BothyError) -> [Tile] {
    let count = try count(zooms: zoom...zoom, limit: limit)
    guard count <= limit else { throw .tooManyTiles(count, zoom: zoom, limit: limit) }
    var tiles: [Tile] = []
    tiles.reserveCapacity(count)
    cover.visit(zoom: zoom) { tile in
      let steps = zoom - tile.zoom
      for y in tile.y << steps..<(tile.y + 1) << steps {
        for x in tile.x << steps..<(tile.x + 1) << steps {
          tiles.append(Tile(uncheckedX: x, y: y, zoom: zoom))
        }
      }
      return true
    }
    return tiles.sorted()
  }

  private static func adding(_ first: Int, _ second: Int) -> Int {
    let (sum, overflow) = first.addingReportingOverflow(second)
    return overflow ? .max : sum
  }
}
