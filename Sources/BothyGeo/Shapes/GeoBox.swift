public import BothyStore

/// Boxes as areas of the map: their validation, creation around places, and comparison.
///
/// A box extends east from `west` to `east`. So one whose west is greater than its east crosses the antimeridian.
extension GeoBox {
  /// A box of all positions, including the poles.
  package static let world = GeoBox(west: -180, south: -90, east: 180, north: 90)

  /// Returns this box if it is valid. Throws `BothyError` `invalidCoordinate` for values that aren't numbers or are out
  /// of range, and for a south that is north of north.
  @discardableResult
  package func checked() throws(BothyError) -> GeoBox {
    let longitudes = -180.0...180
    let latitudes = -90.0...90
    guard longitudes.contains(west), longitudes.contains(east), latitudes.contains(south),
      latitudes.contains(north), south <= north
    else {
      throw BothyError(
        .invalidCoordinate,
        "[\(west), \(south), \(east), \(north)] isn't a box. Give west, south, east and north in degrees, south not "
          + "beyond north.")
    }
    return self
  }

  /// Creates the smallest box around all positions within a radius of the center, slightly larger against rounding.
  ///
  /// A longitude beyond ±180° wraps around the world. A box that includes a pole spans all longitudes. A radius below
  /// zero counts as zero. Throws `BothyError` for a center or radius that isn't a number.
  public init(around center: Coordinate, radius: Double) throws(BothyError) {
    let center = try center.checked()
    guard radius.isFinite else {
      throw BothyError(
        .invalidCoordinate, "The radius \(radius) isn't a distance. Give a finite number of metres.")
    }
    self.init(
      around: Coordinate(
        latitude: min(max(center.latitude, -90), 90),
        longitude: Geodesy.normalized(longitude: center.longitude)),
      metres: max(radius, 0))
  }

  /// True if the box crosses the meridian of 180°.
  package var crossesAntimeridian: Bool { west > east }

  /// The degrees from west to east.
  package var width: Double { crossesAntimeridian ? east - west + 360 : east - west }

  /// The position halfway between its edges in degrees. Its longitude is within ±180.
  package var center: Coordinate {
    Coordinate(
      latitude: (south + north) / 2, longitude: Geodesy.normalized(longitude: west + width / 2))
  }

  /// The box, or the two halves of a box that crosses the antimeridian.
  package var parts: [GeoBox] {
    guard crossesAntimeridian else { return [self] }
    return [
      GeoBox(west: west, south: south, east: 180, north: north),
      GeoBox(west: -180, south: south, east: east, north: north),
    ]
  }

  /// The box as archives and TileJSON documents state it: the whole width of the map if it crosses the antimeridian.
  ///
  /// Other programs read the edges as the lowest and the highest longitude. TileJSON 3.0.0 (3.5) allows no others.
  package var stated: GeoBox {
    crossesAntimeridian ? GeoBox(west: -180, south: south, east: 180, north: north) : self
  }

  /// Returns true if the boxes have a common position, edges included.
  package func intersects(_ other: GeoBox) -> Bool {
    guard south <= other.north, other.south <= north else { return false }
    return holds(other.west) || holds(other.east) || other.holds(west) || other.holds(east)
      || touchesAntimeridian && other.touchesAntimeridian
  }

  private var touchesAntimeridian: Bool { crossesAntimeridian || abs(west) == 180 || abs(east) == 180 }

  /// Creates the smallest box around all positions, by the shorter way around the world. Returns `nil` without
  /// positions.
  package init?(around coordinates: some Sequence<Coordinate>) {
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
