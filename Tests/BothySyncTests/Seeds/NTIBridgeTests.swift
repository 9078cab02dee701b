import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// The sections of the storage bridge's document on the storages and on their coordination.
@Suite("The storage bridge: storages and operations", .faultsStrike, .timeLimit(.minutes(5)))
struct NTIBridgeTests {
  // MARK: introduction

  /// Promises: N-2, C-1, C-7
  @Test("The server wins conflicts and rejections, each by a setting of its own")
  func serverIsRight() async throws {
    let bridge = SyncOptions.ntiBridge
    #expect(bridge.merging.default.name == "remoteNewerWins")
    #expect(bridge.rejectionPolicy == .discardAndRefetch)
    let standard = SyncOptions()
    #expect(standard.merging.default.name == "fieldByField")
    #expect(standard.rejectionPolicy == .keepPending)
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1", "T2"], rules: .withoutNotes)
    try pair.a.retitle("mine")
    pair.world.time.advance(by: 1000)
    try await pair.otherDeviceSets("theirs")
    try pair.a.edit("T2") { $0.note = "refused" }
    let report = await pair.a.store.sync()
    #expect(try pair.a.title() == "theirs")
    #expect(try pair.a.note("T2")?.note == nil)
    #expect(try report.overwritten.map { try $0.fields?.members()["title"] } == ["mine", "start"])
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.isEven())
  }

  // MARK: storage operations

  /// Promises: N-3
  @Test("A write reads nothing, and only a read by policy uses the network")
  func operations() async throws {
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1"])
    try await pair.a.store.save(Note(id: "T2", "new"))
    #expect(pair.a.remote.requests.isEmpty && pair.a.remote.reads == 0)
    #expect(try await pair.a.titles(.local) == ["start", "new"])
    #expect(pair.a.remote.requests.isEmpty)
    #expect(try await pair.a.titles() == ["start", "new"])
    #expect(pair.a.remote.requests.count == 1)
    #expect(try await pair.serverTitle("T2") == "new")
  }

  /// Promises: N-9, C-24
  @Test("A pushed change applies at once unless it is old or changes are pending")
  func socket() async throws {
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1", "T2", "T3"])
    let old = try #require(try await pair.world.serverRecords()[.note("T1")])
    for id in ["T1", "T2"] { try await pair.otherDeviceSets("news", id) }
    try pair.b.remove("T3")
    await pair.b.store.sync()
    try pair.a.retitle("T2", "mine")
    let records = try await pair.world.serverRecords()
    let tombstone = try await pair.world.service.record(
      space: "test", user: Caller("tester"), .note("T3"))
    let changes = [records[.note("T1")], records[.note("T2")], tombstone].compactMap { $0 }
    #expect(changes.count == 3)
    var outcomes: [LiveChangeOutcome] = []
    for change in changes { outcomes.append(try await pair.a.store.apply(PushedChange(change))) }
    #expect(outcomes == [.applied, .noted, .applied])
    #expect(try pair.a.title("T1") == "news")
    #expect(try pair.a.title("T2") == "mine" && pair.a.isPending("T2"))
    #expect(try pair.a.store.outboxEntries().first?.remoteVersion?.version == records[.note("T2")]?.version)
    #expect(try pair.a.note("T3") == nil)
    for change in changes + [old] {
      #expect(try await pair.a.store.apply(PushedChange(change)) == .outdated)
    }
    #expect(try pair.a.title("T1") == "news")
    try pair.a.insert("T4", "own")
    await pair.a.store.sync()
    let echo = try #require(try await pair.world.serverRecords()[.note("T4")])
    #expect(try await pair.a.store.apply(PushedChange(echo)) == .outdated)
    #expect(try await pair.isEven())
  }

  /// Promises: N-9
  @Test("A pushed change outside all subscriptions is ignored or stored, as configured")
  func socketElsewhere() async throws {
    let pair = try await Pair.preset(.ntiBridge) { $0.scopes = [SyncScope(container: "followed")] }
    let change = ServerRecord(
      id: .note("X"), container: "elsewhere", version: "7", modified: 0,
      fields: FieldsDocument(["title": "x", "score": 0]))
    #expect(try await pair.a.store.apply(PushedChange(change)) == .ignored)
    let storing = try await Pair.preset(.ntiBridge) {
      $0.scopes = [SyncScope(container: "followed")]
      $0.storesUnfollowedChanges = true
    }
    #expect(try await storing.a.store.apply(PushedChange(change)) == .applied)
    #expect(try storing.a.title("X") == "x")
  }

  /// Promises: N-10
  @Test("A server without notifications is polled if an interval is configured")
  func polling() async throws {
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1"]) {
      $0.triggers = []
      $0.pollInterval = .seconds(30)
    }
    #expect(SyncOptions.ntiBridge.pollInterval == nil)
    let clock = VirtualClock()
    let loop = Task { [store = pair.a.store] in await store.run(clock: clock) }
    try await pair.otherDeviceSets("news")
    await clock.waitForSleepers()
    #expect(clock.sleepers == [.seconds(30)])
    clock.advance(by: .seconds(30))
    try await until { try pair.a.title() == "news" }
    loop.cancel()
    await loop.value
  }

  // MARK: local storage

  /// Promises: N-13, N-14
  @Test("The local storage distinguishes deleted from unknown records; deleting unknown ones fails")
  func deletedOrUnknown() async throws {
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1"])
    pair.a.remote.isOffline = true
    try await pair.a.store.delete(.note())
    #expect(try pair.a.store.state(of: .note()) == .pending(.delete))
    #expect(try pair.a.store.state(of: .note("nobody")) == .synced)
    #expect(try await pair.a.titles().isEmpty)
    let error = await #expect(throws: BothyError.self) { try await pair.a.store.delete(.note("nobody")) }
    #expect(error?.code == .notFound)
    try await pair.a.store.delete(.note())
    try pair.a.insert("T2", "never sent")
    try await pair.a.store.delete(.note("T2"))
    #expect(try pair.a.store.outboxEntries().map(\.id) == [.note()])
    pair.a.remote.isOffline = false
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords().isEmpty)
  }

  /// Promises: N-14
  @Test(
    "Deleting a record that only the server has works online and offline"
  )
  func deletingUnseen() async throws {
    for offline in [false, true] {
      let pair = try await Pair.preset(.ntiBridge)
      try pair.b.insert("T1", "theirs")
      await pair.b.store.sync()
      pair.a.remote.isOffline = offline
      if offline {
        try await pair.a.store.delete(.note(), options: RequestOptions(assumesRemote: true))
        #expect(try pair.a.store.state(of: .note()) == .pending(.delete))
        pair.a.remote.isOffline = false
        await pair.a.store.sync()
      } else {
        try await pair.a.store.delete(.note(), options: .saving(.remoteThenLocal))
      }
      #expect(try await pair.world.serverRecords().isEmpty)
      #expect(try await pair.isEven())
      try await pair.a.store.delete(.note("nobody"), options: .saving(.remoteThenLocal))
      #expect(try pair.a.store.outboxEntries().isEmpty)
    }
  }

  // MARK: coordination of reads

  /// Promises: N-27, N-28, S-17
  @Test(
    "A read syncs its container first, and works offline as well")
  func reads() async throws {
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1"])
    try pair.a.insert("T2", "unsent")
    try await pair.otherDeviceSets("news")
    let found = try await pair.a.store.fetchResult(RecordQuery<Note>().order(SortKey("id")))
    #expect(found.records.map(\.title) == ["news", "unsent"])
    #expect(found.origin == .remote)
    #expect(try !pair.a.isPending("T2"))
    pair.a.remote.isOffline = true
    let offline = try await pair.a.store.fetchResult(RecordQuery<Note>())
    #expect(offline.records.count == 2 && offline.origin == .local && offline.isComplete)
    let fresh = try pair.world.addDevice("fresh", schema: .notes, configuration: .ntiBridge)
    fresh.remote.isOffline = true
    let never = try await fresh.store.fetchResult(RecordQuery<Note>())
    #expect(never.records.isEmpty && never.origin == .local && !never.isComplete && never.age == nil)
  }

  /// Promises: N-28
  @Test("A read whose sync takes too long returns local records, and the sync continues")
  func slowRead() async throws {
    let clock = VirtualClock()
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1"]) {
      $0.readTimeout = .seconds(3)
      $0.sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
    }
    try await pair.otherDeviceSets("news")
    let latch = Latch()
    pair.a.remote.setBeforeSending { _ in await latch.pass() }
    let store = pair.a.store
    let read = Task { try await store.fetchResult(RecordQuery<Note>()) }
    await latch.reached()
    await clock.waitForSleepers()
    clock.advance(by: .seconds(3))
    let found = try await read.value
    #expect(found.records.map(\.title) == ["start"] && found.origin == .local)
    latch.open()
    try await until { try pair.a.title() == "news" }
  }

  // MARK: coordination of writes

  /// Promises: N-31, N-34, N-35, C-3, C-21, C-26
  @Test("A write is durable before it is sent, and the server's record replaces it")
  func writes() async throws {
    var type = Note.schema
    type.fields.append(FieldSchema("link", .text, default: "expanded"))
    let pair = try await Pair.preset(.ntiBridge, rules: AccessRules(schema: StoreSchema(types: [type])))
    #expect(SyncOptions.ntiBridge.writePolicy == .localThenRemote)
    pair.a.remote.isOffline = true
    let receipt = try await pair.a.store.save(Note(id: "T1", "mine"))
    #expect(receipt.known == .pending)
    try pair.a.restart()
    #expect(try pair.a.title() == "mine" && pair.a.isPending())
    pair.a.remote.isOffline = false
    #expect(try await pair.a.store.receipt(for: .note()).outcome() == .accepted(version: "1"))
    #expect(try pair.a.record("Note", "T1")?.unknownFields?.contains("expanded") == true)
  }

  /// Promises: N-32, C-23
  @Test("If the local storage fails, a write fails or is sent, as configured")
  func localFailure() async throws {
    for policy in SyncOptions.LocalFailurePolicy.allCases {
      let pair = try await Pair.preset(.ntiBridge, sharing: ["T1", "T2"]) { $0.localFailure = policy }
      let store = pair.a.store
      try store.store.close()
      if policy == .throwError {
        await #expect(throws: BothyError.self) { try await store.save(Note(id: "T3", "lost")) }
        #expect(try await pair.server("T3") == nil)
        continue
      }
      let receipt = try await store.save(Note(id: "T3", "mine"))
      #expect(!receipt.isStoredHere)
      try await store.save(AnyRecord("Note", id: "T1", ["title": "changed"]))
      try await store.delete(.note("T2"))
      try await store.delete(.note("nobody"))
      #expect(try await pair.serverTitle("T3") == "mine")
      #expect(try await pair.serverTitle("T1") == "changed")
      #expect(try await pair.server("T2") == nil)
    }
  }

  /// Promises: N-33, C-2
  @Test(
    "Success, unavailability and rejection are distinct; an unknown result is requested again"
  )
  func outcomes() async throws {
    let pair = try await Pair.preset(.ntiBridge, rules: .withoutNotes)
    let online = RequestOptions.saving(.remoteThenLocal)
    #expect(
      try await pair.a.store.save(Note(id: "T1", "x"), options: online).known == .accepted(version: "1"))
    let refused = await #expect(throws: BothyError.self) {
      try await pair.a.store.save(Note(id: "T2", "x", note: "refused"), options: online)
    }
    #expect(refused?.code == .rejected)
    for status in [401, 429, 500] {
      pair.a.remote.plan(.status(status, retryAfter: nil))
      try pair.a.insert("S\(status)", "kept")
      #expect(await pair.a.store.sync().obstacle != nil)
      #expect(try pair.a.title("S\(status)") == "kept" && pair.a.isPending("S\(status)"))
    }
    pair.a.loseAnswer(carrying: "T4")
    #expect(try await pair.a.store.save(Note(id: "T4", "x"), options: online).known == .pending)
    #expect(try pair.a.store.outboxEntries().contains { $0.id == .note("T4") && $0.operationID != nil })
    pair.a.remote.setScript { .none }
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords().count == 5)
  }

  /// Promises: N-36
  @Test("Offline changes are sent at the app's next start, even after an update")
  func nextStart() async throws {
    var newer = Note.schema
    newer.fields.append(FieldSchema("mood", .text, default: "calm"))
    let pair = try await Pair.preset(.ntiBridge)
    pair.a.remote.isOffline = true
    try await pair.a.store.save(Note(id: "T1", "offline"))
    try pair.a.restart(schema: StoreSchema(version: 2, types: [newer]))
    pair.a.remote.isOffline = false
    let loop = Task { [store = pair.a.store] in await store.run(clock: VirtualClock()) }
    try await until { try !pair.a.isPending() }
    #expect(try await pair.server("T1")?["mood"] == "calm")
    loop.cancel()
    await loop.value
  }
}
