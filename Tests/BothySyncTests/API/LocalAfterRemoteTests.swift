import BothyStore
import BothySync
import BothyTesting
import Testing

/// A record without counters.
private struct Plain: Entity {
  static let schema = TypeSchema(
    "Plain", fields: [.field("title", String.self), .field("place", String.self)])

  var id: String
  var title: String
  var place: String
  var readMark = ReadMark()

  init(id: String, title: String, place: String) {
    (self.id, self.title, self.place) = (id, title, place)
  }

  func encode(to fields: inout FieldEncoder) {
    title.encodeField(to: &fields)
    place.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    title = try String(fromField: &fields)
    place = try String(fromField: &fields)
    readMark = fields.readMark
  }
}

/// Saves of the server alone, and local saves of the same record before a pull has brought their result.
@Suite("Local saves after one of the server alone", .faultsStrike, .timeLimit(.minutes(5)))
struct LocalAfterRemoteTests {
  private static let policies: [MergePolicy] = [.remoteWins, .fieldByField, .localWins]

  private func read(_ pair: Pair) throws -> Note { try #require(try pair.a.note()) }

  /// Returns a pair on which A has saved these on the server alone, and that value.
  private func pair(_ policy: MergePolicy) async throws -> (Pair, Note) {
    let pair = try await Pair.sharing(policy: policy)
    var note = try read(pair)
    (note.title, note.note, note.score) = ("first", "n1", 5)
    try await pair.a.store.save(note, options: .saving(.remote))
    #expect(try pair.a.title() == "start")
    return (pair, note)
  }

  private func verify(
    _ pair: Pair, _ receipt: SaveReceipt<Note>? = nil, _ fields: [String: JSONValue],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    #expect(try await pair.isEven(), sourceLocation: sourceLocation)
    #expect(try await pair.server("T1") == fields, sourceLocation: sourceLocation)
    let lost = try pair.a.store.journal.entries(losing: true)
    #expect(lost.isEmpty, sourceLocation: sourceLocation)
    guard let receipt else { return }
    if case .accepted = try await receipt.outcome() { return }
    Issue.record("\(try await receipt.outcome())", sourceLocation: sourceLocation)
  }

  @Test("The same value edited further is a change of the saved one", arguments: policies)
  func continued(policy: MergePolicy) async throws {
    var (pair, note) = try await pair(policy)
    (note.title, note.score) = ("second", 7)
    let receipt = try await pair.a.store.save(note, options: .saving(.local))
    let here = try read(pair)
    #expect(here.title == "second" && here.note == "n1" && here.score == 7)
    try await verify(pair, receipt, ["title": "second", "note": "n1", "score": 7])
  }

  @Test("A fresh value conflicts with no own save, and the later edit wins", arguments: policies)
  func fresh(policy: MergePolicy) async throws {
    let (pair, _) = try await pair(policy)
    var fresh = try read(pair)
    (fresh.title, fresh.score, fresh.own[0]) = ("second", 2, 1)
    let receipt = try await pair.a.store.save(fresh, options: .saving(.local))
    try await verify(pair, receipt, ["title": "second", "note": "n1", "score": 7, "a": 1])
  }

  @Test("A field that is set back is set back on the server", arguments: policies)
  func setBack(policy: MergePolicy) async throws {
    var (pair, note) = try await pair(policy)
    note.title = "start"
    let receipt = try await pair.a.store.save(note, options: .saving(.local))
    try await verify(pair, receipt, ["title": "start", "note": "n1", "score": 5])
  }

  @Test("A value that is set back as a whole undoes the save", arguments: policies)
  func undone(policy: MergePolicy) async throws {
    var (pair, note) = try await pair(policy)
    (note.title, note.note, note.score) = ("start", nil, 0)
    let receipt = try await pair.a.store.save(note, options: .saving(.local))
    try await verify(pair, receipt, ["title": "start", "score": 0])
  }

  @Test("A type without counters is set back too", arguments: policies)
  func setBackUncounted(policy: MergePolicy) async throws {
    let world = try SimulatedWorld()
    var options = SyncOptions.quiet
    options.merging = MergePolicies(default: policy)
    let schema = StoreSchema(Plain.self)
    let device = try world.addDevice("a", schema: schema, configuration: options)
    try await device.store.save(Plain(id: "P1", title: "start", place: "here"))
    await device.store.sync()
    var plain = try #require(try await device.store.fetch(Plain.self, id: "P1"))
    plain.title = "first"
    try await device.store.save(plain, options: .saving(.remote))
    plain.title = "start"
    try await device.store.save(plain, options: .saving(.local))
    await device.store.sync()
    #expect(try await device.store.fetch(Plain.self, id: "P1")?.title == "start")
    let server = try await world.serverRecords()[RecordID(type: "Plain", id: "P1")]?.fields.members()
    #expect(server == ["title": "start", "place": "here"])
  }

  @Test("A transaction continues from the result too", arguments: policies)
  func together(policy: MergePolicy) async throws {
    let (pair, _) = try await pair(policy)
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.title = "second" }
      try transaction.insert(Note(id: "T2", "beside"))
    }
    try await verify(pair, nil, ["title": "second", "note": "n1", "score": 5])
    #expect(try await pair.serverTitle("T2") == "beside")
  }

  @Test("The result outlives a relaunch", arguments: policies)
  func relaunched(policy: MergePolicy) async throws {
    let (pair, _) = try await pair(policy)
    try pair.a.restart()
    try pair.a.edit { $0.title = "second" }
    try await verify(pair, nil, ["title": "second", "note": "n1", "score": 5])
  }

  @Test("A deletion after such a save deletes the record", arguments: policies)
  func deleted(policy: MergePolicy) async throws {
    let (pair, _) = try await pair(policy)
    try await pair.a.store.delete(.note(), options: .saving(.local))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == nil)
  }

  @Test("A new record is created once, and its later values replace the first", arguments: policies)
  func made(policy: MergePolicy) async throws {
    let pair = try await Pair.sharing([], policy: policy)
    var note = Note(id: "T1", "first", note: "n1")
    note.score = 5
    try await pair.a.store.save(note, in: "work", options: .saving(.remote))
    #expect(try pair.a.note() == nil)
    (note.title, note.note, note.score) = ("second", nil, 7)
    let receipt = try await pair.a.store.save(note, options: .saving(.local))
    try await verify(pair, receipt, ["title": "second", "score": 7])
    #expect(try await pair.world.serverRecords()[.note()]?.container == "work")
  }

  @Test("The result of a new record outlives a relaunch", arguments: policies)
  func madeAndRelaunched(policy: MergePolicy) async throws {
    let pair = try await Pair.sharing([], policy: policy)
    try await pair.a.store.save(Note(id: "T1", "first", note: "n1"), options: .saving(.remote))
    try pair.a.restart()
    #expect(try pair.a.note() == nil)
    let receipt = try await pair.a.store.save(Note(id: "T1", "second"), options: .saving(.local))
    try await verify(pair, receipt, ["title": "second", "score": 0])
  }

  @Test("After a relaunch a further save of the server alone continues from the result", arguments: policies)
  func furtherAndRelaunched(policy: MergePolicy) async throws {
    let (pair, _) = try await pair(policy)
    try pair.a.restart()
    var note = try read(pair)
    note.title = "second"
    try await pair.a.store.save(note, options: .saving(.remote))
    try await verify(pair, nil, ["title": "second", "note": "n1", "score": 5])
  }

  @Test("A record that others deleted since is created again", arguments: policies)
  func deletedByOthers(policy: MergePolicy) async throws {
    let pair = try await Pair.sharing([], policy: policy)
    try await pair.a.store.save(Note(id: "T1", "first"), options: .saving(.remote))
    await pair.b.store.sync()
    try pair.b.remove()
    await pair.b.store.sync()
    await pair.a.store.sync()
    let receipt = try await pair.a.store.save(Note(id: "T1", "again"), options: .saving(.local))
    try await verify(pair, receipt, ["title": "again", "score": 0])
  }

  @Test("What others changed since the first save is theirs")
  func others() async throws {
    var (pair, note) = try await pair(.fieldByField)
    await pair.b.store.sync()
    try pair.b.edit { $0.note = "theirs" }
    await pair.b.store.sync()
    (note.title, note.score) = ("second", 7)
    try await pair.a.store.save(note, options: .saving(.local))
    try await verify(pair, nil, ["title": "second", "note": "theirs", "score": 7])
  }

  @Test("The result of a save is forgotten with its record")
  func purged() async throws {
    let (pair, _) = try await pair(.fieldByField)
    try pair.a.store.purge(.note())
    await pair.a.store.sync()
    #expect(try pair.a.title() == "first")
    try pair.a.edit { $0.own[1] = 2 }
    try await verify(pair, nil, ["title": "first", "note": "n1", "score": 5, "b": 2])
  }
}
