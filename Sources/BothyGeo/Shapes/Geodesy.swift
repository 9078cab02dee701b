package import BothyStore

/// Distances and directions on the ground.
package enum Geodesy {
  /// The mean radius of the earth (IUGG) in metres, which `Coordinate.distance(to:)` uses too.
  package static let earthRadius = Coordinate.earthRadius

  /// Returns a longitude as a value from -180 to 180. A longitude in this range doesn't change, both ends included.
  package static func normalized(longitude: Double) -> Double {
    if (-180...180).contains(longitude) { return longitude }
    let turned = (longitude + 180).truncatingRemainder(dividingBy: 360)
    return (turned < 0 ? turned + 360 : turned) - 180
  }

  /// Returns the degrees from the first meridian east to the second, by the shorter way: from -180 to 180.
  static func difference(from first: Double, to second: Double) -> Double {
    let difference = second - first
    return (-180...180).contains(difference) ? difference : normalized(longitude: difference)
  }

  /// Returns the midpoint of the great circle between two positions.
  package static func midpoint(_ first: Coordinate, _ second: Coordinate) -> Coordinate {
    let radians = Double.pi / 180
    let (latitude, other) = (first.latitude * radians, second.latitude * radians)
    let turn = (second.longitude - first.longitude) * radians
    let (east, north) = (cosine(other) * cosine(turn), cosine(other) * sine(turn))
    let along = cosine(latitude) + east
    let middle = arcTangent(
      sine(latitude) + sine(other), over: (along * along + north * north).squareRoot())
    let longitude = first.longitude + arcTangent(north, over: along) / radians
    return Coordinate(latitude: middle / radians, longitude: normalized(longitude: longitude))
  }

  /// Returns the position at a distance in metres from another, in a direction clockwise from north in degrees.
  package static func destination(
    from start: Coordinate, bearing: Double, distance: Double
  ) -> Coordinate {
    let radians = Double.pi / 180
    let (latitude, direction, angle) = (start.latitude * radians, bearing * radians, distance / earthRadius)
    let reached = sine(latitude) * cosine(angle) + cosine(latitude) * sine(angle) * cosine(direction)
    let turn = arcTangent(
      sine(direction) * sine(angle) * cosine(latitude), over: cosine(angle) - sine(latitude) * reached)
    return Coordinate(
      latitude: arcSine(min(max(reached, -1), 1)) / radians,
      longitude: normalized(longitude: start.longitude + turn / radians))
  }

  /// Returns the direction from one position to another on the great circle, in degrees clockwise from north: -180 to
  /// 180.
  package static func bearing(from start: Coordinate, to end: Coordinate) -> Double {
    let radians = Double.pi / 180
    let (latitude, other) = (start.latitude * radians, end.latitude * radians)
    let turn = (end.longitude - start.longitude) * radians
    let north = cosine(latitude) * sine(other) - sine(latitude) * cosine(other) * cosine(turn)
    return arcTangent(sine(turn) * cosine(other), over: north) / radians
  }

  /// Returns the metres from a position to the nearest point of the straight line, in degrees, between two others. The
  /// line crosses the antimeridian by the shorter way.
  ///
  /// The nearest point is searched in a plane around the position, then again with the scale at the first result. The
  /// error is a ten-thousandth at a hundred kilometres, and millimetres at walking distances.
  package static func distance(
    from position: Coordinate, toSegment start: Coordinate, _ end: Coordinate
  ) -> Double {
    let from = (
      x: difference(from: position.longitude, to: start.longitude), y: start.latitude - position.latitude
    )
    let along = (x: difference(from: start.longitude, to: end.longitude), y: end.latitude - start.latitude)
    var part = 0.0
    for _ in 0..<3 {
      let latitude = position.latitude + (from.y + part * along.y) / 2
      let scale = cosine(latitude * .pi / 180)
      let square = scale * scale
      let length = along.x * along.x * square + along.y * along.y
      guard length > 0 else { break }
      part = min(max(-(from.x * along.x * square + from.y * along.y) / length, 0), 1)
    }
    let nearest = Coordinate(
      latitude: start.latitude + part * along.y, longitude: start.longitude + part * along.x)
    return min(position.distance(to: nearest), position.distance(to: start), position.distance(to: end))
  }
}
