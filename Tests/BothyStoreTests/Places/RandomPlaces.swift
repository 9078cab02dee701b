import BothyStore
import BothyTestSupport

/// Records at random places, many of them at difficult ones: at the poles and on both sides of the antimeridian.
struct RandomPlaces {
  var random: SeededChoices
  let type: TypeSchema

  init(seed: UInt64, indexed: Bool = true) {
    random = SeededChoices(seed: seed)
    type = TypeSchema(
      "Spot",
      fields: [
        FieldSchema("at", .coordinate, optional: true, indexed: indexed),
        FieldSchema("kind", .int, optional: true),
        FieldSchema("home", .coordinate, optional: true, indexed: indexed),
      ], synced: random.chance(0.5))
  }

  mutating func coordinate() -> Coordinate {
    let hard: [Coordinate] = [
      Coordinate(latitude: 90, longitude: 0), Coordinate(latitude: -90, longitude: 77),
      Coordinate(latitude: 0, longitude: 180), Coordinate(latitude: 0, longitude: -180),
      Coordinate(latitude: -16.8, longitude: 179.9999), Coordinate(latitude: 51.5, longitude: -0.1),
    ]
    if random.chance(0.2) { return random.pick(hard) }
    if random.chance(0.5) {
      let (place, spread) = (random.pick(hard), random.pick([1e-5, 0.01, 1, 20]))
      var longitude = place.longitude + .random(in: -spread...spread, using: &random)
      if longitude > 180 { longitude -= 360 }
      if longitude < -180 { longitude += 360 }
      let latitude = place.latitude + .random(in: -spread...spread, using: &random)
      return Coordinate(latitude: min(90, max(-90, latitude)), longitude: longitude)
    }
    return Coordinate(
      latitude: .random(in: -90...90, using: &random), longitude: .random(in: -180...180, using: &random))
  }

  mutating func record(_ id: Int) -> AnyRecord {
    var record = AnyRecord("Spot", id: "\(id)", ["kind": .int(.random(in: 0...4, using: &random))])
    if random.chance(0.9) { record["at"] = .coordinate(coordinate()) }
    if random.chance(0.3) { record["home"] = .coordinate(coordinate()) }
    return record
  }

  mutating func condition() -> ConditionTree {
    let field = random.pick(["at", "at", "home"])
    if random.chance(0.5) {
      let metres = random.pick([0, 1, 1000, 1e5, 1e6, 1e7, 2.1e7]) * .random(in: 0...1, using: &random)
      return .near(field: field, centre: coordinate(), metres: metres)
    }
    let parallels = [coordinate().latitude, coordinate().latitude].sorted()
    let (west, east) = (coordinate().longitude, coordinate().longitude)
    return .inside(field: field, GeoBox(west: west, south: parallels[0], east: east, north: parallels[1]))
  }

  mutating func query() -> AnyQuery {
    var query = AnyQuery("Spot")
    if random.chance(0.5) { query.filter = condition() }
    if random.chance(0.3) { query.filter = query.filter || .not(condition()) }
    if random.chance(0.4) { query.filter = query.filter && .compare(field: "kind", .less, 2) }
    if random.chance(0.8) {
      query.order = [
        SortKey(
          random.pick(["at", "at", "home"]), distanceFrom: coordinate(), ascending: random.chance(0.85))
      ]
    }
    if random.chance(0.2) {
      query.order.insert(SortKey("kind"), at: .random(in: 0...query.order.count, using: &random))
    }
    if random.chance(0.8) { query.limit = random.pick([0, 1, 5, 20, 400]) }
    if random.chance(0.3) { query.offset = random.pick([1, 7, 250]) }
    return query
  }
}
