import BothyStore
import Testing

import struct Foundation.Date

struct Errand: Entity, Equatable {
  struct Fields: Sendable {
    let title = Field<String>("title")
    let done = Field<Bool>("done")
    let due = Field<Date?>("due")
    let place = Field<Coordinate?>("place")
    let after = Field<[Reference<Errand>]>("after")
  }
  static let fields = Fields()
  static let schema = TypeSchema(
    "Errand",
    fields: [
      .field("title", String.self, indexed: true, fullText: true), .field("done", Bool.self),
      .field("due", Date?.self), .field("place", Coordinate?.self, indexed: true),
      .field("after", [Reference<Errand>].self),
    ])

  var id: String
  var title: String
  var done = false
  var due: Date?
  var place: Coordinate?
  var after: [Reference<Errand>] = []

  init(
    _ id: String, _ title: String, done: Bool = false, due: Date? = nil, place: Coordinate? = nil,
    after: [String] = []
  ) {
    (self.id, self.title, self.done, self.due, self.place) = (id, title, done, due, place)
    self.after = after.map { Reference(id: $0) }
  }

  func encode(to fields: inout FieldEncoder) {
    title.encodeField(to: &fields)
    done.encodeField(to: &fields)
    due.encodeField(to: &fields)
    place.encodeField(to: &fields)
    after.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    title = try String(fromField: &fields)
    done = try Bool(fromField: &fields)
    due = try Date?(fromField: &fields)
    place = try Coordinate?(fromField: &fields)
    after = try [Reference<Errand>](fromField: &fields)
  }
}

/// A conformance without `Fields` of its own.
struct Note: Entity {
  static let schema = TypeSchema("Note", fields: [.field("text", String?.self), .field("stars", Int.self)])
  var id: String
  var text: String?
  var stars: Int

  init(_ id: String, _ text: String?, _ stars: Int) { (self.id, self.text, self.stars) = (id, text, stars) }

  func encode(to fields: inout FieldEncoder) {
    text.encodeField(to: &fields)
    stars.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    text = try String?(fromField: &fields)
    stars = try Int(fromField: &fields)
  }
}

