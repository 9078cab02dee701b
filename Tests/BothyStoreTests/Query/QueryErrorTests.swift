import BothyStore
import Testing

@Suite(.timeLimit(.minutes(5))) struct QueryErrorTests {
  let store: LocalStore
  let type = TypeSchema(
    "Spot",
    fields: [
      FieldSchema("name", .text), FieldSchema("size", .int, optional: true),
      FieldSchema("at", .coordinate, optional: true), FieldSchema("when", .date, optional: true),
      FieldSchema("raw", .json, optional: true),
    ])

  init() throws {
    store = try LocalStore(inMemory: StoreSchema(types: [type]))
    try store.write { try $0.insert(AnyRecord("Spot", id: "1", ["name": "one"])) }
  }

  @Test("An invalid query is refused with the valid alternatives")
  func refused() throws {
    let table: [(ConditionTree, BothyError.Code, String)] = [
      (.compare(field: "nam", .equal, "x"), .unknownField, "name, size, at"),
      (.compare(field: "size", .equal, "x"), .invalidQuery, "a whole number"),
      (.compare(field: "size", .equal, 1.5), .invalidQuery, "Spot.size"),
      (.compare(field: "at", .less, 1), .invalidQuery, "near, inside"),
      (.compare(field: "raw", .equal, "x"), .invalidQuery, "includes"),
      (.compare(field: "when", .less, "soon"), .invalidQuery, "a date"),
      (.contains(field: "size", "1", ignoringCase: false), .invalidQuery, "'contains'"),
      (.includes(field: "name", "x"), .invalidQuery, "'includes'"),
      (
        .near(field: "name", centre: Coordinate(latitude: 0, longitude: 0), metres: 1), .invalidQuery,
        "'near'"
      ),
      (.near(field: "at", centre: Coordinate(latitude: 91, longitude: 0), metres: 1), .invalidQuery, "±90"),
      (
        .near(field: "at", centre: Coordinate(latitude: 0, longitude: 0), metres: .nan), .invalidQuery,
        "radius"
      ),
      (.inside(field: "at", GeoBox(west: 0, south: 2, east: 1, north: 1)), .invalidQuery, "south first"),
      (.matches("x"), .invalidQuery, "fullText"),
      (.compareFields("nam", .equal, "name"), .unknownField, "name, size, at"),
      (.compareFields("name", .equal, "one"), .unknownField, "Text needs quotes: 'one'"),
      (.compareFields("size", .less, "when"), .invalidQuery, "Compare fields of one kind"),
      (.compareFields("at", .equal, "at"), .invalidQuery, "near, inside"),
      (.compareFields("raw", .equal, "raw"), .invalidQuery, "includes"),
      ((0..<40).reduce(.all) { deep, _ in .not(.and([deep])) }, .invalidQuery, "levels"),
    ]
    for (condition, code, part) in table {
      let error = try #require(throws: BothyError.self) {
        try store.fetch(AnyQuery("Spot", where: condition))
      }
      #expect(error.code == code && error.message.contains(part), "\(error)")
    }
    let (here, nowhere) = (Coordinate(latitude: 0, longitude: 0), Coordinate(latitude: 0, longitude: .nan))
    for query in [
      AnyQuery("Spot", order: [SortKey("size", distanceFrom: here)]),
      AnyQuery("Spot", order: [SortKey("at", distanceFrom: nowhere)], limit: 1),
      AnyQuery("Spot", where: .near(field: "at", centre: nowhere, metres: 1)),
      AnyQuery("Spot", where: .near(field: "at", centre: here, metres: .infinity)),
      AnyQuery("Spot", where: .inside(field: "at", GeoBox(west: 0, south: -.infinity, east: 1, north: 1))),
      AnyQuery("Spot", where: .compare(field: "at", .equal, .coordinate(nowhere))),
      AnyQuery("Spot", order: [SortKey("at")]), AnyQuery("Spot", limit: -1),
      AnyQuery("Spot", offset: -1),
      AnyQuery("Spot", where: .all, include: ["name"]),
    ] {
      let asked = #expect(throws: BothyError.self, "\(query)") { try store.fetch(query) }
      #expect(asked?.code == .invalidQuery, "\(query)")
      let judged = #expect(throws: BothyError.self) { try query.evaluate(over: [], schema: type) }
      #expect(judged?.code == .invalidQuery, "\(query)")
    }
  }

  @Test(
    "Every write refuses a coordinate that isn't on earth", arguments: [.nan, .infinity, 90.5])
  func offEarth(latitude: Double) throws {
    let nowhere = Coordinate(latitude: latitude, longitude: 0)
    let id = RecordID(type: "Spot", id: "1")
    expect(.invalidValue) { try store.write { _ = try $0.update(id, fields: ["at": .coordinate(nowhere)]) } }
    let errands = try LocalStore(inMemory: StoreSchema(Errand.self))
    expect(.invalidValue) { try errands.write { try $0.insert(Errand("1", "x", place: nowhere)) } }
    try errands.write { try $0.insert(Errand("1", "x", place: Coordinate(latitude: 90, longitude: -180))) }
    expect(.invalidValue) {
      _ = try errands.write { try $0.update(Errand.self, id: "1") { $0.place = nowhere } }
    }
    #expect(
      try errands.fetch(RecordQuery<Errand>()).first?.place == Coordinate(latitude: 90, longitude: -180))
  }

  @Test("Values are converted to the kind of their field")
  func conversions() throws {
    try store.write {
      try $0.update(RecordID(type: "Spot", id: "1"), fields: ["size": 2, "when": .date(0)])
    }
    let queries: [ConditionTree] = [
      .compare(field: "size", .equal, 2.0), .compare(field: "when", .equal, "1970-01-01"),
      .compare(field: "when", .equal, 0), .oneOf(field: "when", ["1970-01-01T00:00:00Z"]),
    ]
    for condition in queries { #expect(try store.count(AnyQuery("Spot", where: condition)) == 1) }
  }

  @Test("Text never becomes SQL, a pattern or full-text syntax")
  func injection() throws {
    let hostile = [
      "'; DROP TABLE Spot; --", "\" OR 1=1 --", "%", "_", "*", "NEAR(a b)", "name:x", "\"", "^a", "a\u{0}b",
      "{}[]()",
    ]
    let store = try LocalStore(
      inMemory: StoreSchema(types: [TypeSchema("Spot", fields: [FieldSchema("name", .text, fullText: true)])])
    )
    for text in hostile {
      #expect(
        try store.count(AnyQuery("Spot", where: .contains(field: "name", text, ignoringCase: true))) == 0)
      #expect(try store.count(AnyQuery("Spot", where: .matches(text))) == 0)
      #expect(try store.count(AnyQuery("Spot", container: text)) == 0)
      for name in ["field", text] {
        let query = AnyQuery(
          "Spot", where: .compare(field: name, .equal, .text(text)), order: [SortKey(text)])
        let error = try #require(throws: BothyError.self) { try store.fetch(query) }
        #expect(error.code == .unknownField)
      }
    }
    #expect(throws: BothyError.self) { try store.fetch(AnyQuery("Spot\"; DROP")) }
  }

  @Test("Deep conditions are within SQLite's limits")
  func deep() throws {
    var deep = ConditionTree.compare(field: "name", .equal, "one")
    for level in 0..<ConditionTree.maximumDepth - 1 {
      let other = ConditionTree.compare(field: "size", .greater, .int(Int64(level)))
      deep = level.isMultiple(of: 2) ? .and([.not(other), deep]) : .or([other, deep])
    }
    #expect(try store.count(AnyQuery("Spot", where: deep)) == 1)
    // Each level holds a chain as long as the rest of the tree.
    var chain = ConditionTree.compare(field: "name", .equal, "one")
    var comb = chain
    for level in 0..<ConditionTree.maximumDepth - 1 {
      let isAnd = level.isMultiple(of: 2)
      comb = isAnd ? .and([chain, comb]) : .or([chain, comb])
      chain = isAnd ? .and([chain, .not(.none)]) : .or([.none, chain])
    }
    #expect(try store.count(AnyQuery("Spot", where: comb)) == 1)
  }

  @Test("Wide conditions are within SQLite's limits")
  func wide() throws {
    let wide = ConditionTree.or((0..<9000).map { .compare(field: "size", .equal, .int(Int64($0))) })
    #expect(try store.count(AnyQuery("Spot", where: wide)) == 0)
    let list = ConditionTree.oneOf(field: "name", (0..<9000).map { .text("\($0)") } + ["one"])
    #expect(try store.count(AnyQuery("Spot", where: list)) == 1)
    #expect(try store.count(AnyQuery("Spot", where: .not(list))) == 0)
  }

  @Test(
    "A malformed query document is refused",
    arguments: [
      "[]", "{}", "{\"type\":\"Spot\",\"wher\":{}}", "{\"type\":\"Spot\",\"where\":{}}",
      "{\"type\":\"Spot\",\"where\":{\"and\":[],\"or\":[]}}", "{\"type\":\"Spot\",\"limit\":-1}",
      "{\"type\":\"Spot\",\"where\":{\"field\":\"name\",\"op\":\"~\",\"value\":1}}",
      "{\"type\":\"Spot\",\"where\":{\"field\":\"name\",\"op\":\"=\"}}",
      "{\"type\":\"Spot\",\"where\":{\"field\":\"name\",\"op\":\"=\",\"value\":\"x\",\"ignoringCase\":true}}",
      "{\"type\":\"Spot\",\"where\":{\"near\":{\"field\":\"at\",\"lat\":1}}}",
      "{\"type\":\"Spot\",\"order\":[{\"nearest\":{\"field\":\"at\",\"lat\":1}}]}",
      "{\"type\":\"Spot\",\"order\":[{\"nearest\":{\"field\":\"at\",\"lat\":91,\"lon\":0}}]}",
      "{\"type\":\"Spot\",\"order\":[{\"near\":{\"field\":\"at\",\"lat\":1,\"lon\":0}}]}",
      "{\"type\":\"Spot\",\"order\":[{}]}", "{\"type\":\"Spot\",\"order\":\"name\"}",
      "{\"type\":\"Spot\",\"where\":{\"matches\":1}}", "{\"type\":\"Spot\",\"order\":[{\"natural\":1}]}",
      "{\"type\":\"Spot\",\"order\":[{\"natural\":\"size\"}]}", "{\"type\":\"Spot\",\"order\":[\"-_rank\"]}",
      "{\"type\":\"Spot\",\"where\":{\"field\":\"name\",\"op\":\"in\",\"value\":\"x\",\"natural\":true}}",
      "{\"type\":\"Spot\",\"where\":{\"field\":\"raw\",\"op\":\"includes\",\"value\":[1]}}",
      "{\"type\":\"Spot\",\"order\":[\"-\"]}", "{\"type\":\"Nobody\"}", "{\"type\":\"Spot\",\"limit\":1.5}",
    ])
  func documents(text: String) throws {
    let schema = StoreSchema(types: [type])
    #expect(throws: BothyError.self) { try AnyQuery(json: JSONValue(parsing: text), schema: schema) }
  }
}
