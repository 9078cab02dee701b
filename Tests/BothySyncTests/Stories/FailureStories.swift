import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// Retries, crashes and partial failures.
@Suite("Failures", .faultsStrike, .timeLimit(.minutes(5)))
struct FailureStories {
  private let online = RequestOptions(writePolicy: .remoteThenLocal)

  /// Promises: H-30, H-33, N-18
  @Test("An insert whose response is lost happens once, even over a restart", arguments: [false, true])
  func lostCreate(restarts: Bool) async throws {
    let calls = Calls()
    let pair = try Pair(policy: .counting(calls))
    // The first sync of a device pulls before it sends. The next one sends.
    await pair.a.store.sync()
    try pair.a.insert("T1", "a")
    pair.a.loseAnswer()
    #expect(await pair.a.store.sync().stop?.name == "unreachable")
    if restarts { try pair.a.restart() }
    let report = await pair.a.store.sync()
    #expect(report.pushed == 1)
    #expect(Set(pair.a.operations.map(\.id)).count == 1)
    #expect(try await pair.world.serverRecords().count == 1)
    #expect(calls.count == 0)
    #expect(try await pair.isEven())
  }

  /// Promises: H-30
  @Test("An online save whose response is lost happens once")
  func lostOnlineSave() async throws {
    let calls = Calls()
    let pair = try Pair(policy: .counting(calls))
    pair.a.loseAnswer()
    var note = Note(id: "T1", "a")
    note.score = 3
    try await pair.a.store.save(note, options: online)
    #expect(try pair.a.isPending())
    await pair.a.store.sync()
    #expect(Set(pair.a.operations.map(\.id)).count == 1)
    #expect(calls.count == 0)
    #expect(try await pair.server("T1")?["score"] == 3)
    #expect(try await pair.isEven())
  }

  /// Promises: H-31
  @Test("An update whose response is lost does not overwrite another device's later edit")
  func lostUpdate() async throws {
    let pair = try await Pair.sharing()
    try pair.a.retitle("b")
    pair.a.loseAnswer()
    await pair.a.store.sync()
    await pair.b.store.sync()
    try pair.b.retitle("c")
    await pair.b.store.sync()
    await pair.a.store.sync()
    #expect(Set(pair.a.operations.map(\.id)).count == 1)
    #expect(try await pair.serverTitle() == "c")
    #expect(try pair.a.title() == "c")
    #expect(try await pair.isEven())
  }

  /// Promises: H-32, H-33
  @Test(
    "A deletion whose response is lost is done by the next sync",
    arguments: [false, true])
  func lostDelete(restarts: Bool) async throws {
    let calls = Calls()
    let pair = try await Pair.sharing(policy: .counting(calls))
    try pair.a.remove()
    pair.a.loseAnswer()
    await pair.a.store.sync()
    if restarts { try pair.a.restart() }
    await pair.a.store.sync()
    #expect(calls.count == 0)
    #expect(try await pair.world.serverRecords().isEmpty)
    #expect(try await pair.isEven())
  }

  /// Promises: H-33, N-18
  @Test("An update whose response is lost causes no conflict after a restart")
  func lostUpdateRestart() async throws {
    let calls = Calls()
    let pair = try await Pair.sharing(policy: .counting(calls))
    try pair.a.retitle("b")
    pair.a.loseAnswer()
    await pair.a.store.sync()
    try pair.a.restart()
    await pair.a.store.sync()
    #expect(calls.count == 0)
    #expect(try await pair.serverTitle() == "b")
    #expect(try await pair.isEven())
  }

  /// Promises: H-34
  @Test("A row and its outbox entry exist together or not at all")
  func atomicWrite() async throws {
    struct Killed: Error {}
    let pair = try Pair()
    func killed() throws {
      try pair.a.store.store.write { transaction in
        try transaction.insert(Note(id: "T1", "a"))
        throw Killed()
      }
    }
    #expect(throws: Killed.self) { try killed() }
    try pair.a.restart()
    #expect(try pair.a.note() == nil)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    try pair.a.insert("T1", "a")
    try pair.a.restart()
    #expect(try pair.a.note() != nil)
    #expect(try pair.a.isPending())
    #expect(try pair.a.store.diagnose().findings.isEmpty)
  }

