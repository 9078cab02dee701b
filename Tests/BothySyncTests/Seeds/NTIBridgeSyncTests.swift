import BothyLegacy
import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// The sections of the storage bridge's document on syncing and merging.
@Suite("The storage bridge: syncing and merging", .timeLimit(.minutes(5)))
struct NTIBridgeSyncTests {
  /// Promises: N-38, C-12
  @Test("All triggers are on by default, and all of them can be off")
  func triggers() async throws {
    #expect(SyncOptions.ntiBridge.triggers == .default)
    #expect(
      SyncOptions.ntiBridge.triggers.isSuperset(of: [.save, .start, .timer, .reachability, .notifications]))
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1"]) { $0.triggers = [] }
    let monitor = ScriptedReachability()
    let clock = VirtualClock()
    try pair.a.insert("T2", "unsent")
    let store = pair.a.store
    let loop = Task { await store.run(reachability: monitor, clock: clock) }
    try await until { store.status.phase != .stopped }
    try await store.save(Note(id: "T3", "unsent"))
    monitor.send(.reachable)
    try await until { store.status.network == .reachable }
    clock.advance(by: .seconds(1200))
    pair.a.remote.notify()
    for _ in 0..<1000 { await Task.yield() }
    #expect(pair.a.remote.requests.isEmpty)
    #expect(await store.sync().pushed == 2)
    loop.cancel()
    await loop.value
  }

  /// Promises: N-40, N-54, C-13
  @Test("Callers from any task join a sync of their container and share its report")
  func joined() async throws {
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1"])
    try await pair.otherDeviceSets("news")
    pair.a.remote.forgetRequests()
    let latch = Latch()
    let sent = Calls()
    pair.a.remote.setBeforeSending { _ in
      if sent.add() == 1 { await latch.pass() }
    }
    let store = pair.a.store
    let first = Task.detached { await store.sync(container: "Note") }
    await latch.reached()
    let others = (0..<3).map { _ in Task.detached { await store.sync(container: "Note") } }
    try await until { store.joinedCount == 3 }
    latch.open()
    let report = await first.value
    #expect(report.pulled > 0)
    for other in others { #expect(await other.value == report) }
    // The container, and then all that the device subscribes to, as the news may be a part of a transaction.
    #expect(pair.a.remote.requests.map { $0.pulls.map(\.scope.container) } == [["Note"], ["Note", ""]])
    #expect(sent.count == 2)
  }

  /// Promises: N-41, C-11
  @Test("Without a server a sync ends at once and reports it")
  func unavailable() async throws {
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1"])
    pair.a.remote.isOffline = true
    let journal = Journal()
    let report = await pair.a.store.sync(
      telling: SyncCallbacks(completion: { journal.note("completed \($0.count)") }))
    #expect(report.stop?.name == "unreachable" && report.requests == 0)
    #expect(journal.lines == ["completed 0"])
  }

  /// Promises: N-53, N-59, C-25, C-26
  @Test(
    "A push completes once with the result of each record, and reports are observable"
  )
  func completion() async throws {
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1"], rules: .withoutNotes)
    try pair.a.insert("T2", "new")
    try pair.a.insert("T3", "new", note: "refused")
    try pair.a.remove("T1")
    let followed = pair.a.store.maintenance.reports
    let journal = Journal()
    let report = await pair.a.store.sync(
      telling: SyncCallbacks(
        failedInserts: { journal.note("failed \($0.map(\.record.id))") },
        completion: { journal.note("completed \($0.map(\.objectID.id))") }))
    #expect(journal.lines == ["failed [\"T3\"]", "completed [\"T2\", \"T1\"]"])
    for await reported in followed {
      #expect(reported == report)
      break
    }
  }

  // MARK: merging remote objects into local storage

  /// Promises: N-50, C-7, C-18
  @Test(
    "A newer server record replaces an unsent edit; an older one is replaced")
  func newer() async throws {
    for theirsIsLater in [true, false] {
      let pair = try await Pair.preset(.ntiBridge, sharing: ["T1"])
      if theirsIsLater { try pair.a.retitle("mine") } else { try pair.b.retitle("theirs") }
      pair.world.time.advance(by: 1000)
      if theirsIsLater { try pair.b.retitle("theirs") } else { try pair.a.retitle("mine") }
      await pair.b.store.sync()
      let report = await pair.a.store.sync()
      #expect(try pair.a.title() == (theirsIsLater ? "theirs" : "mine"))
      #expect(report.overwritten.isEmpty != theirsIsLater)
      #expect(try await pair.isEven())
    }
  }

  /// Promises: C-16, C-17
  @Test("Local deletions yield to newer remote edits, and local edits to remote deletions")
  func deletions() async throws {
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1", "T2"])
    try pair.a.remove("T1")
    try pair.a.retitle("T2", "mine")
    pair.world.time.advance(by: 1000)
    try await pair.otherDeviceSets("theirs", "T1")
    try pair.b.remove("T2")
    await pair.b.store.sync()
    let report = await pair.a.store.sync()
    #expect(try pair.a.title("T1") == "theirs")
    #expect(try pair.a.note("T2") == nil)
    #expect(try report.overwritten.compactMap { try $0.fields?.members()["title"] } == ["mine"])
    #expect(try await pair.isEven())
  }

  /// Promises: N-51, N-52
  @Test("The server's record replaces a clean one with the same or a later time")
  func equalOrOlder() async throws {
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1"])
    try await pair.otherDeviceSets("same millisecond")
    await pair.a.store.sync()
    #expect(try pair.a.title() == "same millisecond")
    pair.world.time.advance(by: -86_400_000)
    try await pair.otherDeviceSets("a day before")
    await pair.a.store.sync()
    #expect(try pair.a.title() == "a day before")
    #expect(try await pair.isEven())
  }

  /// Promises: C-14, N-55
  @Test("Writers on other tasks never wait for a sync and lose nothing")
  func writers() async throws {
    let pair = try await Pair.preset(.ntiBridge, sharing: ["T1"])
    let latch = Latch()
    let sent = Calls()
    pair.a.remote.setBeforeSending { _ in
      if sent.add() == 1 { await latch.pass() }
    }
    let store = pair.a.store
    let sync = Task { await store.sync() }
    await latch.reached()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 { group.addTask { try await store.save(Note(id: "W\(number)", "x")) } }
      try await group.waitForAll()
    }
    #expect(try pair.a.noteIDs().count == 21)
    latch.open()
    _ = await sync.value
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords().count == 21)
  }
}
