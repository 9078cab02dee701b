import BothyStore
import Testing

/// Content that the Swift type of a field doesn't take, as a newer app or another client writes it.
@Suite("Content that a type doesn't know", .timeLimit(.minutes(5)))
struct UnreadContentTests {
  struct Chore: Entity, Equatable {
    enum State: String, FieldConvertible { case open, done }
    enum Level: Int, FieldConvertible { case low = 1, high }
    struct Spot: Codable, JSONField, Equatable { var x: Int }

    static let schema = fields(isSynced: true)

    static func fields(isSynced: Bool) -> TypeSchema {
      TypeSchema(
        "Chore",
        fields: [
          .field("title", String.self), .field("state", State.self),
          .field("level", Level.self, default: .low), .field("spot", Spot?.self),
        ], synced: isSynced)
    }

    var id: String
    var title: String
    var state = State.open
    var level = Level.low
    var spot: Spot?
    var readMark = ReadMark()

    init(id: String, _ title: String) { (self.id, self.title) = (id, title) }

    func encode(to fields: inout FieldEncoder) {
      title.encodeField(to: &fields)
      state.encodeField(to: &fields)
      level.encodeField(to: &fields)
      spot.encodeField(to: &fields)
    }

    init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
      self.id = id
      title = try String(fromField: &fields)
      state = try State(fromField: &fields)
      level = try Level(fromField: &fields)
      spot = try Spot?(fromField: &fields)
      readMark = fields.readMark
    }
  }

  /// A chore that refers to another one.
  struct Note: Entity {
    static let schema = TypeSchema("Note", fields: [.field("chore", Reference<Chore>?.self)])

    struct Fields: Sendable { let chore = Field<Reference<Chore>?>("chore") }
    static let fields = Fields()
    var id: String
    var chore: Reference<Chore>?

    func encode(to fields: inout FieldEncoder) { chore.encodeField(to: &fields) }

    init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
      self.id = id
      chore = try Reference<Chore>?(fromField: &fields)
    }
  }

  private let all = RecordQuery<Chore>()

  private func id(_ name: String) -> RecordID { RecordID(type: "Chore", id: name) }

  private func store(isSynced: Bool = true, states: [FieldValue] = ["open"]) throws -> LocalStore {
    let types = [Chore.fields(isSynced: isSynced), Note.schema]
    let store = try LocalStore(inMemory: StoreSchema(types: types))
    try store.write { transaction in
      for (index, state) in states.enumerated() {
        try transaction.insert(
          AnyRecord(
            "Chore", id: "\(index + 1)",
            ["title": "a", "state": state, "level": 9, "spot": .json("[1]")]))
        try transaction.insert(AnyRecord("Note", id: "\(index + 1)", ["chore": .text("\(index + 1)")]))
      }
    }
    return store
  }

  @Test("Unknown content shows the default or nothing, and edits keep it", arguments: [true, false])
  func standIns(isSynced: Bool) throws {
    let store = try store(isSynced: isSynced)
    #expect(try store.fetch(all) == [Chore(id: "1", "a")])
    #expect(try store.fetch(Chore.self, id: "1") == Chore(id: "1", "a"))
    #expect(try store.record(id("1"))?.entity() == Chore(id: "1", "a"))
    try store.write { _ = try $0.update(Chore.self, id: "1") { $0.title = "b" } }
    #expect(
      try store.record(id("1"))?.fields == ["title": "b", "state": "open", "level": 9, "spot": .json("[1]")])
    try store.write { transaction in
      guard var chore = try transaction.fetch(Chore.self, id: "1") else { return }
      chore.level = .high
      try transaction.save(AnyRecord(chore))
    }
    #expect(
      try store.record(id("1"))?.fields == ["title": "b", "state": "open", "level": 2, "spot": .json("[1]")])
    // Code without a Swift type saw the content itself, and writes what it says.
    try store.write { _ = try $0.update(id("1"), fields: ["level": 9]) }
    try store.write { _ = try $0.update(id("1"), fields: ["level": 1]) }
    #expect(try store.record(id("1"))?["level"] == 1)
  }

  @Test("Records whose ids only look alike are joined each with its own")
  func equivalentIds() throws {
    let store = try store(states: [])
    let ids = ["\u{E9}", "e\u{301}"]
    try store.write { transaction in
      for (number, id) in ids.enumerated() {
        try transaction.insert(Chore(id: id, "\(number)"))
        for copy in 0...number {
          try transaction.insert(AnyRecord("Note", id: "\(number)\(copy)", ["chore": .text(id)]))
        }
      }
    }
    let notes = RecordQuery<Note>()
    let joined = try store.read { try $0.fetch(notes.with(\.chore)) }
    #expect(joined.allSatisfy { $0.related?.title == String($0.record.id.prefix(1)) } && joined.count == 3)
    let lists = try store.read { try $0.fetch(all.with(notes, by: \.chore)) }
    #expect(lists.allSatisfy { $0.related.count == Int($0.record.title).map { $0 + 1 } } && lists.count == 2)
    let counts = try store.read { try $0.fetch(all.withCount(of: notes, by: \.chore)) }
    #expect(counts.allSatisfy { $0.related == Int($0.record.title).map { $0 + 1 } } && counts.count == 2)
  }

  @Test("A record without a stand-in is left out of results, and stops no other")
  func leftOut() throws {
    let store = try store(states: ["paused", "open", "gone", "done"])
    #expect(try store.fetch(all).map(\.id) == ["2", "4"])
    #expect(try store.fetch(Chore.self, ids: ["1", "4", "3", "2"]).map(\.id) == ["4", "2"])
    #expect(try store.read { try $0.first(all) }?.id == "2")
    #expect(try store.read { try $0.fetch(all.limit(0).first()) } == nil)
    #expect(try store.read { try $0.fetch(all.limit(9, offset: 2).first()) }?.id == "4")
    var visited: [String] = []
    try store.read { try $0.forEach(all) { visited.append($0.id) } }
    #expect(visited == ["2", "4"])
    let joined = try store.read { try $0.fetch(RecordQuery<Note>().with(\.chore)) }
    #expect(joined.map { $0.related?.id } == [nil, "2", nil, "4"])
  }

  @Test("Pages go on past records that are left out")
  func pages() async throws {
    let store = try store(states: ["paused", "open", "gone", "done"])
    for size in [1, 2, 3] {
      var paged: [String] = []
      for try await chore in store.records(all, pageSize: size) { paged.append(chore.id) }
      #expect(paged == ["2", "4"])
    }
  }

  @Test("What fetch leaves out is counted, and listed with its reason")
  func explained() throws {
    let store = try store(states: ["paused", "open"])
    let left = try store.read { try $0.unreadRecords() }
    #expect(left.map(\.record.id) == ["1"])
    #expect(left.first?.reason.message.contains("Chore.state") ?? false)
    #expect(try store.count(all) == store.fetch(all).count + left.count)
  }

  @Test("Reading a record without a stand-in by its id throws, as does updating it")
  func byID() throws {
    let store = try store(states: ["paused"])
    for read in [
      { try store.fetch(Chore.self, id: "1") }, { try store.read { try $0.fetch(Chore.self, id: "1") } },
    ] {
      let error = #expect(throws: BothyError.self) { _ = try read() }
      #expect(error?.code == .invalidValue)
      #expect(error?.message.contains("paused isn't a case of State") ?? false)
    }
    #expect(throws: BothyError.self) {
      try store.write { _ = try $0.update(Chore.self, id: "1") { $0.title = "b" } }
    }
    #expect(try store.record(id("1"))?["state"] == "paused")
    try store.write { try $0.save(Chore(id: "1", "b")) }
    #expect(try store.fetch(Chore.self, id: "1")?.state == .open)
  }

  @Test("An observation goes on while records come that it can't read")
  func observed() async throws {
    let store = try store()
    var lists = store.values(of: all).makeAsyncIterator()
    var titles = store.values(of: Chore.self, id: "1", \.title).makeAsyncIterator()
    #expect(try await lists.next()?.count == 1)
    #expect(try await titles.next() == .some("a"))
    try await store.write { transaction in
      _ = try transaction.update(RecordID(type: "Chore", id: "1"), fields: ["state": "paused"])
    }
    #expect(try await lists.next()?.isEmpty == true)
    #expect(try await titles.next() == .some(nil))
    try await store.write { transaction in
      _ = try transaction.update(RecordID(type: "Chore", id: "1"), fields: ["state": "done"])
    }
    #expect(try await lists.next()?.map(\.state) == [.done])
  }
}