@Suite(.timeLimit(.minutes(5))) struct TypedQueryTests {
  let store: LocalStore
  let noon = Date(timeIntervalSince1970: 1_800_000_000)

  init() throws {
    store = try LocalStore(inMemory: StoreSchema(Errand.self, Note.self))
    try store.write { transaction in
      try transaction.insert(Errand("1", "Buy milk", due: noon))
      try transaction.insert(Errand("2", "Sell bread", done: true, after: ["1"]))
      try transaction.insert(Errand("3", "Milk the goat", due: noon.addingTimeInterval(-60)), in: "farm")
      try transaction.insert(Errand("4", "Row", place: Coordinate(latitude: 59.91, longitude: 10.75)))
      try transaction.insert(Note("a", nil, 3))
      try transaction.insert(Note("b", "hello", 5))
    }
  }

  private func ids(_ query: RecordQuery<Errand>) throws -> [String] { try store.fetch(query).map(\.id) }

  @Test("Conditions on typed fields")
  func typed() throws {
    let all = RecordQuery<Errand>()
    #expect(try ids(all) == ["1", "2", "3", "4"])
    #expect(try ids(all.where { $0.done == false && $0.due < noon }) == ["3"])
    #expect(try ids(all.where { $0.due == nil || $0.title.hasPrefix("Buy") }) == ["1", "2", "4"])
    #expect(try ids(all.where { $0.due != nil }.order { $0.due.descending }) == ["1", "3"])
    #expect(try ids(all.where { !$0.title.contains("milk", ignoringCase: true) }) == ["2", "4"])
    #expect(try ids(all.where { $0.title.isIn(["Row", "x"]) }) == ["4"])
    #expect(try ids(all.where { $0.after.includes(Reference(id: "1")) }) == ["2"])
    #expect(try ids(all.where(.matches("mil the"))) == [])
    #expect(try ids(all.where(.matches("the mil"))) == ["3"])
    let oslo = Coordinate(latitude: 59.912, longitude: 10.751)
    #expect(try ids(all.where { $0.place.isWithin(metres: 500, of: oslo) }) == ["4"])
    #expect(try ids(all.where { $0.place.isWithin(metres: 100, of: oslo) }) == [])
    #expect(try ids(all.where { $0.place.isIn(GeoBox(west: 10, south: 59, east: 11, north: 60)) }) == ["4"])
    #expect(try ids(all.nearest(to: oslo) { $0.place }.limit(3)) == ["4"])
    #expect(try ids(all.order { $0.place.nearest(to: oslo) }) == ["4", "1", "2", "3"])
    #expect(try ids(all.order { $0.place.farthest(from: oslo) }.limit(2)) == ["1", "2"])
    #expect(try ids(all.in(container: "farm")) == ["3"])
    #expect(
      try ids(all.order { $0.done.descending }.order { $0.title.ascending }.limit(2, offset: 1)) == [
        "1", "3",
      ])
    #expect(try store.count(all.limit(3)) == 3)
  }

  @Test("Two fields of a record are compared, with and without values")
  func twoFields() throws {
    let all = RecordQuery<Errand>()
    let (title, id) = (Field<String>("title"), Field<String>("id"))
    let missing = Field<String?>("owner")
    #expect(try ids(all.where { $0.due == $0.due }) == ["1", "2", "3", "4"], "a missing value equals one")
    #expect(try ids(all.where { $0.due <= $0.due }) == ["1", "3"])
    #expect(try ids(all.where { $0.due < $0.due || $0.done != $0.done }) == [])
    #expect(try ids(all.where(id < title && title != id)) == ["1", "2", "3", "4"])
    #expect(try ids(all.where(!(id < title) || title >= id && missing == title)) == [])
    #expect(try ids(all.where(title > missing || missing <= title)) == [])
    #expect(try ids(all.where { title != missing && $0.due != $0.due }) == [])
    #expect(try ids(all.where(!(missing > title))) == ["1", "2", "3", "4"])
  }

  @Test("A record comes with the records of its list of references, in their order")
  func lists() async throws {
    try await store.write { try $0.insert(Errand("5", "Bake", after: ["3", "gone", "1", "3"])) }
    let query = Errand.order(by: \.title).limit(2).with(\.after)
    let joined = try await store.fetch(query)
    #expect(joined.map(\.id) == ["5", "1"])
    #expect(joined.map { $0.related.map(\.title) } == [["Milk the goat", "Buy milk", "Milk the goat"], []])
    var values = store.values(of: query).makeAsyncIterator()
    #expect(try await values.next() == joined)
    try await store.write { transaction in
      try transaction.update(Errand.self, id: "4") { $0.title = "Row home" }
      try transaction.update(Errand.self, id: "3") { $0.done = true }
    }
    #expect(try await values.next()?.first?.related.map(\.done) == [true, false, true])
  }

  @Test("A record comes with the records whose lists have it, each once")
  func listing() async throws {
    let many = (0..<70).map { "m\($0)" }
    try await store.write { transaction in
      for id in many { try transaction.insert(Errand(id, "Many")) }
      try transaction.insert(Errand("5", "Bake", after: ["1", "3", "1"]))
      try transaction.insert(Errand("6", "All", after: many + many))
    }
    let query = Errand.all.with(Errand.order(by: \.title), by: \.after)
    let joined = try await store.fetch(query)
    #expect(joined.count == 76)
    for each in joined {
      let expected = ["1": ["5", "2"], "3": ["5"]][each.id] ?? (each.id.hasPrefix("m") ? ["6"] : [])
      #expect(each.related.map(\.id) == expected, "\(each.id)")
    }
    let one = Errand.where { $0.title.hasPrefix("Buy") }
    let second = one.with(Errand.order(by: \.title).limit(1, offset: 1), by: \.after)
    #expect(try await store.fetch(second).map { $0.related.map(\.id) } == [["2"]])
  }

  @Test("Conditions by name on an entity without declared fields")
  func untyped() throws {
    let all = RecordQuery<Note>()
    #expect(try store.fetch(all.where { $0.stars > 3 }).map(\.id) == ["b"])
    #expect(try store.fetch(all.where(Field<String?>("text") == nil)).map(\.id) == ["a"])
    #expect(
      try store.fetch(all.where { $0.text == "hello" && Field<Int>("stars").isIn([5]) }).map(\.id) == ["b"])
    let error = try #require(throws: BothyError.self) { try store.fetch(all.where { $0.stras > 3 }) }
    #expect(error.code == .unknownField)
    #expect(
      error.message
        == "Note has no field 'stras'. Known: text, stars, id, container, version, created, modified, owner.")
  }

  @Test("A loop may run the same query inside itself")
  func nested() throws {
    var pairs = 0
    try store.read { transaction in
      try transaction.forEach(RecordQuery<Errand>()) { _ in
        try transaction.forEach(RecordQuery<Errand>()) { _ in pairs += 1 }
        pairs += try transaction.fetch(RecordQuery<Errand>()).count
      }
    }
    #expect(pairs == 32)
  }

  @Test("Many ids are fetched in their order, without absent ones")
  func manyIDs() async throws {
    #expect(try await store.fetch(Errand.self, ids: ["4", "nobody", "1"]).map(\.id) == ["4", "1"])
    #expect(try await store.fetch(Errand.self, ids: ["2"]).map(\.id) == ["2"])
    #expect(try await store.fetch(RecordQuery<Errand>()).count == 4)
    #expect(
      try await store.read { try $0.first(RecordQuery<Errand>().order { $0.title.descending }) }?.id == "2")
  }

  @Test("An import counts records, continues in batches and stops when cancelled")
  func importing() async throws {
    let records = (0..<25).map { AnyRecord("Note", id: "\($0)", ["stars": .int(Int64($0))]) }
    let first = try await store.importRecords(records.prefix(10), batch: 4)
    #expect(first.inserted == 10 && first.updated == 0)
    let second = try await store.importRecords(records, batch: 4)
    #expect(second.inserted == 15 && second.updated == 10)
    let (stream, continuation) = AsyncStream.makeStream(of: AnyRecord.self)
    for record in records { continuation.yield(record) }
    continuation.finish()
    #expect(try await store.importRecords(from: stream).updated == 25)
    let task = Task { [store] in
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.importRecords(records)
    }
    let error = await #expect(throws: BothyError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    #expect(try await store.count(AnyQuery("Note")) == 27)
  }
}
