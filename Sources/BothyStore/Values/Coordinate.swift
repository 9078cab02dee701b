/// A position on the WGS 84 ellipsoid in decimal degrees.
///
/// As a field it has two columns. `@Indexed` gives it an R-tree, which circles and boxes use.
///
/// ```swift
/// let finse = Coordinate(latitude: 60.602, longitude: 7.504)
/// let near = try await store.fetch(Hut.where { $0.position.isWithin(metres: 5000, of: finse) })
/// let metres = finse.distance(to: Coordinate(latitude: 60.391, longitude: 5.322))
/// ```
public struct Coordinate: Sendable, Hashable {
  /// North positive, -90 to 90. The poles are valid.
  public var latitude: Double
  /// East positive, -180 to 180. Both ends are valid, and boxes treat them as one meridian.
  public var longitude: Double

  /// Creates a coordinate from any numbers. Writing a place that isn't on earth throws `BothyError` `.invalidValue`. A
  /// query by such a place throws `invalidQuery`. The latitude comes first, unlike in GeoJSON.
  public init(latitude: Double, longitude: Double) {
    self.latitude = latitude
    self.longitude = longitude
  }

  /// The mean radius of the earth (IUGG) in metres.
  package static let earthRadius = 6_371_008.8

  /// True if both numbers are valid, within ±90 and ±180.
  package var isOnEarth: Bool { (-90...90).contains(latitude) && (-180...180).contains(longitude) }

  /// Reads `{"lat":…,"lon":…}`. Throws `FieldValueError` if a member is missing or out of range.
  package init(json: JSONValue) throws {
    guard let latitude = json["lat"]?.doubleValue, let longitude = json["lon"]?.doubleValue,
      Coordinate(latitude: latitude, longitude: longitude).isOnEarth
    else { throw FieldValueError(expected: .coordinate, found: json.canonicalText) }
    self.init(latitude: latitude, longitude: longitude)
  }

  /// Writes `{"lat":…,"lon":…}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("lat")
    writer.value(latitude)
    writer.key("lon")
    writer.value(longitude)
    writer.endObject()
  }

  /// Returns the great-circle distance in metres, by the haversine formula on a sphere of the mean radius 6,371,008.8 m
  /// (IUGG). Accurate to 0.6 % of the ellipsoid.
  ///
  /// Symmetric, and 0 for equal places. Queries measure by the same formula. Both places must be on earth, else the
  /// result has no meaning. It is a number in any case: a place with a number that isn't finite is as far as the other
  /// side of the earth, and so the last in an order.
  public func distance(to other: Coordinate) -> Double {
    let radians = Double.pi / 180
    let halfLatitude = (other.latitude - latitude) * radians / 2
    let halfLongitude = (other.longitude - longitude) * radians / 2
    let chord =
      sine(halfLatitude) * sine(halfLatitude)
      + cosine(latitude * radians) * cosine(other.latitude * radians) * sine(halfLongitude)
      * sine(halfLongitude)
    // A chord that isn't a number counts as 1, because no comparison with it is true.
    let root = chord.squareRoot()
    return 2 * Self.earthRadius * arcSine(root < 1 ? root : 1)
  }
}
