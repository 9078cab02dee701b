import BothyStore
import BothyTestSupport
import Testing

@Suite("Indexes of places", .timeLimit(.minutes(5)))
struct PlaceIndexTests {
  @Test("An index follows every insert, update, deletion and change from a server", arguments: 0..<10)
  func writes(seed: UInt64) throws {
    var places = RandomPlaces(seed: seed)
    let store = try LocalStore(inMemory: StoreSchema(types: [places.type]))
    for _ in 0..<30 {
      try store.write { transaction in
        for _ in 0..<20 {
          let record = places.record(.random(in: 0..<60, using: &places.random))
          let isThere = try transaction.exists(record.recordID)
          if places.random.chance(0.2) {
            try transaction.delete(record.recordID)
          } else if places.type.isSynced && places.random.chance(0.5) {
            let table = try transaction.catalog.table("Spot")
            try transaction.put(
              table, id: record.id,
              StoredRow(values: record.values(for: places.type), container: nil, version: "1"))
          } else if isThere {
            try transaction.update(
              record.recordID, fields: ["kind": 1, "at": record["at"], "home": record["home"]])
          } else {
            try transaction.insert(record)
          }
        }
      }
      if places.random.chance(0.3) {
        let all = try store.fetch(AnyQuery("Spot"))
        let query = places.query()
        #expect(
          try store.fetch(query).map(\.id) == query.evaluate(over: all, schema: places.type).map(\.id),
          "seed \(seed): \(query)")
      }
    }
    #expect(try store.diagnose().findings == [], "seed \(seed)")
  }

  @Test("A transaction that is rolled back leaves the index unchanged")
  func rollback() throws {
    struct Stop: Error {}
    var places = RandomPlaces(seed: 5)
    let store = try LocalStore(inMemory: StoreSchema(types: [places.type]))
    try store.write { transaction in for id in 0..<50 { try transaction.insert(places.record(id)) } }
    #expect(throws: Stop.self) {
      try store.write { transaction in
        for id in 50..<300 { try transaction.insert(places.record(id)) }
        for id in 0..<40 { try transaction.delete(RecordID(type: "Spot", id: "\(id)")) }
        throw Stop()
      }
    }
    #expect(try store.diagnose().findings == [])
    #expect(try store.count(AnyQuery("Spot")) == 50)
  }

  @Test(
    "Missing, surplus and misplaced entries of an index are found and repaired",
    arguments: [
      ("DELETE FROM \"bothy_geo(Spot.at)\" WHERE place % 2 = 0", "places", "lacks"),
      ("INSERT INTO \"bothy_geo(Spot.at)\" VALUES (100000, 1, 1, 1, 1)", "places", "1 too many"),
      ("UPDATE \"bothy_geo(Spot.home)\" SET north = 95, south = 95", "places", "lacks"),
      ("DELETE FROM \"bothy_geo(Spot.at)_node\" WHERE nodeno > 1", "places", "bothy_geo(Spot.at)"),
      ("DROP TABLE \"bothy_geo(Spot.at)\"", "tables", "bothy_geo(Spot.at)"),
      ("DROP TRIGGER \"bothy_geo(Spot.at)_delete\"", "tables", "bothy_geo(Spot.at)_delete"),
    ])
  func repair(fault: String, check: String, phrase: String) throws {
    var places = RandomPlaces(seed: 6)
    let store = try LocalStore(inMemory: StoreSchema(types: [places.type]))
    try store.write { transaction in for id in 0..<400 { try transaction.insert(places.record(id)) } }
    #expect(try store.diagnose().findings == [])
    try store.tamper(fault)
    let diagnosis = try store.diagnose()
    #expect(diagnosis.findings.map(\.check) == [check], "\(diagnosis.findings)")
    #expect(diagnosis.findings.first?.message.contains(phrase) == true, "\(diagnosis.findings)")
    #expect(diagnosis.isRepairable && !diagnosis.isHealthy)
    #expect(try store.repair(diagnosis).findings == [])
    let all = try store.fetch(AnyQuery("Spot"))
    let query = AnyQuery(
      "Spot", order: [SortKey("at", distanceFrom: Coordinate(latitude: 0, longitude: 180))], limit: 50)
    #expect(try store.fetch(query) == query.evaluate(over: all, schema: places.type))
  }

  @Test("Migrations create, rename and drop indexes with their fields and types")
  func migrations() throws {
    let folder = try TemporaryFolder()
    let here = Coordinate(latitude: 47, longitude: 179.9)
    let near = ConditionTree.near(field: "at", centre: here, metres: 10)
    func open(_ version: Int, _ type: TypeSchema?, _ steps: Migration.Step...) throws -> LocalStore {
      try LocalStore(
        at: folder.database, schema: StoreSchema(version: version, types: type.map { [$0] } ?? []),
        migrations: steps.map { Migration(to: version, $0) })
    }
    func indexes(_ store: LocalStore) throws -> Int64 {
      try store.count("SELECT count(*) FROM sqlite_master WHERE name LIKE 'bothy\\_geo%' ESCAPE '\\'")
    }
    func at(_ name: String, indexed: Bool) -> FieldSchema {
      FieldSchema(name, .coordinate, optional: true, default: .coordinate(here), indexed: indexed)
    }
    var store = try open(1, TypeSchema("Note", fields: [at("at", indexed: false)]))
    try store.write { try $0.insert(AnyRecord("Note", id: "1")) }
    #expect(try indexes(store) == 0)
    try store.close()
    store = try open(2, TypeSchema("Note", fields: [at("at", indexed: true), at("to", indexed: true)]))
    #expect(try store.count(AnyQuery("Note", where: near)) == 1)
    #expect(try store.diagnose().findings == [])
    try store.close()
    store = try open(
      3, TypeSchema("Memo", fields: [at("at", indexed: true), at("end", indexed: true)]),
      .renameType(from: "Note", to: "Memo"), .renameField(type: "Memo", from: "to", to: "end"))
    #expect(try store.count(AnyQuery("Memo", where: near)) == 1)
    #expect(
      try store.count("SELECT count(*) FROM sqlite_master WHERE name LIKE 'bothy\\_geo(Note%' ESCAPE '\\'")
        == 0)
    #expect(try store.diagnose().findings == [])
    try store.close()
    store = try open(
      4, TypeSchema("Memo", fields: [at("at", indexed: false)]), .dropField(type: "Memo", field: "end"))
    #expect(try indexes(store) == 0)
    #expect(try store.count(AnyQuery("Memo", where: near)) == 1)
    try store.close()
    store = try open(5, TypeSchema("Memo", fields: [at("at", indexed: true)]))
    try store.close()
    store = try open(6, nil, .dropType("Memo"))
    #expect(try indexes(store) == 0)
    #expect(try store.diagnose().findings == [])
  }

  @Test("Types and fields with overlapping names have separate indexes")
  func names() throws {
    func place(_ name: String) -> FieldSchema {
      FieldSchema(name, .coordinate, optional: true, indexed: true)
    }
    let store = try LocalStore(
      inMemory: StoreSchema(types: [
        TypeSchema("A", fields: [place("b"), place("b_node"), place("b_insert"), place("b_parent")]),
        TypeSchema("A_b", fields: [place("node"), place("c")]), TypeSchema("A_b_node", fields: [place("c")]),
      ]))
    let here = FieldValue.coordinate(Coordinate(latitude: 1, longitude: 2))
    try store.write { try $0.insert(AnyRecord("A", id: "1", ["b_node": here])) }
    #expect(try store.count(AnyQuery("A", where: .compare(field: "b_node", .equal, here))) == 1)
    #expect(try store.count(AnyQuery("A", where: .compare(field: "b", .equal, here))) == 0)
    #expect(try store.diagnose().findings == [])
  }

  @Test("Observed queries by distance deliver nearby changes and skip distant ones")
  func live() async throws {
    let places = RandomPlaces(seed: 8)
    let store = try LocalStore(inMemory: StoreSchema(types: [places.type]))
    @Sendable func at(_ longitude: Double) -> FieldValue {
      .coordinate(Coordinate(latitude: 0, longitude: longitude))
    }
    try await store.write { transaction in
      try transaction.insert(AnyRecord("Spot", id: "a", ["at": at(179)]))
      try transaction.insert(AnyRecord("Spot", id: "b", ["at": at(-178)]))
      try transaction.insert(AnyRecord("Spot", id: "c", ["at": at(10)]))
    }
    let here = Coordinate(latitude: 0, longitude: 180)
    let nearest = AnyQuery("Spot", order: [SortKey("at", distanceFrom: here)], limit: 2)
    let around = AnyQuery("Spot", where: .near(field: "at", centre: here, metres: 300_000))
    var first = store.values(of: nearest).makeAsyncIterator()
    var second = store.values(of: around.count()).makeAsyncIterator()
    #expect(try await first.next()?.map(\.id) == ["a", "b"])
    #expect(try await second.next() == 2)
    // A distant change is delivered to neither.
    try await store.write { try $0.update(RecordID(type: "Spot", id: "c"), fields: ["at": at(11)]) }
    try await store.write { try $0.update(RecordID(type: "Spot", id: "c"), fields: ["at": at(-179.5)]) }
    #expect(try await first.next()?.map(\.id) == ["c", "a"])
    #expect(try await second.next() == 3)
    try await store.write { try $0.update(RecordID(type: "Spot", id: "a"), fields: ["at": .null]) }
    #expect(try await first.next()?.map(\.id) == ["c", "b"])
    #expect(try await second.next() == 2)
    try await store.write { _ = try $0.delete(RecordID(type: "Spot", id: "c")) }
    #expect(try await first.next()?.map(\.id) == ["b", "a"])
    #expect(try await second.next() == 1)
  }
}
