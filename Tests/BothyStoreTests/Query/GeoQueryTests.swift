import BothyStore
import BothyTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct GeoQueryTests {
  @Test(
    "The box around a circle contains it, at the poles and across the antimeridian", arguments: 0..<20)
  func bounds(seed: UInt64) {
    var random = SeededChoices(seed: seed)
    for _ in 0..<2000 {
      let centre = Coordinate(
        latitude: random.pick([-90, 90, 89.999, 0, Double.random(in: -90...90, using: &random)]),
        longitude: random.pick([-180, 180, 179.999, Double.random(in: -180...180, using: &random)]))
      let metres = random.pick([0, 1, 1000, 1e5, 1e6, 1e7, 2e7]) * Double.random(in: 0...1, using: &random)
      let spread = metres / 50_000
      let place = Coordinate(
        latitude: min(90, max(-90, centre.latitude + Double.random(in: -spread...spread, using: &random))),
        longitude: Double.random(in: -180...180, using: &random))
      if place.distance(to: centre) <= metres {
        #expect(
          GeoBox(around: centre, metres: metres).contains(place), "seed \(seed): \(centre) \(metres) \(place)"
        )
      }
      #expect(GeoBox(around: centre, metres: metres).contains(centre), "seed \(seed): \(centre) \(metres)")
    }
  }

  @Test("The two names of the antimeridian are one place")
  func antimeridian() throws {
    let box = GeoBox(west: 170, south: -10, east: 180, north: 10)
    #expect(box.contains(Coordinate(latitude: 0, longitude: -180)))
    #expect(!box.contains(Coordinate(latitude: 0, longitude: -179)))
    let crossing = GeoBox(west: 179, south: -10, east: -179, north: 10)
    #expect(crossing.contains(Coordinate(latitude: 0, longitude: 179.5)))
    #expect(crossing.contains(Coordinate(latitude: 0, longitude: -180)))
    #expect(!crossing.contains(Coordinate(latitude: 0, longitude: 0)))
  }
}
