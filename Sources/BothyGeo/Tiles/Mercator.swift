public import BothyStore

/// The projection of all tiles (EPSG:3857). It maps a sphere of 6,378,137 m to a square that ends at 85.0511° north and
/// south.
package enum Mercator {
  /// The radius of the sphere in metres.
  package static let earthRadius = 6_378_137.0
  /// The latitude, north and south, at which the map ends.
  package static let latitudeLimit = 85.05112878
  /// The edge of a tile's picture in pixels.
  package static let tileEdge = 256

  /// Returns true if a position is on the map, including the limits of latitude and longitude.
  package static func contains(_ coordinate: Coordinate) -> Bool {
    (-latitudeLimit...latitudeLimit).contains(coordinate.latitude)
      && (-180...180).contains(coordinate.longitude)
  }

  /// Returns the metres that one pixel of a tile shows at a latitude. Throws `BothyError` for a latitude that isn't a
  /// number and for a zoom that no tile has.
  package static func groundResolution(latitude: Double, zoom: Int) throws(BothyError) -> Double {
    try Coordinate(latitude: latitude, longitude: 0).checked()
    let clamped = min(max(latitude, -latitudeLimit), latitudeLimit)
    let pixels = Double(tileEdge) * Double(try Tile.side(zoom))
    return cosine(clamped * .pi / 180) * 2 * .pi * earthRadius / pixels
  }

  /// Returns the distance east of 180° west and south of the northern edge, as fractions of the map's edge. Not
  /// clamped.
  static func fractions(_ coordinate: Coordinate) -> (x: Double, y: Double) {
    let latitude = min(max(coordinate.latitude, -89.9), 89.9)
    let sine = sine(latitude * .pi / 180)
    return (
      coordinate.longitude / 360 + 0.5, 0.5 - naturalLogarithm((1 + sine) / (1 - sine)) / (4 * .pi)
    )
  }

  /// Returns the exact longitude of the western edge of a column.
  static func west(column: Int, zoom: Int) -> Double { Double(column) / Double(1 << zoom) * 360 - 180 }

  /// Returns the latitude of the northern edge of a row. The equator is exactly 0.
  static func north(row: Int, zoom: Int) -> Double {
    latitude(fraction: Double(row) / Double(1 << zoom))
  }

  static func latitude(fraction: Double) -> Double {
    arcTangent(hyperbolicSine(.pi * (1 - 2 * fraction))) * (180 / .pi)
  }

  /// Returns the column of a longitude, clamped. A longitude on the border of two columns is in the eastern one.
  static func column(_ longitude: Double, zoom: Int) -> Int {
    settle(longitude / 360 + 0.5, zoom: zoom) { longitude >= west(column: $0, zoom: zoom) }
  }

  /// Returns the row of a latitude, clamped. A latitude on the border of two rows is in the southern one.
  static func row(_ latitude: Double, zoom: Int) -> Int {
    let fraction = fractions(Coordinate(latitude: latitude, longitude: 0)).y
    return settle(fraction, zoom: zoom) { latitude <= north(row: $0, zoom: zoom) }
  }

  /// Returns the column or row of a fraction. Near a border, the exact border of `bounds` decides, so rounding has no
  /// effect.
  private static func settle(_ fraction: Double, zoom: Int, isPast border: (Int) -> Bool) -> Int {
    let last = 1 << zoom - 1
    guard fraction > 0 else { return 0 }
    guard fraction < 1 else { return last }
    let place = fraction * Double(1 << zoom)
    let nearest = Int(place.rounded())
    if abs(place - Double(nearest)) < 1e-5 {
      return min(max(border(nearest) ? nearest : nearest - 1, 0), last)
    }
    return min(Int(place), last)
  }
}

extension Coordinate {
  /// Returns this position if both values are numbers. Throws `BothyError` `invalidCoordinate`.
  @discardableResult
  func checked() throws(BothyError) -> Coordinate {
    guard latitude.isFinite, longitude.isFinite else {
      throw BothyError(
        .invalidCoordinate,
        "The position (\(latitude), \(longitude)) isn't a place: both values must be finite numbers.")
    }
    return self
  }
}

extension Tile {
  /// Creates the tile that contains a position. A longitude beyond ±180° wraps around the world. A position north or
  /// south of the map is in the nearest row. A position on the border of two tiles is in the one to the east or south.
  ///
  /// ```swift
  /// let tile = try Tile(containing: position, zoom: 14)
  /// ```
  ///
  /// - Throws: `BothyError` `invalidCoordinate` for values that aren't numbers, or `invalidTile` for a zoom that no
  ///   tile has.
  public init(containing coordinate: Coordinate, zoom: Int) throws(BothyError) {
    try coordinate.checked()
    _ = try Self.side(zoom)
    self.init(
      uncheckedX: Mercator.column(Geodesy.normalized(longitude: coordinate.longitude), zoom: zoom),
      y: Mercator.row(coordinate.latitude, zoom: zoom), zoom: zoom)
  }

  /// The edges in degrees, exact up to rounding. Adjacent tiles have equal numbers for a common edge.
  ///
  /// Computed at each call. The first and last row end at 85.0511° north and south.
  public var bounds: GeoBox {
    GeoBox(
      west: Mercator.west(column: x, zoom: zoom), south: Mercator.north(row: y + 1, zoom: zoom),
      east: Mercator.west(column: x + 1, zoom: zoom), north: Mercator.north(row: y, zoom: zoom))
  }

  /// The edges as a closed ring: north-west, north-east, south-east, south-west, north-west.
  package var outline: [Coordinate] {
    let box = bounds
    let northWest = Coordinate(latitude: box.north, longitude: box.west)
    return [
      northWest, Coordinate(latitude: box.north, longitude: box.east),
      Coordinate(latitude: box.south, longitude: box.east),
      Coordinate(latitude: box.south, longitude: box.west),
      northWest,
    ]
  }

  /// The middle of the tile's picture, which isn't the middle of its latitudes.
  package var center: Coordinate {
    let side = Double(1 << zoom)
    return Coordinate(
      latitude: Mercator.latitude(fraction: (Double(y) + 0.5) / side),
      longitude: (Double(x) + 0.5) / side * 360 - 180)
  }
}