  /// Promises: H-35, S-68, N-53
  @Test("One rejected change of five stops no other and alone is sent again")
  func partialBatch() async throws {
    let pair = try Pair(rules: .withoutNotes)
    for number in 1...5 { try pair.a.insert("T\(number)", "t", note: number == 3 ? "refused" : nil) }
    let report = await pair.a.store.sync()
    #expect(report.pushed == 4)
    #expect(report.rejected.map(\.record) == [.note("T3")])
    #expect(try pair.a.store.outboxEntries().map(\.id) == [.note("T3")])
    #expect(try pair.a.store.rejectedEntries().first?.reason?.fields.map(\.field) == ["note"])
    pair.a.remote.forgetRequests()
    await pair.a.store.sync()
    #expect(pair.a.operations.count == 1)
  }

  /// Promises: H-36, X-9, S-68
  @Test("A rejected update stops neither inserts before it nor deletions after it")
  func partialSave() async throws {
    let pair = try await Pair.sharing(["T1", "T2"], rules: .withoutNotes)
    try pair.a.insert("T8", "eight")
    try pair.a.insert("T9", "nine")
    try pair.a.edit("T1") { $0.note = "refused" }
    try pair.a.remove("T2")
    let report = await pair.a.store.sync()
    #expect(report.synced.map(\.action) == [.insertedOnServer, .insertedOnServer, .deletedFromServer])
    #expect(report.rejected.map(\.record) == [.note("T1")])
    pair.a.remote.forgetRequests()
    await pair.a.store.sync()
    #expect(pair.a.operations.map(\.record) == [.note("T1")])
  }

  /// Promises: H-37, C-2
  @Test("A connection lost halfway loses nothing, and the next sync continues")
  func lostConnection() async throws {
    let pair = try await Pair.sharing { $0.batchSize = 4 }
    for number in 0..<10 { try pair.a.insert("N\(number)", "n") }
    pair.a.loseConnection(after: 1)
    let report = await pair.a.store.sync()
    #expect(report.pushed == 4)
    #expect(report.stop?.name == "unreachable")
    #expect(try pair.a.store.pendingCounts().insert == 6)
    #expect(try await pair.a.store.store.count(AnyQuery("Note")) == 11)
    pair.a.remote.setScript { .none }
    #expect(await pair.a.store.sync().pushed == 6)
    #expect(try await pair.isEven())
  }

  /// Promises: H-38, S-86
  @Test("An error inside the server discards nothing, whatever the policy")
  func serverError() async throws {
    for policy in [SyncOptions.RejectionPolicy.keepPending, .quarantine(after: 1), .discardAndRefetch] {
      let pair = try Pair { $0.rejectionPolicy = policy }
      try pair.a.insert("T1", "a")
      pair.a.remote.plan(.status(500, retryAfter: nil))
      #expect(await pair.a.store.sync().stop?.name == "serverError")
      #expect(try pair.a.store.state(of: .note()) == .pending(.insert))
      pair.a.remote.setScript { .none }
      #expect(try await pair.isEven())
      #expect(try await pair.serverTitle() == "a")
    }
  }

