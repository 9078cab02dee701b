import BothyStore
import Testing

@Suite("Records by their places", .timeLimit(.minutes(5)))
struct NearestTests {
  private func store(_ places: RandomPlaces, _ records: [AnyRecord]) throws -> LocalStore {
    let store = try LocalStore(inMemory: StoreSchema(types: [places.type]))
    try store.write { transaction in for record in records { try transaction.insert(record) } }
    return store
  }

  @Test(
    "Queries by place match measuring every record, with and without an index",
    arguments: 0..<8)
  func exact(seed: UInt64) throws {
    for indexed in [true, false] {
      var places = RandomPlaces(seed: seed, indexed: indexed)
      let records = (0..<300).map { places.record($0) }
      let store = try store(places, records)
      for round in 0..<60 {
        let query = places.query()
        let expected = try query.evaluate(over: records, schema: places.type).map(\.id)
        let comment: Comment = "seed \(seed), round \(round), indexed \(indexed): \(query)"
        #expect(try store.fetch(query).map(\.id) == expected, comment)
        #expect(try store.read { try $0.ids(query) } == expected, comment)
        #expect(try store.count(query) == expected.count, comment)
      }
    }
  }

  @Test("A place without finite numbers is last by distance, and stores refuse it")
  func notFinite() throws {
    var places = RandomPlaces(seed: 1)
    let store = try store(places, [])
    let here = Coordinate(latitude: 51.5, longitude: -0.1)
    let opposite = Coordinate(latitude: -51.5, longitude: 179.9)
    for number in [Double.nan, .infinity, -.infinity] {
      for place in [
        Coordinate(latitude: number, longitude: 0), Coordinate(latitude: 0, longitude: number),
      ] {
        #expect(place.distance(to: here) >= opposite.distance(to: here))
        #expect(place.distance(to: here) == here.distance(to: place))
        var record = places.record(0)
        record["at"] = .coordinate(place)
        let error = #expect(throws: BothyError.self) { try store.write { try $0.insert(record) } }
        #expect(error?.code == .invalidValue)
      }
    }
  }

  @Test("The nearest come in order of distance, at the poles and across the antimeridian")
  func order() throws {
    var places = RandomPlaces(seed: 1)
    let records = (0..<500).map { places.record($0) }
    let store = try store(places, records)
    for here in [
      Coordinate(latitude: 90, longitude: 0), Coordinate(latitude: -90, longitude: -120),
      Coordinate(latitude: 0, longitude: 180), Coordinate(latitude: -16.8, longitude: -179.9999),
      Coordinate(latitude: 51.5, longitude: -0.1),
    ] {
      let query = AnyQuery(
        "Spot", where: .compare(field: "at", .notEqual, .null), order: [SortKey("at", distanceFrom: here)],
        limit: 20)
      let found = try store.fetch(query).map { $0.distance(of: "at", from: here) }
      let all = records.map { $0.distance(of: "at", from: here) }.sorted()
      #expect(found == Array(all.prefix(20)), "\(here)")
    }
  }

