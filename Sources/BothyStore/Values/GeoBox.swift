/// A box between two meridians and two parallels, edges included, in degrees.
///
/// ```swift
/// let hardangervidda = GeoBox(west: 6.7, south: 59.8, east: 8.7, north: 60.6)
/// let huts = try await store.fetch(Hut.where { $0.position.isIn(hardangervidda) })
/// ```
///
/// It extends east from `west` to `east`, so a box whose west is greater than its east crosses the antimeridian.
public struct GeoBox: Sendable, Hashable {
  /// The longitude of the western edge, -180 to 180.
  package var west: Double
  /// The latitude of the southern edge, -90 to 90.
  package var south: Double
  /// The longitude of the eastern edge, -180 to 180. Smaller than `west` across the antimeridian.
  package var east: Double
  /// The latitude of the northern edge, -90 to 90.
  package var north: Double

  /// Creates a box, in the order of RFC 7946 section 5. Checks nothing. A query by a box that isn't on earth throws
  /// `BothyError` `invalidQuery`.
  public init(west: Double, south: Double, east: Double, north: Double) {
    self.west = west
    self.south = south
    self.east = east
    self.north = north
  }

  /// True if the box contains the place, edges included. The meridians 180 and -180 are one.
  package func contains(_ place: Coordinate) -> Bool {
    guard south <= place.latitude && place.latitude <= north else { return false }
    return holds(place.longitude) || (abs(place.longitude) == 180 && holds(-place.longitude))
  }

  /// True if the longitude, taken as a number, is between the two meridians.
  package func holds(_ longitude: Double) -> Bool {
    west <= east
      ? west <= longitude && longitude <= east : west <= longitude || longitude <= east
  }

  package var isOnEarth: Bool {
    -90 <= south && south <= north && north <= 90 && (-180...180).contains(west)
      && (-180...180).contains(east)
  }

  /// Returns the metres on the great circle from a place to the nearest point of the box, or 0 within.
  ///
  /// The nearest point has the place's own longitude if the box contains it. Otherwise it is on the nearer of the two
  /// meridians, because at one latitude the distance grows with the difference of longitude.
  package func distance(to place: Coordinate) -> Double {
    if contains(place) { return 0 }
    let latitude = min(max(place.latitude, south), north)
    if holds(place.longitude) || (abs(place.longitude) == 180 && holds(-place.longitude)) {
      return place.distance(to: Coordinate(latitude: latitude, longitude: place.longitude))
    }
    let edge = min(Self.turn(place.longitude, west), Self.turn(place.longitude, east))
    // Along a meridian the cosine of the distance is one wave, whose crest is the foot of the perpendicular.
    let (own, across) = (place.latitude * .pi / 180, edge * .pi / 180)
    let foot = arcTangent(sine(own), over: cosine(own) * cosine(across)) * 180 / .pi
    let origin = Coordinate(latitude: place.latitude, longitude: 0)
    func metres(_ latitude: Double) -> Double {
      origin.distance(to: Coordinate(latitude: latitude, longitude: edge))
    }
    return south <= foot && foot <= north ? metres(foot) : min(metres(south), metres(north))
  }

  /// Returns the degrees between two meridians by the shorter way.
  private static func turn(_ first: Double, _ second: Double) -> Double {
    let difference = abs(first - second).truncatingRemainder(dividingBy: 360)
    return min(difference, 360 - difference)
  }
}

extension GeoBox {
  /// Creates a box that contains every place within `metres` of `centre`, slightly larger than necessary.
  ///
  /// Around a pole it has all meridians. Across the antimeridian `west` is greater than `east`. The meridians that
  /// touch the circle are asin(sin r / cos φ) away from its centre. The centre is on earth, the radius 0 or more.
  package init(around centre: Coordinate, metres: Double) {
    let degrees = 180 / Double.pi
    let radius = metres / Coordinate.earthRadius
    // The distance of places that are nearly opposite is accurate to a ten-millionth of a radian only.
    let hair = metres < 1_000_000 ? 1e-9 : 1e-5
    let south = centre.latitude - radius * degrees - hair
    let north = centre.latitude + radius * degrees + hair
    let ratio = sine(min(radius, .pi / 2)) / max(cosine(centre.latitude / degrees), 1e-300)
    guard south > -90, north < 90, ratio < 1 else {
      self.init(west: -180, south: max(-90, south), east: 180, north: min(90, north))
      return
    }
    let width = arcSine(ratio) * degrees + hair
    var (west, east) = (centre.longitude - width, centre.longitude + width)
    if west < -180 { west += 360 }
    if east > 180 { east -= 360 }
    self.init(west: west, south: south, east: east, north: north)
  }

  /// Boxes that are intervals of both numbers and together cover this box. One box suffices, but the antimeridian adds
  /// a second, and so does an edge on a meridian with two names.
  package var intervals: [GeoBox] {
    func part(_ west: Double, _ east: Double) -> GeoBox {
      GeoBox(west: west, south: south, east: east, north: north)
    }
    if west > east { return [part(west, 180), part(-180, east)] }
    if holds(180) == holds(-180) { return [self] }
    return holds(180) ? [self, part(-180, -180)] : [self, part(180, 180)]
  }
}