  /// Promises: H-38, N-37
  @Test("A change on which the server fails waits and is sent again")
  func failingInside() async throws {
    for policy in [SyncOptions.RejectionPolicy.keepPending, .quarantine(after: 1), .discardAndRefetch] {
      let pair = try await Pair.sharing(["T1", "T2"]) { $0.rejectionPolicy = policy }
      try pair.a.retitle("T1", "mine")
      try pair.a.retitle("T2", "breaks the server")
      try pair.a.insert("T3", "new")
      pair.a.remote.plan(forExchange: { request in
        request.operations.contains { $0.fields["title"] == "breaks the server" }
          ? .status(500, retryAfter: nil) : .none
      })
      let report = await pair.a.store.sync()
      #expect(report.obstacle == nil && report.overwritten.isEmpty)
      #expect(
        report.rejected.map(\.record) == [.note("T2")] && report.rejected.map(\.code) == ["serverError"])
      #expect(try pair.a.store.rejectedEntries().map(\.id) == [.note("T2")])
      #expect(try pair.a.title("T2") == "breaks the server")
      #expect(try await pair.world.snapshot().server[.note("T1")]?["title"] == "mine")
      #expect(try await pair.world.snapshot().server.count == 3)
      pair.a.remote.setScript { .none }
      pair.world.time.advance(by: 1000)
      #expect(try await pair.isEven())
      #expect(try await pair.serverTitle("T2") == "breaks the server")
    }
  }

  /// Promises: H-41
  @Test(
    "A request that is too large is halved; a too large group is rejected"
  )
  func tooLarge() async throws {
    let pair = try Pair(rules: AccessRules(operationLimit: 3))
    for number in 1...9 { try pair.a.insert("T\(number)", "single") }
    try await pair.a.store.write(.atomic) { transaction in
      for number in 1...4 { try transaction.insert(Note(id: "G\(number)", "together")) }
    }
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil)
    #expect(report.pushed == 9)
    #expect(report.rejected.map(\.record.id).sorted() == ["G1", "G2", "G3", "G4"])
    #expect(Set(report.rejected.map(\.code)) == ["tooLarge"])
    #expect(try await pair.world.serverRecords().count == 9)
    #expect(try pair.a.store.rejectedEntries().count == 4)
    // One record is removed, so the rest fits and is accepted as a whole.
    try pair.a.remove("G4")
    #expect(await pair.a.store.sync().rejected.isEmpty)
    #expect(try await pair.world.serverRecords().count == 12)
    #expect(try await pair.isEven())
  }

  /// Promises: H-41
  @Test("The responses to accepted halves survive when a later one is cut")
  func cutBetweenHalves() async throws {
    let pair = try Pair(rules: AccessRules(operationLimit: 2))
    await pair.a.store.sync()
    for number in 1...8 { try pair.a.insert("T\(number)", "single") }
    pair.a.remote.plan(forExchange: { request in
      request.operations.count == 2 && request.operations.contains { $0.record.id == "T5" }
        ? .lostAnswer : .none
    })
    #expect(await pair.a.store.sync().stop?.name == "unreachable")
    pair.a.remote.setScript { .none }
    #expect(await pair.a.store.sync().obstacle == nil)
    #expect(try await pair.world.serverRecords().count == 8)
    #expect(try await pair.isEven())
  }

  /// Promises: H-38, C-2
  @Test("A change on which the server fails stays in doubt and happens once")
  func mixedServerError() async throws {
    let schema = StoreSchema(types: [Note.schema, TypeSchema("Folder", fields: [FieldSchema("name", .text)])])
    let pair = try Pair(schema: schema) { $0.rejectionPolicies = ["Note": .discardAndRefetch] }
    await pair.a.store.sync()
    try pair.a.insert("T1", "kept")
    try pair.a.put(AnyRecord("Folder", id: "F1", ["name": "kept"]))
    pair.a.remote.plan(.status(500, retryAfter: nil))
    let report = await pair.a.store.sync()
    #expect(report.stop?.name == "serverError")
    #expect(report.rejected.isEmpty)
    #expect(try pair.a.store.pendingCounts().insert == 2)
    pair.a.remote.setScript { .none }
    #expect(try await pair.isEven())
    #expect(try await pair.world.snapshot().server[RecordID(type: "Folder", id: "F1")]?["name"] == "kept")
    #expect(try await pair.serverTitle() == "kept")
  }

  /// Promises: H-38
  @Test("Under discard a rejected insert is removed and its content reported")
  func discardedInsert() async throws {
    let pair = try Pair(rules: .withoutNotes) { $0.rejectionPolicy = .discardAndRefetch }
    try pair.a.insert("T1", "a", note: "refused")
    let report = await pair.a.store.sync()
    #expect(try report.overwritten.first?.fields?.members()["title"] == "a")
    #expect(report.rejected.map(\.code) == ["invalid"])
    #expect(try pair.a.note() == nil)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.isEven())
  }

  /// Promises: H-39
  @Test("Under discard a rejected edit shows the server's version at once")
  func discardedEdit() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes) { $0.rejectionPolicy = .discardAndRefetch }
    try pair.a.edit { $0.note = "refused" }
    let report = await pair.a.store.sync(.push)
    #expect(report.overwritten.count == 1)
    #expect(try pair.a.note()?.note == nil)
    #expect(try pair.a.title() == "start")
    #expect(try await pair.isEven())
  }

  /// Promises: H-40, C-2
  @Test("Without a valid token nothing is discarded, and one request is made")
  func unauthenticated() async throws {
    for policy in [SyncOptions.RejectionPolicy.keepPending, .quarantine(after: 1), .discardAndRefetch] {
      let pair = try Pair { $0.rejectionPolicy = policy }
      for number in 0..<20 { try pair.a.insert("N\(number)", "n") }
      pair.a.remote.plan(.status(401, retryAfter: nil))
      let report = await pair.a.store.sync()
      #expect(report.stop?.name == "signInRequired")
      #expect(pair.a.remote.requests.count == 1)
      #expect(try pair.a.store.pendingCounts().insert == 20)
      #expect(try pair.a.store.rejectedEntries().isEmpty)
    }
  }

  /// Promises: H-41
  @Test("A rejected record delays no other, waits longer, and is quarantined after three")
  func poison() async throws {
    let pair = try Pair(rules: .withoutNotes) {
      $0.rejectionPolicy = .quarantine(after: 3)
      $0.backoff = Backoff(first: .seconds(10), limit: .seconds(300), random: { 1 })
    }
    try pair.a.insert("N0", "n", note: "refused")
    for number in 1..<10 { try pair.a.insert("N\(number)", "n") }
    #expect(await pair.a.store.sync().pushed == 9)
    let first = try #require(try pair.a.store.rejectedEntries().first)
    #expect(first.retryAt == pair.world.time.now + 10_000)
    await pair.a.store.sync()
    #expect(try pair.a.store.rejectedEntries().first?.retryAt == pair.world.time.now + 20_000)
    await pair.a.store.sync()
    #expect(try pair.a.store.state(of: .note("N0")).name == "quarantined")
    pair.a.remote.forgetRequests()
    await pair.a.store.sync()
    #expect(pair.a.operations.isEmpty)
    #expect(try pair.a.store.rejectedEntries().map(\.attempts) == [3])
    try pair.a.edit("N0") { $0.note = nil }
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(try await pair.isEven())
  }

  /// Promises: H-42
  @Test("A busy server receives the next request after the time that it names")
  func throttled() async throws {
    let pair = try await Pair.sharing { $0.triggers = [.save] }
    let calls = Calls()
    pair.a.remote.plan { calls.add() == 1 ? .status(503, retryAfter: 2) : .none }
    let clock = VirtualClock()
    let store = pair.a.store
    let loop = Task { await store.run(clock: clock) }
    try await pair.a.store.save(Note(id: "T2", "two"))
    await clock.waitForSleepers()
    #expect(clock.sleepers == [.seconds(2)])
    #expect(try pair.a.isPending("T2"))
    clock.advance(by: .seconds(2))
    try await until { try !pair.a.isPending("T2") }
    #expect(pair.a.remote.requests.count == 2)
    loop.cancel()
    await loop.value
  }
}
