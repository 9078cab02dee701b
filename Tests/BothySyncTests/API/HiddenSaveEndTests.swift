import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// The ends of network-first saves that other calls settle or that pull beside them.
@Suite("Ends of online saves", .faultsStrike, .timeLimit(.minutes(5)))
struct HiddenSaveEndTests {
  private static let online: [WritePolicy] = [.remoteThenLocal, .remote]
  private static let changes = ["update", "insert", "delete"]

  private static func make(_ change: String, _ store: SyncedStore, _ policy: WritePolicy) async throws {
    switch change {
    case "update":
      var note = try await #require(try store.store.fetch(Note.self, id: "T1"))
      note.score += 5
      try await store.save(note, options: .saving(policy))
    case "insert": try await store.save(Note(id: "T9", "new"), options: .saving(policy))
    default: try await store.delete(.note(), options: .saving(policy))
    }
  }

  @Test("A device equals the server after a relaunch has settled an interrupted save", arguments: online)
  func relaunched(policy: WritePolicy) async throws {
    for change in Self.changes {
      let pair = try await Pair.sharing(policy: .fieldByField)
      let (points, store) = (pair.a.failPoints, pair.a.store)
      OnlineMeanwhileTests.meanwhile(pair.a) { _ in points.crash(at: 1) }
      _ = try? await Self.make(change, store, policy)
      try pair.a.restart()
      #expect(try pair.a.store.outboxEntries().count == 1)
      await pair.a.store.sync()
      #expect(try pair.a.store.outboxEntries().isEmpty)
      #expect(try await pair.isEven(), "\(change)")
    }
  }

  @Test("A device equals the server after a sync has settled a save in flight", arguments: online)
  func settledBySync(policy: WritePolicy) async throws {
    for change in Self.changes {
      let pair = try await Pair.sharing(policy: .fieldByField)
      let (request, store) = (HeldRequest(of: pair.a), pair.a.store)
      let task = Task { try await Self.make(change, store, policy) }
      await request.waitUntilSent()
      await store.sync()
      request.release()
      try await task.value
      #expect(try await pair.isEven(), "\(change)")
    }
  }

  @Test("Changes of others are visible although a save over them got no response", arguments: online)
  func pulledBeside(policy: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try pair.b.edit { $0.own[0] = 7 }
    await pair.b.store.sync()
    let (requests, store) = (Calls(), pair.a.store)
    pair.a.remote.plan(forExchange: {
      !$0.operations.isEmpty && requests.add() == 2 ? .lostRequest : .none
    })
    OnlineMeanwhileTests.meanwhile(pair.a) { await $0.sync(.pull) }
    var note = try #require(try pair.a.note())
    note.title = "mine"
    let value = note
    let result = await Task { try await store.save(value, options: .saving(policy)) }.result
    if policy == .remote { #expect(throws: BothyError.self) { try result.get() } }
    #expect(try pair.a.note()?.own[0] == 7)
    #expect(try await pair.isEven())
  }

  @Test("A repeated merged save keeps what others wrote")
  func mergedAndSentAgain() async throws {
    let pair = try await Pair.sharing([], policy: .fieldByField)
    try pair.b.insert("T1", "theirs")
    try pair.b.edit { $0.note = "kept" }
    await pair.b.store.sync()
    let requests = Calls()
    pair.a.remote.plan(forExchange: {
      !$0.operations.isEmpty && requests.add() == 2 ? .lostAnswer : .none
    })
    var note = Note(id: "T1", "mine")
    note.own[0] = 1
    let first = note
    await #expect(throws: BothyError.self) {
      try await pair.a.store.save(first, options: .saving(.remote))
    }
    note.own[1] = 2
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    #expect(try await pair.isEven())
    let server = try await pair.server("T1")
    #expect(server?["note"] == "kept" && server?["a"] == 1 && server?["b"] == 2)
  }

  @Test("A save receives its verdict although the journal keeps nothing", arguments: online)
  func withoutJournal(policy: WritePolicy) async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes) {
      $0.journal = SyncOptions.JournalLimits(rows: 0, acceptedRows: 0)
    }
    var note = try #require(try pair.a.note())
    note.note = "refused"
    let refused = note
    let error = await #expect(throws: BothyError.self) {
      try await pair.a.store.save(refused, options: .saving(policy))
    }
    #expect(error?.code == .rejected)
    (note.note, note.title) = (nil, "mine")
    let receipt = try await pair.a.store.save(note, options: .saving(policy))
    #expect(receipt.known == .accepted(version: "2"))
    #expect(try await pair.isEven())
  }

  @Test("A value sent by another store of the file counts once when saved again")
  func otherStore() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: .fieldByField)
    let other = try SyncedStore(
      at: pair.a.path, schema: .notes, remote: InProcessRemote(pair.world.service),
      configuration: configuration, clock: SyncClock(now: pair.world.time.reader()))
    let (request, store) = (HeldRequest(of: pair.a), pair.a.store)
    var note = try #require(try pair.a.note())
    note.score += 5
    let first = note
    let task = Task { try await store.save(first, options: .saving(.remoteThenLocal)) }
    await request.waitUntilSent()
    await other.sync()
    request.release()
    if case .accepted = try await task.value.known {} else { Issue.record("not accepted") }
    note.score += 2
    try await store.save(note, options: .saving(.remoteThenLocal))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1")?["score"] == 7)
    try other.store.close()
  }
}
