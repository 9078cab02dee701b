import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Saves that the disk has no room for and that are tried on the server, as configured.
@Suite("Saves on a full disk that are tried on the server", .faultsStrike, .timeLimit(.minutes(5)))
struct FullDiskTests {
  private func pair(_ policy: MergePolicy = .fieldByField) async throws -> Pair {
    try await Pair.sharing(policy: policy) { $0.localFailure = .tryRemote }
  }

  /// Saves on A while the disk takes nothing.
  @discardableResult
  private func saveOnFullDisk(_ pair: Pair, _ note: Note) async throws -> SaveReceipt<Note> {
    pair.a.failPoints.fail(at: 2)
    return try await pair.a.store.save(note, options: .saving(.local))
  }

  @Test("A stale value reverts no field of others, and its receipt has it")
  func stale() async throws {
    let pair = try await pair()
    var stale = try #require(try pair.a.note())
    try pair.b.edit { ($0.note, $0.score) = ("theirs", 5) }
    await pair.b.store.sync()
    await pair.a.store.sync()
    (stale.title, stale.own[0]) = ("mine", 1)
    let receipt = try await saveOnFullDisk(pair, stale)
    #expect(!receipt.isStoredHere && receipt.state == .synced)
    #expect(try await receipt.result(within: .seconds(1)).record?.title == "mine")
    #expect(try pair.a.title() == "start")
    #expect(try pair.a.store.outboxEntries().isEmpty)
    let wanted: [String: JSONValue] = ["title": "mine", "note": "theirs", "a": 1, "score": 5]
    #expect(try await pair.server("T1") == wanted)
    #expect(try await pair.isEven())
    #expect(try pair.a.title() == "mine")
  }

