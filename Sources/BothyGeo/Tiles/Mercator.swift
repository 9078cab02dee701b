public import BothyStore

/// The projection under all tiles: a sphere of 6,378,137 m unrolled to a square that ends at 85.0511° north and south
/// (EPSG:3857).
public enum Mercator {
  /// In metres.
  public static let earthRadius = 6_378_137.0
  /// The latitude, north and south, beyond which there is no map.
  public static let latitudeLimit = 85.05112878
  /// The edge of a tile's picture in pixels.
  public static let tileEdge = 256

  /// Whether a position is on the map: within the limits of latitude and longitude, which belong to it.
  public static func contains(_ coordinate: Coordinate) -> Bool {
    (-latitudeLimit...latitudeLimit).contains(coordinate.latitude)
      && (-180...180).contains(coordinate.longitude)
  }

  /// How many metres one pixel of a tile shows at a latitude. Throws `GeoError` for a latitude that is no number and for
  /// a zoom that no tile has.
  public static func groundResolution(latitude: Double, zoom: Int) throws(GeoError) -> Double {
    try Coordinate(latitude: latitude, longitude: 0).checked()
    let clamped = min(max(latitude, -latitudeLimit), latitudeLimit)
    let pixels = Double(tileEdge) * Double(try Tile.side(zoom))
    return cosine(clamped * .pi / 180) * 2 * .pi * earthRadius / pixels
  }

  /// How far east of 180° west and south of the northern edge, as fractions of the map's edge; not clamped.
  static func fractions(_ coordinate: Coordinate) -> (x: Double, y: Double) {
    let latitude = min(max(coordinate.latitude, -89.9), 89.9)
    let sine = sine(latitude * .pi / 180)
    return (
      coordinate.longitude / 360 + 0.5, 0.5 - naturalLogarithm((1 + sine) / (1 - sine)) / (4 * .pi)
    )
  }

  /// The longitude of the western edge of a column; exact.
  static func west(column: Int, zoom: Int) -> Double { Double(column) / Double(1 << zoom) * 360 - 180 }

  /// The latitude of the northern edge of a row; the equator is exactly 0.
  static func north(row: Int, zoom: Int) -> Double {
    latitude(fraction: Double(row) / Double(1 << zoom))
  }

  static func latitude(fraction: Double) -> Double {
    arcTangent(hyperbolicSine(.pi * (1 - 2 * fraction))) * (180 / .pi)
  }

  /// The column a longitude is in; a longitude on the border of two is in the eastern one. Clamped.
  static func column(_ longitude: Double, zoom: Int) -> Int {
    settle(longitude / 360 + 0.5, zoom: zoom) { longitude >= west(column: $0, zoom: zoom) }
  }

  /// The row a latitude is in; a latitude on the border of two is in the southern one. Clamped.
  static func row(_ latitude: Double, zoom: Int) -> Int {
    let fraction = fractions(Coordinate(latitude: latitude, longitude: 0)).y
    return settle(fraction, zoom: zoom) { latitude <= north(row: $0, zoom: zoom) }
  }

  /// The column or row of a fraction. Close to a border rounding decides nothing: the border itself, which `bounds`
  /// tells of, is asked.
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
  /// This position, when both values are numbers. Throws `GeoError` `.invalidCoordinate`.
  @discardableResult
  func checked() throws(GeoError) -> Coordinate {
    guard latitude.isFinite, longitude.isFinite else {
      throw GeoError(
        .invalidCoordinate,
        "The position (\(latitude), \(longitude)) is no place: both values must be finite numbers.")
    }
    return self
  }
}

extension Tile {
  /// The tile that a position is in. A longitude beyond ±180° goes around the world; what lies north or south of the map
  /// is in the nearest row. A position on the border of two tiles is in the one to the east or south. Throws `GeoError` for values that are no numbers and for
  /// a zoom that no tile has.
  public init(containing coordinate: Coordinate, zoom: Int) throws(GeoError) {
    try coordinate.checked()
    _ = try Self.side(zoom)
    self.init(
      uncheckedX: Mercator.column(Geodesy.normalized(longitude: coordinate.longitude), zoom: zoom),
      y: Mercator.row(coordinate.latitude, zoom: zoom), zoom: zoom)
  }

  /// The edges, as far as rounding allows exact; those of neighbours are the same numbers.
  public var bounds: GeoBox {
    GeoBox(
      west: Mercator.west(column: x, zoom: zoom), south: Mercator.north(row: y + 1, zoom: zoom),
      east: Mercator.west(column: x + 1, zoom: zoom), north: Mercator.north(row: y, zoom: zoom))
  }

  /// The edges as a closed ring: north-west, north-east, south-east, south-west, north-west.
  public var outline: [Coordinate] {
    let box = bounds
    let northWest = Coordinate(latitude: box.north, longitude: box.west)
    return [
      northWest, Coordinate(latitude: box.north, longitude: box.east),
      Coordinate(latitude: box.south, longitude: box.east),
      Coordinate(latitude: box.south, longitude: box.west),
      northWest,
    ]
  }

  /// The middle of the tile's picture, which is not halfway between its latitudes.
  public var center: Coordinate {
    let side = Double(1 << zoom)
    return Coordinate(
      latitude: Mercator.latitude(fraction: (Double(y) + 0.5) / side),
      longitude: (Double(x) + 0.5) / side * 360 - 180)
  }
}