  @Test("Records without a coordinate are in no circle or box and are farthest")
  func missing() throws {
    let places = RandomPlaces(seed: 2)
    let store = try store(
      places,
      [
        AnyRecord("Spot", id: "none"),
        AnyRecord("Spot", id: "far", ["at": .coordinate(Coordinate(latitude: 0, longitude: 180))]),
        AnyRecord("Spot", id: "near", ["at": .coordinate(Coordinate(latitude: 0, longitude: 1))]),
      ])
    let here = Coordinate(latitude: 0, longitude: 0)
    func ids(_ filter: ConditionTree, _ order: SortKey? = nil, limit: Int? = nil) throws -> [String] {
      try store.fetch(AnyQuery("Spot", where: filter, order: order.map { [$0] } ?? [], limit: limit)).map(
        \.id)
    }
    let world = GeoBox(west: -180, south: -90, east: 180, north: 90)
    #expect(try ids(.near(field: "at", centre: here, metres: 3e7)) == ["far", "near"])
    #expect(try ids(.inside(field: "at", world)) == ["far", "near"])
    #expect(try ids(.not(.inside(field: "at", world))) == ["none"])
    for limit in [nil, 3, 10] {
      #expect(
        try ids(.all, SortKey("at", distanceFrom: here), limit: limit) == ["near", "far", "none"])
      #expect(
        try ids(.all, SortKey("at", distanceFrom: here, ascending: false), limit: limit) == [
          "none", "far", "near",
        ])
    }
  }

  @Test("Types and fields that are called like parts of the index change no result")
  func names() throws {
    let entry = TypeSchema(
      "Entry",
      fields: [
        .field("place", Int.self), .field("south", Double.self, default: 50), .field("done", Bool.self),
        .field("at", Coordinate.self, indexed: true),
      ])
    let store = try LocalStore(inMemory: StoreSchema(types: [entry]))
    try store.write { transaction in
      for number in 1...10 {
        let at = Coordinate(latitude: 10, longitude: Double(number))
        try transaction.insert(
          AnyRecord(
            "Entry", id: "\(number)",
            ["place": .int(Int64(number)), "done": .bool(number > 8), "at": .coordinate(at)]))
      }
    }
    let query = AnyQuery(
      "Entry", where: ConditionTree.compare(field: "done", .equal, true),
      order: [SortKey("at", distanceFrom: Coordinate(latitude: 10, longitude: 0))], limit: 1)
    #expect(try store.fetch(query).map(\.id) == ["9"])
    #expect(try store.diagnose().findings == [])
  }

  @Test("Pages in the order of distance together give the whole result", arguments: 0..<6)
  func pages(seed: UInt64) async throws {
    var places = RandomPlaces(seed: seed)
    let records = (0..<80).map { places.record($0) }
    let store = try store(places, records)
    for _ in 0..<8 {
      let query = places.query()
      var found: [String] = []
      for try await record in store.records(query, pageSize: .random(in: 1...30, using: &places.random)) {
        found.append(record.id)
      }
      #expect(
        try found == query.evaluate(over: records, schema: places.type).map(\.id), "seed \(seed): \(query)")
    }
  }

  @Test("An index serves circles, boxes, equal places and the nearest")
  func plans() throws {
    let places = RandomPlaces(seed: 3)
    let store = try store(places, [])
    let here = Coordinate(latitude: 0, longitude: 179.99)
    for condition: ConditionTree in [
      .near(field: "at", centre: here, metres: 5000),
      .inside(field: "at", GeoBox(west: 179, south: -1, east: -179, north: 1)),
      .compare(field: "at", .equal, .coordinate(here)),
    ] {
      let query = AnyQuery("Spot", where: condition && .compare(field: "kind", .equal, 1))
      let tail = try QueryCompiler(places.type, TableColumns(places.type)).tail(query)
      let plan = try store.read { transaction in
        let explain = try PreparedStatement(
          unkept: "EXPLAIN QUERY PLAN SELECT _id FROM Spot\(tail.sql)", in: transaction.database)
        explain.bind(tail.arguments)
        var lines: [String] = []
        while try explain.step() { lines.append(explain.text(at: 3) ?? "") }
        return lines.joined(separator: "; ")
      }
      #expect(
        plan.contains("SEARCH Spot USING INTEGER PRIMARY KEY") && plan.contains("VIRTUAL TABLE"), "\(plan)")
    }
  }

  @Test("The distance to a box is that of its nearest sampled point", arguments: 0..<10)
  func boxes(seed: UInt64) {
    var places = RandomPlaces(seed: seed)
    for _ in 0..<40 {
      let (first, second, place) = (places.coordinate(), places.coordinate(), places.coordinate())
      let box = GeoBox(
        west: first.longitude, south: min(first.latitude, second.latitude), east: second.longitude,
        north: max(first.latitude, second.latitude))
      let width = box.west <= box.east ? box.east - box.west : box.east - box.west + 360
      var sampled = Double.infinity
      for row in 0...60 {
        for column in 0...60 {
          let longitude = box.west + width * Double(column) / 60
          sampled = min(
            sampled,
            place.distance(
              to: Coordinate(
                latitude: box.south + (box.north - box.south) * Double(row) / 60, longitude: longitude)))
        }
      }
      let found = box.distance(to: place)
      #expect(found <= sampled + 1 && sampled - found <= 500_000, "seed \(seed): \(box) \(place)")
      if box.contains(place) { #expect(found == 0, "seed \(seed): \(box) \(place)") }
    }
  }
}
