import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// The verbs that write a record. Whatever one of them does about a record that readers don't see, all do.
@Suite("Verbs that write a record", .faultsStrike, .timeLimit(.minutes(5)))
struct SaveVerbTests {
  enum Save: CaseIterable, Sendable {
    case value, list, untyped, untypedList

    func callAsFunction(_ note: Note, on store: SyncedStore, _ policy: WritePolicy) async throws {
      switch self {
      case .value: try await store.save(note, policy: policy)
      case .list: try await store.save([note], policy: policy)
      case .untyped: try await store.save(AnyRecord(note), options: .saving(policy))
      case .untypedList: _ = try await store.save([AnyRecord(note)], options: .saving(policy))
      }
    }
  }

  enum Removal: CaseIterable, Sendable {
    case id, value, list

    func callAsFunction(_ note: Note, on store: SyncedStore) async throws {
      switch self {
      case .id: try await store.delete(.note(note.id))
      case .value: try await store.delete(note, policy: .local)
      case .list: #expect(try await store.delete([note]) == 1)
      }
    }
  }

  private static let faults: [FaultyRemote.Fault] = [.none, .lostRequest, .lostAnswer]

  @Test("A new value saved again while in flight counts once", arguments: Save.allCases, faults)
  func inFlight(save: Save, fault: FaultyRemote.Fault) async throws {
    let pair = try await Pair.sharing([], policy: .fieldByField)
    if fault != .none { pair.a.remote.plan(fault, on: .operations, times: 1) }
    var note = Note(id: "T1", "first", note: "gone")
    note.score = 5
    let first = note
    (note.title, note.note, note.score) = ("second", nil, 7)
    let second = note
    OnlineMeanwhileTests.meanwhile(pair.a) { try await save(second, on: $0, .local) }
    try await pair.a.store.save(first, policy: .remoteThenLocal)
    #expect(try pair.a.note()?.score == 7)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "second", "score": 7])
  }

