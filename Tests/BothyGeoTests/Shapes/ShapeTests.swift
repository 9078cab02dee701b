import BothyGeo
import BothyStore
import BothyTesting
import Testing

@Suite("Boxes, polygons and distances", .timeLimit(.minutes(5)))
struct ShapeTests {
  private func at(_ latitude: Double, _ longitude: Double) -> Coordinate {
    Coordinate(latitude: latitude, longitude: longitude)
  }

  /// Returns a house of twenty metres with a courtyard of ten.
  private func house(_ corner: Coordinate) -> GeoPolygon {
    func square(_ offset: Double, _ size: Double) -> [Coordinate] {
      let start = Geodesy.destination(
        from: Geodesy.destination(from: corner, bearing: 0, distance: offset), bearing: 90, distance: offset)
      let north = Geodesy.destination(from: start, bearing: 0, distance: size)
      let east = Geodesy.destination(from: start, bearing: 90, distance: size)
      return [start, north, at(north.latitude, east.longitude), east, start]
    }
    return GeoPolygon(exterior: square(0, 20), holes: [square(5, 10)])
  }

  /// Promises: B-19i
  @Test("Half a metre beyond a wall or in a courtyard is outside, within isn't")
  func walls() {
    for corner in [at(43.4609, -80.5224), at(-33.86, 151.2), at(0, 0), at(64, 179.9999)] {
      let house = house(corner)
      func point(_ north: Double, _ east: Double) -> Coordinate {
        Geodesy.destination(
          from: Geodesy.destination(from: corner, bearing: 0, distance: north), bearing: 90, distance: east)
      }
      #expect(!house.contains(point(10, -0.5)) && house.contains(point(10, 0.5)))
      #expect(!house.contains(point(20.5, 10)) && house.contains(point(19.5, 10)))
      #expect(!house.contains(point(10, 20.5)) && house.contains(point(10, 19.5)))
      #expect(!house.contains(point(10, 10)))
      #expect(abs(house.distance(to: point(10, -0.5)) - 0.5) < 1e-3)
      #expect(abs(house.distance(to: point(10, 10)) - 5) < 1e-3)
      #expect(
        house.distance(to: point(2, 2)) == 0 && abs(house.distanceToEdge(from: point(2, 10)) - 2) < 1e-3)
    }
    #expect(house(at(1, 2)).contains(at(1, 2)))
    #expect(!GeoPolygon(exterior: []).contains(at(0, 0)))
    #expect(GeoPolygon(exterior: []).distance(to: at(0, 0)) == .infinity)
  }

  /// Promises: B-19j
  @Test("Boxes and polygons across the antimeridian contain both sides and have their middle there")
  func antimeridian() throws {
    let box = GeoBox(west: 179.9, south: -1, east: -179.9, north: 1)
    #expect(box.contains(at(0, 179.9999)) && box.contains(at(0, -179.9999)) && box.contains(at(0, 180)))
    #expect(!box.contains(at(0, 0)) && abs(box.width - 0.2) < 1e-9 && abs(box.center.longitude) == 180)
    #expect(box.contains(at(1, 179.9)) && box.contains(at(-1, -179.9)))
    let around = try GeoBox(around: at(-16.8, -179.9999), radius: 500)
    #expect(around.contains(at(-16.8, 179.9999)) && around.crossesAntimeridian)
    let polygon = GeoPolygon(exterior: [at(-1, 179), at(-1, -178), at(1, -178), at(1, 179)])
    let middle = try #require(polygon.bounds).center
    #expect(abs(middle.longitude + 179.5) < 1e-9 && middle.latitude == 0)
    #expect(polygon.contains(at(0, 180)) && polygon.contains(at(0, -180)) && !polygon.contains(at(0, 0)))
    #expect(!polygon.contains(at(0, 178.9)) && polygon.contains(at(0, -178.1)))
    #expect(abs(polygon.distance(to: at(0, 178.9)) - at(0, 178.9).distance(to: at(0, 179))) < 1)
    let east = GeoBox(west: 170, south: 0, east: 180, north: 1)
    #expect(east.contains(at(0.5, -180)) && east.intersects(box))
    #expect(!east.intersects(GeoBox(west: 0, south: 0, east: 10, north: 1)))
    #expect(box.intersects(GeoBox(west: -179.95, south: 0, east: 10, north: 1)))
  }

  @Test("The box around a center contains everything within the radius and little more")
  func boxesAround() throws {
    var generator = SeededGenerator(seed: 6)
    for _ in 0..<2_000 {
      let center = at(.random(in: -89...89, using: &generator), .random(in: -180...180, using: &generator))
      let radius = Double.random(in: 1...200_000, using: &generator)
      let box = try GeoBox(around: center, radius: radius)
      for bearing in stride(from: 0.0, to: 360, by: 15) {
        let edge = Geodesy.destination(from: center, bearing: bearing, distance: radius)
        #expect(box.contains(edge))
        #expect(abs(center.distance(to: edge) - radius) < 1e-3)
      }
      guard abs(center.latitude) < 80 else { continue }
      let north = at(box.north, center.longitude)
      #expect(center.distance(to: north) < radius + 0.001)
    }
  }

  @Test("The distance to a line is that of its nearest point")
  func segments() {
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<300 {
      let reach = Double.random(in: 0.0001...1, using: &generator)
      let origin = at(.random(in: -70...70, using: &generator), .random(in: -180...180, using: &generator))
      func near() -> Coordinate {
        at(
          origin.latitude + .random(in: -reach...reach, using: &generator),
          Geodesy.normalized(longitude: origin.longitude + .random(in: -reach...reach, using: &generator)))
      }
      let (start, end, place) = (near(), near(), near())
      let across = end.longitude - start.longitude
      let step = across > 180 ? across - 360 : across < -180 ? across + 360 : across
      let sampled =
        (0...4000).map { part in
          let along = Double(part) / 4000
          return place.distance(
            to: at(
              start.latitude + along * (end.latitude - start.latitude), start.longitude + along * step))
        }.min() ?? 0
      let found = Geodesy.distance(from: place, toSegment: start, end)
      #expect(found <= sampled * 1.000_1 + 1e-6, "\(found) \(sampled)")
      #expect(found >= sampled - start.distance(to: end) / 4000 - 1e-6)
    }
    let point = at(1, 1)
    #expect(Geodesy.distance(from: at(1, 1), toSegment: point, point) == 0)
    #expect(Geodesy.distance(from: at(0, 0), toLine: []) == .infinity)
  }

  @Test("Both halves of a great circle are equal at its midpoint")
  func midpoints() {
    let (first, second) = (at(51.5, 179.5), at(52.5, -179))
    let middle = Geodesy.midpoint(first, second)
    #expect(abs(middle.distance(to: first) - middle.distance(to: second)) < 1e-3)
    #expect(abs(middle.distance(to: first) + middle.distance(to: second) - first.distance(to: second)) < 1e-3)
    #expect(abs(middle.longitude) > 179)
    #expect(Geodesy.normalized(longitude: 540) == -180 && Geodesy.normalized(longitude: -190) == 170)
    #expect(Geodesy.normalized(longitude: 180) == 180 && Geodesy.normalized(longitude: 359) == -1)
  }

  @Test("Geohashes of nearby places share a prefix, and name an area around the position")
  func geohashes() throws {
    #expect(try Geohash.encode(at(38.89, -77.0), length: 6) == "dqcjpz")
    #expect(try Geohash.encode(at(38.89, -77.1), length: 6) == "dqcjjx")
    #expect(try Geohash.encode(at(38.89, -77.0), length: 4) == "dqcj")
    #expect(try Geohash.encode(at(38.89, -77.1), length: 4) == "dqcj")
    var generator = SeededGenerator(seed: 8)
    for _ in 0..<1_000 {
      let place = at(.random(in: -90...90, using: &generator), .random(in: -180...180, using: &generator))
      let length = Int.random(in: 1...12, using: &generator)
      let hash = try Geohash.encode(place, length: length)
      #expect(hash.count == length)
      let box = try Geohash.decode(hash)
      #expect(box.contains(place))
      #expect(try Geohash.encode(box.center, length: length) == hash)
    }
    #expect(throws: BothyError.self) { try Geohash.encode(at(.nan, 0)) }
    for text in ["", "a", "dqcj!", String(repeating: "d", count: 13)] {
      #expect(throws: BothyError.self) { try Geohash.decode(text) }
    }
  }
}