  @Test("Every verb is tried on the server", arguments: 0..<9)
  func verbs(verb: Int) async throws {
    let pair = try await pair()
    let store = pair.a.store
    store.options.writePolicy = .local
    var note = try #require(try pair.a.note())
    note.title = "mine"
    pair.a.failPoints.fail(at: 2)
    switch verb {
    case 0: #expect(try await store.save([note]).map(\.isStoredHere) == [false])
    case 1: #expect(try await store.update(note).isStoredHere == false)
    case 2:
      let receipt = try await store.update(Note.self, id: "T1") { $0.title = "mine" }
      #expect(try await receipt.result().record?.title == "mine")
    case 3: #expect(try await store.save([AnyRecord(note)]).compactMap(\.error).isEmpty)
    case 4:
      let count = try await store.update(RecordQuery<Note>()) { $0.title = "mine" }
      #expect(count == 1)
    case 5: #expect(try await store.delete(RecordID.note()).state == .synced)
    case 6: #expect(try await store.delete([note]) == 1)
    case 7: #expect(try await store.delete(RecordQuery<Note>()) == 1)
    default: #expect(try await store.save([], deleting: [.note()]).compactMap(\.error).isEmpty)
    }
    #expect(try pair.a.title() == "start")
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.serverTitle() == (verb < 5 ? "mine" : nil))
    #expect(try await pair.isEven())
  }

  @Test("Each record of a list is tried for itself, and has a receipt")
  func list() async throws {
    let pair = try await pair()
    let notes = [Note(id: "T2", "two"), Note(id: "T3", "three")]
    pair.a.failPoints.fail(at: 2)
    let receipts = try await pair.a.store.save(notes, policy: .local)
    #expect(receipts.map(\.record) == notes.map { .note($0.id) })
    for (note, receipt) in zip(notes, receipts) {
      #expect(try await receipt.result().record == note)
      #expect(try await pair.serverTitle(note.id) == note.title)
    }
    #expect(try pair.a.noteIDs() == ["T1"])
    #expect(try await pair.isEven())
  }

  @Test("Without a server the error of a list is that of the disk")
  func listOffline() async throws {
    let pair = try await pair()
    pair.a.remote.isOffline = true
    pair.a.failPoints.fail(at: 2)
    let error = await #expect(throws: BothyError.self) {
      try await pair.a.store.save([Note(id: "T2", "two")], policy: .local)
    }
    #expect(error?.code == .diskFull && (error?.underlying as? BothyError)?.code == .unreachable)
    pair.a.failPoints.fail(at: 2)
    let results = try await pair.a.store.save(
      [AnyRecord(Note(id: "T3", "three"))], options: .saving(.local))
    #expect(results.map { ($0.error as? BothyError)?.code } == [.diskFull])
    #expect(try pair.a.store.outboxEntries().isEmpty)
  }

  @Test("A field that others changed since the read is a conflict")
  func conflict() async throws {
    let pair = try await pair()
    var stale = try #require(try pair.a.note())
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    await pair.a.store.sync()
    stale.title = "mine"
    let value = stale
    let error = await #expect(throws: BothyError.self) { try await saveOnFullDisk(pair, value) }
    #expect(error?.code == .conflict)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.serverTitle() == "theirs")
    #expect(try await pair.isEven())
  }

  @Test("Without a server the error is that of the disk, and nothing is pending")
  func offline() async throws {
    let pair = try await pair()
    var note = try #require(try pair.a.note())
    note.title = "mine"
    pair.a.remote.isOffline = true
    let value = note
    let error = await #expect(throws: BothyError.self) { try await saveOnFullDisk(pair, value) }
    #expect(error?.code == .diskFull)
    #expect((error?.underlying as? BothyError)?.code == .unreachable)
    #expect(try pair.a.title() == "start")
    pair.a.remote.isOffline = false
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "start")
    try await pair.a.store.save(note)
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "mine")
  }

  @Test("A save whose answer was lost is accepted when it is repeated")
  func unanswered() async throws {
    let pair = try await pair()
    var note = try #require(try pair.a.note())
    note.title = "mine"
    pair.a.remote.plan(.lostAnswer, on: .operations, times: 1)
    let value = note
    let error = await #expect(throws: BothyError.self) { try await saveOnFullDisk(pair, value) }
    #expect(error?.code == .diskFull)
    let receipt = try await saveOnFullDisk(pair, note)
    #expect(receipt.known == .accepted(version: "2"))
    #expect(try await pair.isEven())
    #expect(try pair.a.title() == "mine")
  }

  @Test("A count whose answer was lost counts once when it is repeated")
  func unansweredCount() async throws {
    let pair = try await pair()
    var note = try #require(try pair.a.note())
    note.score = 5
    pair.a.remote.plan(.lostAnswer, on: .operations, times: 1)
    let value = note
    let error = await #expect(throws: BothyError.self) { try await saveOnFullDisk(pair, value) }
    #expect(error?.message.contains("may have made the change of Note/T1") == true)
    let receipt = try await saveOnFullDisk(pair, note)
    #expect(receipt.known == .accepted(version: "2"))
    note.score = 7
    try await pair.a.store.save(note, options: .saving(.local))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1")?["score"] == 7)
  }

  @Test(
    "A count whose answer was lost counts once after the disk has room",
    arguments: [WritePolicy.local, .remote], [false, true])
  func unansweredThenRoom(save: WritePolicy, isPulled: Bool) async throws {
    for fault in [FaultyRemote.Fault.lostAnswer, .lostRequest] {
      let pair = try await pair()
      var note = try #require(try pair.a.note())
      note.score = 5
      pair.a.remote.plan(fault, on: .operations, times: 1)
      let value = note
      await #expect(throws: BothyError.self) { try await saveOnFullDisk(pair, value) }
      if isPulled { await pair.a.store.sync() }
      try await pair.a.store.save(note, options: .saving(save))
      note.score = 7
      try await pair.a.store.save(note, options: .saving(.local))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1")?["score"] == 7)
      // Each try of the first save has its id.
      #expect(Set(pair.a.operations.filter { $0.fields["score"] == 5 }.map(\.id)).count == 1)
    }
  }

  /// The first try meets the other device's change, and the second one gets no answer.
  @Test("A count that was sent on others' change counts once too", arguments: [false, true])
  func unansweredOnOthers(isPulled: Bool) async throws {
    for fault in [FaultyRemote.Fault.lostAnswer, .lostRequest] {
      let pair = try await pair()
      try pair.b.retitle("theirs")
      await pair.b.store.sync()
      var note = try #require(try pair.a.note())
      note.score = 5
      let tries = Calls()
      pair.a.remote.plan(forExchange: { request in
        request.operations.isEmpty || tries.add() != 2 ? .none : fault
      })
      let value = note
      await #expect(throws: BothyError.self) { try await saveOnFullDisk(pair, value) }
      if isPulled { await pair.a.store.sync() }
      try await pair.a.store.save(note, options: .saving(.local))
      note.score = 7
      try await pair.a.store.save(note, options: .saving(.local))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1")?["score"] == 7)
    }
  }

  @Test("A save after an unanswered one isn't tried before that is settled")
  func doubt() async throws {
    let pair = try await pair()
    var note = try #require(try pair.a.note())
    note.score = 5
    let value = note
    pair.a.remote.plan(.lostAnswer, on: .operations, times: 1)
    await #expect(throws: BothyError.self) {
      try await pair.a.store.save(value, options: .saving(.remote))
    }
    let error = await #expect(throws: BothyError.self) { try await saveOnFullDisk(pair, value) }
    #expect(error?.code == .diskFull)
    #expect((error?.underlying as? BothyError)?.code == .pendingChanges)
    #expect(pair.a.operations.count == 1)
    try await pair.a.store.save(note, options: .saving(.local))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1")?["score"] == 5)
  }

  @Test("A save that equals an answered one is a save of its own")
  func answered() async throws {
    let pair = try await pair()
    let note = Note(id: "T2", "two")
    pair.a.remote.plan(.lostAnswer, on: .operations, times: 1)
    await #expect(throws: BothyError.self) { try await saveOnFullDisk(pair, note) }
    #expect(try await saveOnFullDisk(pair, note).state == .synced)
    await pair.b.store.sync()
    _ = try await pair.b.store.delete(RecordID.note("T2"))
    await pair.b.store.sync()
    #expect(try await pair.serverTitle("T2") == nil)
    // The server makes it, or the save throws that others have deleted the record.
    let receipt = try? await saveOnFullDisk(pair, note)
    let title = try await pair.serverTitle("T2")
    #expect(title == (receipt == nil ? nil : "two"))
  }

  @Test(
    "A save with room again continues from the one on the server", arguments: ["remoteWins", "fieldByField"])
  func room(policy: String) async throws {
    let pair = try await pair(policy == "remoteWins" ? .remoteWins : .fieldByField)
    var note = try #require(try pair.a.note())
    (note.title, note.note, note.score) = ("first", "n1", 5)
    try await saveOnFullDisk(pair, note)
    note.score = 6
    try await saveOnFullDisk(pair, note)
    (note.title, note.score) = ("second", 8)
    let receipt = try await pair.a.store.save(note, options: .saving(.local))
    #expect(receipt.isStoredHere && receipt.known == .pending)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "second", "note": "n1", "score": 8])
    #expect(try pair.a.store.journal.entries(losing: true).isEmpty)
  }

  @Test("Pending changes of the record stay, and the disk's error is thrown")
  func pending() async throws {
    let pair = try await pair()
    try pair.a.edit { $0.note = "pending" }
    var note = try #require(try pair.a.note())
    note.title = "mine"
    let value = note
    let error = await #expect(throws: BothyError.self) { try await saveOnFullDisk(pair, value) }
    #expect(error?.code == .diskFull)
    #expect((error?.underlying as? BothyError)?.code == .pendingChanges)
    #expect(pair.a.operations.isEmpty)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "start", "note": "pending", "score": 0])
  }

  @Test("A type that isn't synced is never sent")
  func local() async throws {
    let schema = StoreSchema(types: [
      TypeSchema("Draft", fields: [FieldSchema("title", .text)], synced: false)
    ])
    let pair = try Pair(schema: schema) { $0.localFailure = .tryRemote }
    pair.a.failPoints.fail(at: 2)
    let error = await #expect(throws: BothyError.self) {
      try await pair.a.store.save(AnyRecord("Draft", id: "D", ["title": "here"]))
    }
    #expect(error?.code == .diskFull)
    #expect(pair.a.remote.requests.isEmpty)
    #expect(try pair.a.record("Draft", "D") == nil)
  }
}