  @Test("An insert beside an online one in flight makes one record", arguments: faults)
  func insertInFlight(fault: FaultyRemote.Fault) async throws {
    let pair = try await Pair.sharing([], policy: .fieldByField)
    if fault != .none { pair.a.remote.plan(fault, on: .operations, times: 1) }
    OnlineMeanwhileTests.meanwhile(pair.a) { store in
      try await store.insert(Note(id: "T1", "here", note: "more"), policy: .local)
    }
    try await pair.a.store.save(Note(id: "T1", "online"), policy: .remoteThenLocal)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "here", "note": "more", "score": 0])
  }

  @Test(
    "An update of a record whose insert is in flight finds none", arguments: [WritePolicy.local, .remote])
  func updateInFlight(policy: WritePolicy) async throws {
    let pair = try await Pair.sharing([], policy: .fieldByField)
    OnlineMeanwhileTests.meanwhile(pair.a) { store in
      let whole = await #expect(throws: BothyError.self) {
        try await store.update(Note(id: "T1", "edited"), policy: policy)
      }
      let closure = await #expect(throws: BothyError.self) {
        try await store.update(Note.self, id: "T1", policy: policy) { $0.title = "edited" }
      }
      #expect(whole?.code == .notFound && closure?.code == .notFound)
    }
    try await pair.a.store.save(Note(id: "T1", "online"), policy: .remoteThenLocal)
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "online")
  }

  @Test("A deletion reaches a record whose insert is in flight", arguments: Removal.allCases, faults)
  func removalInFlight(remove: Removal, fault: FaultyRemote.Fault) async throws {
    let pair = try await Pair.sharing([], policy: .fieldByField)
    pair.a.store.options.writePolicy = .local
    if fault != .none { pair.a.remote.plan(fault, on: .operations, times: 1) }
    let note = Note(id: "T1", "online")
    OnlineMeanwhileTests.meanwhile(pair.a) { try await remove(note, on: $0) }
    try await pair.a.store.save(note, policy: .remoteThenLocal)
    #expect(try pair.a.note() == nil)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == nil)
  }

  @Test("An update by query changes its records alone", arguments: [WritePolicy.local, .remoteThenLocal])
  func byQuery(policy: WritePolicy) async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"], policy: .fieldByField)
    pair.a.store.options.writePolicy = policy
    try pair.a.retitle("T3", "other")
    let started = RecordQuery<Note>().where(Field<String>("title") == "start")
    let count = try await pair.a.store.update(started) { $0.note = "seen" }
    #expect(count == 2)
    for id in ["T1", "T2"] { #expect(try pair.a.isPending(id) == (policy == .local)) }
    #expect(try await pair.isEven())
    #expect(try await pair.server("T2") == ["title": "start", "note": "seen", "score": 0])
    #expect(try await pair.server("T3") == ["title": "other", "score": 0])
  }

  @Test("An update by query that fails here changes no record")
  func failedByQuery() async throws {
    struct Refusal: Error {}
    let pair = try await Pair.sharing(["T1", "T2"])
    await #expect(throws: Refusal.self) {
      try await pair.a.store.update(RecordQuery<Note>()) { note in
        if note.id == "T2" { throw Refusal() }
        note.title = "lost"
      }
    }
    #expect(try pair.a.title() == "start")
    #expect(try pair.a.store.outboxEntries().isEmpty)
  }

  @Test("A new record's receipt says it is inserted", arguments: [WritePolicy.local, .remoteThenLocal])
  func receipt(policy: WritePolicy) async throws {
    let pair = try await Pair.sharing([])
    pair.a.remote.isOffline = true
    var note = Note(id: "T1", "new")
    #expect(try await pair.a.store.save(note, policy: policy).state == .pending(.insert))
    note.title = "edited"
    #expect(try await pair.a.store.save(note, policy: policy).state == .pending(.insert))
    #expect(try await pair.a.store.delete(note, policy: policy).state != .pending(.update))
  }

  @Test("A save continues from one that the server alone has", arguments: Save.allCases)
  func continued(save: Save) async throws {
    let pair = try await Pair.sharing([], policy: .remoteWins)
    var note = Note(id: "T1", "first", note: "gone")
    note.score = 5
    try await pair.a.store.save(note, policy: .remote)
    #expect(try pair.a.note() == nil)
    (note.title, note.note, note.score) = ("second", nil, 7)
    try await save(note, on: pair.a.store, .local)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "second", "score": 7])
    #expect(try pair.a.store.journal.entries(losing: true).isEmpty)
  }

  /// Writes in the calling thread.
  private static func write(_ store: SyncedStore, _ title: String) throws {
    try store.write(.atomic) { _ = try $0.update(Note.self, id: "T1") { $0.title = title } }
  }

  @Test("Each verb makes a draft under the policy of drafts", arguments: 0..<10)
  func drafts(verb: Int) async throws {
    let pair = try await Pair.sharing()
    let store = pair.a.store
    var note = try #require(try pair.a.note())
    note.title = "mine"
    store.options.writePolicy = .draft
    switch verb {
    case 0..<4: try await Save.allCases[verb](note, on: store, .draft)
    case 4: try await store.update(note)
    case 5: try await store.update(Note.self, id: "T1") { $0.title = "mine" }
    case 6: try await store.delete([note])
    case 7: try await store.delete(RecordQuery<Note>())
    case 8: _ = try await store.delete(RecordID.note())
    default: try Self.write(store, "mine")
    }
    #expect(try store.state(of: .note()) == .draft)
    #expect(await store.sync().pushed == 0)
    #expect(try await pair.serverTitle() == "start")
    try store.release(.note())
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == (6...8 ~= verb ? nil : "mine"))
  }
}

/// A record with an optional field that has a default.
private struct Sign: Entity {
  static let schema = TypeSchema(
    "Sign",
    fields: [.field("text", String.self), .field("color", String?.self, default: "red")])

  var id = "S1"
  var text = "Corrour"
  var color: String?
  var readMark = ReadMark()

  init() {}

  func encode(to fields: inout FieldEncoder) {
    text.encodeField(to: &fields)
    color.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    text = try String(fromField: &fields)
    color = try String?(fromField: &fields)
    readMark = fields.readMark
  }
}

@Suite("Cleared fields with a default", .timeLimit(.minutes(5)))
struct ClearedDefaultTests {
  @Test("A new record has no value in a cleared field, typed or not", arguments: [false, true])
  func cleared(isTyped: Bool) async throws {
    for policy in [WritePolicy.local, .remoteThenLocal, .remote] {
      let pair = try Pair(schema: StoreSchema(version: 1, Sign.self))
      if isTyped {
        try await pair.a.store.save(Sign(), policy: policy)
      } else {
        try await pair.a.store.save(AnyRecord(Sign()), options: .saving(policy))
      }
      #expect(try await pair.isEven())
      #expect(try await pair.server("S1", type: "Sign") == ["text": "Corrour"])
    }
  }
}
