import BothyStore
import Foundation
import Testing

/// Lists of plain values as fields.
@Suite(.timeLimit(.minutes(5))) struct ListFieldTests {
  private struct Hike: Entity, Equatable {
    static let schema = TypeSchema(
      "Hike",
      fields: [
        .field("tags", [String].self, default: [], merge: .setUnion),
        .field("heights", [Double].self, default: []),
        .field("days", [Date?]?.self), .field("prices", [Decimal].self, default: []),
        .field("rounds", [[Int32]].self, default: []), .field("stops", [Reference<Tag>].self, default: []),
      ])
    struct Fields: Sendable {
      let tags = Field<[String]>("tags")
      let heights = Field<[Double]>("heights")
      let days = Field<[Date?]?>("days")
      let prices = Field<[Decimal]>("prices")
      let stops = Field<[Reference<Tag>]>("stops")
    }
    static let fields = Fields()

    var id: String
    var tags: [String] = []
    var heights: [Double] = []
    var days: [Date?]?
    var prices: [Decimal] = []
    var rounds: [[Int32]] = []
    var stops: [Reference<Tag>] = []

    init(_ id: String, tags: [String] = []) {
      self.id = id
      self.tags = tags
    }

    func encode(to fields: inout FieldEncoder) {
      tags.encodeField(to: &fields)
      heights.encodeField(to: &fields)
      days.encodeField(to: &fields)
      prices.encodeField(to: &fields)
      rounds.encodeField(to: &fields)
      stops.encodeField(to: &fields)
    }

    init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
      self.id = id
      tags = try [String](fromField: &fields)
      heights = try [Double](fromField: &fields)
      days = try [Date?]?(fromField: &fields)
      prices = try [Decimal](fromField: &fields)
      rounds = try [[Int32]](fromField: &fields)
      stops = try [Reference<Tag>](fromField: &fields)
    }
  }

  private let store: LocalStore

  init() throws { store = try LocalStore(inMemory: StoreSchema(Hike.self, Tag.self)) }

  @Test("Lists are read as they were written, and are plain JSON")
  func roundTrip() throws {
    var hike = Hike("a", tags: ["steep", "é\"\\", ""])
    hike.heights = [1, 0.1, -1e300]
    hike.days = [Date(timeIntervalSince1970: 1.5), nil]
    hike.prices = [Decimal(sign: .plus, exponent: -1, significand: 125), .greatestFiniteMagnitude]
    hike.rounds = [[1, .max], [], [.min]]
    hike.stops = [Reference(id: "t2"), Reference(id: "t1")]
    let written = hike
    try store.write { transaction in
      try transaction.insert(written)
      try transaction.insert(Hike("b"))
    }
    let found = try store.fetch(Hike.all)
    #expect(found.map(\.tags) == [hike.tags, []])
    #expect(found.map(\.heights) == [hike.heights, []])
    #expect(found.map(\.days) == [hike.days, nil])
    #expect(found.map(\.prices) == [hike.prices, []])
    #expect(found.map(\.rounds) == [hike.rounds, []])
    #expect(found.map(\.stops) == [hike.stops, []])
    let record = try #require(try store.record(RecordID(type: "Hike", id: "a")))
    #expect(record["days"] == .json("[1500,null]"))
    #expect(record["rounds"] == .json("[[1,2147483647],[],[-2147483648]]"))
    #expect(record["stops"] == .list(["t2", "t1"]))
    #expect(FieldValue(["b", "a"]) == .json(#"["b","a"]"#))
  }

  @Test(
    "The elements of a list are found whatever the field is called",
    arguments: ["path", "value", "type", "key", "json", "root", "atom", "parent", "fullkey", "Value"])
  func names(name: String) throws {
    for type in ["Hut", "Element"] {
      let schema = TypeSchema(type, fields: [.field(name, [String].self)])
      let store = try LocalStore(inMemory: StoreSchema(types: [schema]))
      try store.write { transaction in
        try transaction.insert(AnyRecord(type, id: "a", [name: .json(#"["x","y"]"#)]))
        try transaction.insert(AnyRecord(type, id: "b", [name: .json("[]")]))
      }
      let found = try store.fetch(AnyQuery(type, where: ConditionTree.includes(field: name, "y")))
      #expect(found.map(\.id) == ["a"], "\(type).\(name)")
    }
  }

  @Test("A condition finds lists with a text, in the file as in the evaluator")
  func includes() throws {
    let hikes = [
      Hike("a", tags: ["steep", "wet"]), Hike("b", tags: ["Steep"]), Hike("c"), Hike("d", tags: ["a\u{0}b"]),
    ]
    try store.write { transaction in for hike in hikes { try transaction.insert(hike) } }
    let expectations: [(String, [String])] = [
      ("steep", ["a"]), ("Steep", ["b"]), ("st", []), ("wet", ["a"]), ("a", []), ("a\u{0}b", ["d"]),
    ]
    for (text, expected) in expectations {
      let query = AnyQuery("Hike", where: Hike.fields.tags.includes(text))
      #expect(try store.fetch(query).map(\.id) == expected)
      let records = hikes.map { AnyRecord($0) }
      #expect(try query.evaluate(over: records, schema: Hike.schema).map(\.id) == expected)
      #expect(try store.fetch(Hike.where { !$0.tags.includes(text) }).count == 4 - expected.count)
    }
  }

  @Test("A condition finds lists with a number, a date or a reference")
  func otherElements() throws {
    let fields = Hike.fields
    var (first, second) = (Hike("a"), Hike("b"))
    first.heights = [1, 2.5, 0.1 + 0.2]
    first.days = [Date(timeIntervalSince1970: 1.5), nil]
    first.prices = [12.5]
    first.stops = [Reference(id: "t1")]
    second.heights = [-1, 1e300]
    let hikes = [first, second, Hike("c")]
    try store.write { transaction in for hike in hikes { try transaction.insert(hike) } }
    let records = hikes.map { AnyRecord($0) }
    func check(_ condition: Condition, finds expected: [String]) throws {
      let query = AnyQuery("Hike", where: condition)
      #expect(try store.fetch(query).map(\.id) == expected, "\(condition.description)")
      #expect(try query.evaluate(over: records, schema: Hike.schema).map(\.id) == expected)
    }
    try check(fields.heights.includes(1), finds: ["a"])
    try check(fields.heights.includes(2.5), finds: ["a"])
    try check(fields.heights.includes(0.30000000000000004), finds: ["a"])
    try check(fields.heights.includes(0.3), finds: [])
    try check(fields.heights.includes(1e300), finds: ["b"])
    try check(!fields.heights.includes(-1), finds: ["a", "c"])
    try check(fields.days.includes(Date(timeIntervalSince1970: 1.5)), finds: ["a"])
    try check(fields.days.includes(nil), finds: ["a"])
    try check(fields.prices.includes(12.5), finds: ["a"])
    try check(fields.stops.includes(Reference(id: "t1")), finds: ["a"])
    expect(.invalidQuery) {
      _ = try store.fetch(AnyQuery("Hike", where: fields.heights.includes(Double.nan)))
    }
    expect(.invalidQuery) {
      _ = try store.fetch(AnyQuery("Hike", where: ConditionTree.includes(field: "stops", 1)))
    }
  }

  @Test("A whole number in a list equals no number that only rounds to it")
  func exactNumbers() throws {
    let record = AnyRecord("Hike", id: "a", ["heights": .json("[9007199254740993,1.0,true]")])
    try store.write { try $0.save(record) }
    let expectations: [(FieldValue, Bool)] = [
      (.int(9_007_199_254_740_993), true), (.double(9_007_199_254_740_992), false), (.int(1), true),
      (.double(1), true), (.bool(true), true), (.bool(false), false), (.null, false), (.text("1"), false),
    ]
    for (element, isFound) in expectations {
      let query = AnyQuery("Hike", where: ConditionTree.includes(field: "heights", element))
      #expect(try store.fetch(query).isEmpty != isFound, "\(element)")
      #expect(try query.evaluate(over: [record], schema: Hike.schema).isEmpty != isFound, "\(element)")
    }
  }

  @Test("An invalid element is refused, and content of another form shows the default")
  func otherContent() throws {
    var hike = Hike("a")
    hike.heights = [1, .nan]
    let invalid = hike
    expect(.invalidValue) { try store.write { try $0.insert(invalid) } }
    for content in [#"["a",1]"#, "{}", "[null]", "1"] {
      try store.write { transaction in
        try transaction.save(
          AnyRecord("Hike", id: "b", ["tags": .json(content), "rounds": .json("[[3000000000]]")]))
      }
      let found = try #require(try store.fetch(Hike.self, id: "b"))
      #expect(found.tags == [] && found.rounds == [])
    }
  }
}
