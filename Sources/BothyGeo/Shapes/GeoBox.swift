public import BothyStore

/// Boxes as areas of the map: checked, made around places, compared.
///
/// A box goes east from `west` to `east`, so one whose west is greater than its east lies across the antimeridian.
extension GeoBox {
  /// All positions there are, the poles among them.
  public static let world = GeoBox(west: -180, south: -90, east: 180, north: 90)

  /// This box, when it is one. Throws `GeoError` `.invalidCoordinate` for values that are no numbers or out of range,
  /// and for a south that is north of north.
  @discardableResult
  public func checked() throws(GeoError) -> GeoBox {
    let longitudes = -180.0...180
    let latitudes = -90.0...90
    guard longitudes.contains(west), longitudes.contains(east), latitudes.contains(south),
      latitudes.contains(north), south <= north
    else {
      throw GeoError(
        .invalidCoordinate,
        "[\(west), \(south), \(east), \(north)] is no box. Give west, south, east and north in degrees, south not "
          + "beyond north.")
    }
    return self
  }

  /// The smallest box that holds all positions within so many metres of the centre, a hair larger against rounding. A
  /// longitude beyond ±180° goes around the world. It
  /// goes around the world when a pole is among them. Throws `GeoError` for a centre or radius that is no number; a
  /// radius below zero counts as zero.
  public init(around center: Coordinate, radius: Double) throws(GeoError) {
    let center = try center.checked()
    guard radius.isFinite else {
      throw GeoError(
        .invalidCoordinate, "The radius \(radius) is no distance. Give a finite number of metres.")
    }
    self.init(
      around: Coordinate(
        latitude: min(max(center.latitude, -90), 90),
        longitude: Geodesy.normalized(longitude: center.longitude)),
      metres: max(radius, 0))
  }

  /// Whether the box lies across the meridian of 180°.
  public var crossesAntimeridian: Bool { west > east }

  /// From west to east in degrees.
  public var width: Double { crossesAntimeridian ? east - west + 360 : east - west }

  /// The position halfway between its edges, in degrees; its longitude is within ±180.
  public var center: Coordinate {
    Coordinate(
      latitude: (south + north) / 2, longitude: Geodesy.normalized(longitude: west + width / 2))
  }

  /// One box, or the two halves of one that lies across the antimeridian.
  public var parts: [GeoBox] {
    guard crossesAntimeridian else { return [self] }
    return [
      GeoBox(west: west, south: south, east: 180, north: north),
      GeoBox(west: -180, south: south, east: east, north: north),
    ]
  }

  /// Whether the two have a position in common, edges included.
  public func intersects(_ other: GeoBox) -> Bool {
    guard south <= other.north, other.south <= north else { return false }
    return holds(other.west) || holds(other.east) || other.holds(west) || other.holds(east)
      || touchesAntimeridian && other.touchesAntimeridian
  }

  private var touchesAntimeridian: Bool { crossesAntimeridian || abs(west) == 180 || abs(east) == 180 }

  /// The smallest box that holds all positions: of the two ways around the world the shorter. Nil for none.
  public init?(around coordinates: some Sequence<Coordinate>) {
    var longitudes: [Double] = []
    var (south, north) = (Double.infinity, -Double.infinity)
    for coordinate in coordinates {
      longitudes.append(coordinate.longitude)
      south = min(south, coordinate.latitude)
      north = max(north, coordinate.latitude)
    }
    guard var west = longitudes.min(), var east = longitudes.max() else { return nil }
    if east - west > 180 {
      let (eastern, western) = (longitudes.filter { $0 >= 0 }, longitudes.filter { $0 < 0 })
      if let start = eastern.min(), let end = western.max(), end + 360 - start < east - west {
        (west, east) = (start, end)
      }
    }
    self.init(west: west, south: south, east: east, north: north)
  }
}
