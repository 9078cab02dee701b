import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Queries by place, which return equal results on the device and on the server.
@Suite("Fetching by place", .timeLimit(.minutes(5)))
struct PlaceFetchTests {
  private static let type = TypeSchema(
    "Spot", fields: [FieldSchema("at", .coordinate, optional: true, indexed: true), FieldSchema("n", .int)])

  private func coordinate(_ random: inout SeededGenerator) -> Coordinate {
    let latitudes: [ClosedRange<Double>] = [-90...90, 89.9...90, -90 ... -89.9, -1...1]
    let longitudes: [ClosedRange<Double>] = [-180...180, 179.9...180, -180 ... -179.9]
    return Coordinate(
      latitude: .random(in: latitudes.randomElement(using: &random) ?? -90...90, using: &random),
      longitude: .random(in: longitudes.randomElement(using: &random) ?? -180...180, using: &random))
  }

  private func query(_ random: inout SeededGenerator) -> AnyQuery {
    let key = SortKey("at", distanceFrom: coordinate(&random), ascending: Bool.random(using: &random))
    var query = AnyQuery("Spot", order: [key], limit: .random(in: 1...30, using: &random))
    if Bool.random(using: &random) {
      query.filter = .near(
        field: "at", centre: coordinate(&random), metres: .random(in: 0...8e6, using: &random))
    } else if Bool.random(using: &random) {
      let (first, second) = (coordinate(&random), coordinate(&random))
      query.filter = .inside(
        field: "at",
        GeoBox(
          west: first.longitude, south: min(first.latitude, second.latitude), east: second.longitude,
          north: max(first.latitude, second.latitude)))
    }
    if Bool.random(using: &random) { query.filter = query.filter && .compare(field: "n", .less, 3) }
    return query
  }

  @Test(
    "Queries by place return what measuring every record returns, on all sides",
    arguments: 0..<4)
  func network(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let schema = StoreSchema(types: [Self.type])
    for rules in [AccessRules(), AccessRules(schema: schema)] {
      let pair = try Pair(schema: schema, rules: rules)
      var records: [AnyRecord] = []
      for id in 0..<150 {
        var record = AnyRecord("Spot", id: "\(id)", ["n": .int(.random(in: 0...5, using: &random))])
        if id % 10 > 0 { record["at"] = .coordinate(coordinate(&random)) }
        records.append(record)
      }
      let all = records
      try pair.b.change { transaction in for record in all { try transaction.insert(record) } }
      await pair.b.store.sync()
      for round in 0..<25 {
        let query = query(&random)
        let expected = try query.evaluate(over: all, schema: Self.type).map(\.id)
        let comment: Comment = "seed \(seed), round \(round): \(query)"
        #expect(try await pair.a.remote.query(query).map(\.id.id) == expected, comment)
        let options = RequestOptions(readPolicy: .remote)
        #expect(
          try await pair.a.store.fetchResult(query, options: options).records.map(\.id) == expected, comment)
      }
      await pair.a.store.sync()
      for round in 0..<25 {
        let query = query(&random)
        let found = try await pair.a.store.fetchResult(
          query, options: RequestOptions(readPolicy: .local))
        #expect(
          try found.records.map(\.id) == query.evaluate(over: all, schema: Self.type).map(\.id),
          "seed \(seed), round \(round): \(query)")
      }
      #expect(try pair.a.store.diagnose().findings.isEmpty, "seed \(seed)")
    }
  }

  @Test("An observed query by distance is updated in the transaction of a pull")
  func live() async throws {
    let pair = try Pair(schema: StoreSchema(types: [Self.type]))
    let here = Coordinate(latitude: 0, longitude: 180)
    @Sendable func spot(_ id: String, _ longitude: Double) -> AnyRecord {
      AnyRecord(
        "Spot", id: id, ["n": 1, "at": .coordinate(Coordinate(latitude: 0, longitude: longitude))])
    }
    let nearest = AnyQuery("Spot", order: [SortKey("at", distanceFrom: here)], limit: 1)
    var answers = pair.a.store.store.values(of: nearest).makeAsyncIterator()
    #expect(try await answers.next()?.isEmpty == true)
    for (id, longitude, expected) in [("a", 170.0, "a"), ("b", -179.0, "b"), ("c", 179.5, "c")] {
      try pair.b.change { try $0.insert(spot(id, longitude)) }
      await pair.b.store.sync()
      await pair.a.store.sync()
      #expect(try await answers.next()?.map(\.id) == [expected])
    }
    try pair.b.change { _ = try $0.delete(RecordID(type: "Spot", id: "c")) }
    await pair.b.store.sync()
    await pair.a.store.sync()
    #expect(try await answers.next()?.map(\.id) == ["b"])
    #expect(try pair.a.store.diagnose().findings.isEmpty)
  }
}
