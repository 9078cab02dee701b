import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Edits during a network-first save.
@Suite("Edits beside an online save in flight", .faultsStrike, .timeLimit(.minutes(5)))
struct OnlineMeanwhileTests {
  static let policies: [MergePolicy] = [.remoteWins, .fieldByField, .localWins]
  static let faults: [FaultyRemote.Fault] = [.lostRequest, .lostAnswer]

  /// Runs `change` here once, before the first request is sent.
  static func meanwhile(
    _ device: SimulatedDevice, _ change: @escaping @Sendable (SyncedStore) async throws -> Void
  ) {
    let (calls, store) = (Calls(), device.store)
    device.remote.setBeforeSending { _ in
      guard calls.add() == 1 else { return }
      do { try await change(store) } catch { Issue.record(error) }
    }
  }

  private static func edit(_ pair: Pair, _ change: @escaping @Sendable (inout Note) -> Void) {
    meanwhile(pair.a) { try await $0.store.write { _ = try $0.update(Note.self, id: "T1", change) } }
  }

  private func container(_ pair: Pair) async throws -> String? {
    try await pair.world.serverRecords()[.note()]?.container
  }

  @Test("An edit beside an unanswered save stays, and both count once", arguments: faults)
  func unanswered(fault: FaultyRemote.Fault) async throws {
    for policy in Self.policies {
      let pair = try await Pair.sharing(policy: policy)
      pair.a.remote.plan(fault, on: .operations, times: 1)
      Self.edit(pair) { ($0.note, $0.score) = ("meanwhile", $0.score + 1000) }
      var note = try #require(try pair.a.note())
      (note.title, note.score) = ("mine", 100)
      let receipt = try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
      #expect(receipt.known == .pending)
      let here = try #require(try pair.a.note())
      #expect(here.title == "mine" && here.note == "meanwhile" && here.score == 1100)
      let sent = try #require(pair.a.operations.first)
      #expect(try pair.a.store.outboxEntries().map(\.operationID) == [sent.id])
      try pair.a.restart()
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "mine", "note": "meanwhile", "score": 1100])
      #expect(try pair.a.store.journal.entries(losing: true).isEmpty)
    }
  }

  @Test("The response to a save leaves the later edit pending")
  func acknowledged() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    pair.a.remote.plan(.lostAnswer, on: .operations, times: 1)
    Self.edit(pair) { $0.note = "meanwhile" }
    var note = try #require(try pair.a.note())
    note.title = "mine"
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    pair.a.remote.forgetRequests()
    await pair.a.store.sync(.push)
    #expect(pair.a.operations.map(\.fields) == [["title": "mine"], ["note": "meanwhile"]])
    #expect(try await pair.isEven())
  }

  @Test("A merged save without a response keeps the edit made meanwhile", arguments: faults)
  func rebased(fault: FaultyRemote.Fault) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try pair.b.edit { ($0.score, $0.own[0]) = (5, 7) }
    await pair.b.store.sync()
    let (calls, store) = (Calls(), pair.a.store.store)
    pair.a.remote.setBeforeSending { _ in
      guard calls.add() == 2 else { return }
      do {
        try await store.write {
          _ = try $0.update(Note.self, id: "T1") { ($0.note, $0.score) = ("meanwhile", $0.score + 1000) }
        }
      } catch { Issue.record(error) }
    }
    let requests = Calls()
    pair.a.remote.plan { requests.add() == 2 ? fault : .none }
    var note = try #require(try pair.a.note())
    (note.title, note.score) = ("mine", 100)
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    #expect(try pair.a.note()?.score == 1105)
    try pair.a.restart()
    #expect(try await pair.isEven())
    #expect(
      try await pair.server("T1") == ["title": "mine", "note": "meanwhile", "a": 7, "score": 1105])
  }

  @Test("A move and an edit made meanwhile both apply, with or without response")
  func moved() async throws {
    for policy in Self.policies {
      for fault in Self.faults + [.none] {
        let pair = try await Pair.sharing(policy: policy)
        pair.a.remote.plan(fault, on: .operations, times: 1)
        Self.edit(pair) { $0.note = "meanwhile" }
        try await pair.a.store.move(.note(), to: "work", options: .saving(.remoteThenLocal))
        #expect(try pair.a.record("Note", "T1")?.container == "work")
        #expect(try await pair.isEven())
        #expect(try await container(pair) == "work")
        #expect(try await pair.server("T1")?["note"] == "meanwhile")
      }
    }
  }

  @Test("Another device's move and an edit made meanwhile both apply")
  func movedThere() async throws {
    for fault in Self.faults + [.none] {
      let pair = try await Pair.sharing(policy: .fieldByField)
      try await pair.b.store.move(.note(), to: "work")
      await pair.b.store.sync()
      pair.a.remote.plan(fault, on: .operations, times: 1)
      Self.edit(pair) { $0.note = "meanwhile" }
      var note = try #require(try pair.a.note())
      note.title = "mine"
      try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
      #expect(try await pair.isEven())
      #expect(try await container(pair) == "work")
      #expect(try await pair.server("T1") == ["title": "mine", "note": "meanwhile", "score": 0])
    }
  }

  @Test("A move made meanwhile is the later one")
  func movedMeanwhile() async throws {
    for fault in Self.faults + [.none] {
      let pair = try await Pair.sharing(policy: .fieldByField)
      pair.a.remote.plan(fault, on: .operations, times: 1)
      Self.meanwhile(pair.a) { try await $0.store.write { _ = try $0.move(.note(), to: "home") } }
      try await pair.a.store.move(.note(), to: "work", options: .saving(.remoteThenLocal))
      #expect(try await pair.isEven())
      #expect(try await container(pair) == "home")
    }
  }

  @Test("Of a deletion and an edit made meanwhile the later one wins", arguments: faults)
  func deletion(fault: FaultyRemote.Fault) async throws {
    for policy in Self.policies {
      let edited = try await Pair.sharing(policy: policy)
      edited.a.remote.plan(fault, on: .operations, times: 1)
      Self.edit(edited) { $0.note = "precious" }
      try await edited.a.store.delete(.note(), options: .saving(.remoteThenLocal))
      #expect(try edited.a.note()?.note == "precious")
      #expect(try await edited.isEven())
      #expect(try await edited.server("T1")?["note"] == "precious")
      let deleted = try await Pair.sharing(policy: policy)
      deleted.a.remote.plan(fault, on: .operations, times: 1)
      Self.meanwhile(deleted.a) { try await $0.store.write { _ = try $0.delete(.note()) } }
      var note = try #require(try deleted.a.note())
      note.title = "mine"
      try await deleted.a.store.save(note, options: .saving(.remoteThenLocal))
      #expect(try deleted.a.note() == nil)
      #expect(try await deleted.isEven())
      #expect(try await deleted.server("T1") == nil)
    }
  }

  @Test("A record created online and here meanwhile is one, with the later value", arguments: faults)
  func made(fault: FaultyRemote.Fault) async throws {
    let pair = try await Pair.sharing([], policy: .fieldByField)
    pair.a.remote.plan(fault, on: .operations, times: 1)
    Self.meanwhile(pair.a) {
      try await $0.store.write { try $0.insert(Note(id: "T1", "here", note: "more")) }
    }
    try await pair.a.store.save(Note(id: "T1", "online"), options: .saving(.remoteThenLocal))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "here", "note": "more", "score": 0])
  }

  @Test("A transaction made meanwhile stays whole beside an unanswered save", arguments: faults)
  func atomic(fault: FaultyRemote.Fault) async throws {
    let pair = try await Pair.sharing(["T1", "T2"], policy: .fieldByField)
    pair.a.remote.plan(fault, on: .operations, times: 1)
    Self.meanwhile(pair.a) {
      try await $0.write(.atomic) {
        _ = try $0.update(Note.self, id: "T1") { $0.note = "minus" }
        _ = try $0.update(Note.self, id: "T2") { $0.note = "plus" }
      }
    }
    var note = try #require(try pair.a.note())
    note.title = "mine"
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "mine", "note": "minus", "score": 0])
    #expect(try await pair.server("T2")?["note"] == "plus")
    let grouped = pair.a.operations.filter { $0.group != nil }.map(\.record.id)
    #expect(grouped.sorted() == ["T1", "T2"])
  }

  @Test("A draft made meanwhile stays a draft beside an unanswered save", arguments: faults)
  func draft(fault: FaultyRemote.Fault) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    pair.a.remote.plan(fault, on: .operations, times: 1)
    Self.meanwhile(pair.a) {
      _ = try await $0.writeDraft { _ = try $0.update(Note.self, id: "T1") { $0.note = "draft" } }
    }
    var note = try #require(try pair.a.note())
    note.title = "mine"
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    await pair.a.store.sync()
    #expect(try await pair.server("T1") == ["title": "mine", "score": 0])
    #expect(try pair.a.note()?.note == "draft")
    #expect(try pair.a.store.outboxEntries().map(\.stage) == [.held])
  }
}
