public import BothyStore

/// The area within a ring of positions, without its holes.
///
/// Edges are straight in degrees, as in GeoJSON. An edge of more than 180° of longitude takes the shorter way, across
/// the antimeridian.
public struct GeoPolygon: Hashable, Sendable {
  /// The outer ring, in degrees. It may turn either way.
  public var exterior: [Coordinate]
  /// The rings of the holes. Their edges still belong to the area. Empty for an area without holes.
  public var holes: [[Coordinate]]

  /// Creates a polygon. Rings can be closed, with the first position again at the end, or open.
  ///
  /// Nothing is checked. A ring that crosses itself has the even-odd rule: parts that are enclosed twice are outside.
  public init(exterior: [Coordinate], holes: [[Coordinate]] = []) {
    self.exterior = exterior
    self.holes = holes
  }

  /// Creates a polygon from rings as in GeoJSON: the first ring is the outer one. Returns `nil` without a ring.
  package init?(rings: [[Coordinate]]) {
    guard let first = rings.first else { return nil }
    self.init(exterior: first, holes: Array(rings.dropFirst()))
  }

  /// Creates the area of a box, which may cross the antimeridian.
  package init(_ box: GeoBox) {
    // Two additional corners ensure that no edge of a wide box counts as one across the antimeridian.
    let middle = box.west + box.width / 2
    let longitudes = [box.west, middle, box.east]
    exterior =
      longitudes.map {
        Coordinate(latitude: box.south, longitude: Geodesy.normalized(longitude: $0))
      }
      + longitudes.reversed().map {
        Coordinate(latitude: box.north, longitude: Geodesy.normalized(longitude: $0))
      }
    holes = []
  }

  /// The outer ring, then the holes.
  package var rings: [[Coordinate]] { [exterior] + holes }

  /// The smallest box around the outer ring, or `nil` without positions.
  package var bounds: GeoBox? { GeoBox(around: exterior) }

  /// Returns true if the area contains a position. The outer edge and the edges of holes belong to it.
  package func contains(_ position: Coordinate) -> Bool {
    var isInside = false
    for ring in rings {
      switch FlatRing(ring, from: position.longitude).locate(position.latitude) {
      case .edge: return true
      case .inside: isInside.toggle()
      case .outside: break
      }
    }
    return isInside
  }

  /// Returns the metres from a position to the nearest point of the area, which is 0 within it.
  package func distance(to position: Coordinate) -> Double {
    contains(position) ? 0 : distanceToEdge(from: position)
  }

  /// Returns the metres from a position, inside or outside, to the nearest point of any ring. It is infinite without
  /// positions.
  package func distanceToEdge(from position: Coordinate) -> Double {
    rings.reduce(.infinity) {
      min($0, Geodesy.distance(from: position, toLine: $1, isClosed: true))
    }
  }
}

extension Geodesy {
  /// Returns the metres from a position to the nearest point of a line. It is infinite without positions.
  package static func distance(
    from position: Coordinate, toLine line: [Coordinate], isClosed: Bool = false
  ) -> Double {
    guard var previous = isClosed ? line.last : line.first else { return .infinity }
    var nearest = Double.infinity
    for next in line {
      nearest = min(nearest, distance(from: position, toSegment: previous, next))
      previous = next
    }
    return nearest
  }
}

/// A ring with continuous longitudes across the antimeridian, relative to an origin.
struct FlatRing {
  struct Point {
    var x: Double
    var y: Double
  }

  enum Place { case inside, outside, edge }

  /// The points of the closed ring. A ring around a pole is closed along the pole.
  private(set) var points: [Point] = []

  init(_ ring: [Coordinate], from origin: Double) {
    guard let first = ring.first else { return }
    var x = Geodesy.difference(from: origin, to: first.longitude)
    var previous = first.longitude
    var total = 0.0
    for coordinate in ring {
      x += Geodesy.difference(from: previous, to: coordinate.longitude)
      // Uses the exact numbers of the ring, so that an edge on the border of a tile stays on it.
      if origin == 0 { x = coordinate.longitude + ((x - coordinate.longitude) / 360).rounded() * 360 }
      previous = coordinate.longitude
      total += coordinate.latitude
      points.append(Point(x: x, y: coordinate.latitude))
    }
    let home = x + Geodesy.difference(from: previous, to: first.longitude)
    let start = points[0]
    if abs(home - start.x) > 180 {
      let pole: Double = total < 0 ? -90 : 90
      points += [Point(x: home, y: start.y), Point(x: home, y: pole), Point(x: start.x, y: pole)]
    }
    points.append(start)
  }

  /// Locates a latitude on the origin's meridian by the even-odd rule, also one turn to either side.
  func locate(_ latitude: Double) -> Place {
    var isInside = false
    for turn in [-360.0, 0, 360] {
      switch locate(x: turn, y: latitude) {
      case .edge: return .edge
      case .inside: isInside.toggle()
      case .outside: break
      }
    }
    return isInside ? .inside : .outside
  }

  func locate(x: Double, y: Double) -> Place {
    var isInside = false
    for (start, end) in zip(points, points.dropFirst()) {
      let low = min(start.y, end.y)
      let high = max(start.y, end.y)
      guard y >= low, y <= high else { continue }
      let side = (end.x - start.x) * (y - start.y) - (x - start.x) * (end.y - start.y)
      if side == 0, x >= min(start.x, end.x), x <= max(start.x, end.x) { return .edge }
      if (start.y > y) != (end.y > y), side * (end.y - start.y) > 0 { isInside.toggle() }
    }
    return isInside ? .inside : .outside
  }
}
