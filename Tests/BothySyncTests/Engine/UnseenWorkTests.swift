import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Work that `run()` has to find although nothing of it happens while it looks.
@Suite("Work that no event reports", .timeLimit(.minutes(5)))
struct UnseenWorkTests {
  @Test("A run begins with a sync if one of several subscriptions was never pulled")
  func subscriptionNeverPulled() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1)) { $0.scopes = [.container("left")] }
    let b = try world.device("b", memo(1))
    for side in ["left", "right"] { try b.put("Memo", side, ["title": .text(side)], in: side) }
    await b.store.sync()
    await a.store.sync()
    #expect(try a.ids(AnyQuery("Memo")) == ["left"])
    var configuration = SyncOptions.quiet
    configuration.scopes = [.container("left"), .container("right")]
    configuration.triggers = .start
    try a.restart(configuration: configuration)
    let store = a.store
    let running = Task { await store.run(clock: VirtualClock()) }
    try await until { try a.ids(AnyQuery("Memo")).count == 2 }
    running.cancel()
    await running.value
  }

  /// Writes until `run()` has seen a commit, and returns how many notes that were.
  private func write(to store: SyncedStore, until clock: VirtualClock) async throws -> Int {
    var written = 0
    // Writes are observed only once the watch on them has begun.
    while clock.sleepers.isEmpty {
      written += 1
      let note = Note(id: "N\(written)", "beside")
      try await store.store.write { try $0.insert(note) }
      await Task.yield()
    }
    return written
  }

  @Test("A change that is written during a sync's last request is sent after it")
  func writtenDuringLastRequest() async throws {
    let world = try SimulatedWorld()
    let (gate, isHeld) = (Latch(), Locked(false))
    let remote = RewritingRemote(InProcessRemote(world.service)) { request, server throws(RemoteError) in
      let response = try await server.exchange(request)
      if isHeld.value { await gate.pass() }
      return response
    }
    var configuration = SyncOptions.quiet
    configuration.triggers = .commit
    let store = try SyncedStore(
      at: nil, schema: .notes, remote: remote, configuration: configuration,
      clock: SyncClock(now: world.time.reader()))
    await store.sync()
    let (statements, clock) = (StatementCount(), VirtualClock())
    try statements.count(in: store.store)
    let running = Task { await store.run(clock: clock) }
    try await until { store.status.phase != .stopped }
    isHeld.value = true
    let syncing = Task { await store.sync() }
    await gate.reached()
    let written = try await write(to: store, until: clock)
    statements.forget()
    clock.advance(by: .seconds(1))
    // The look at the outbox begins, and ends before the request does.
    try await until { statements.total > 0 }
    for _ in 0..<1000 { await Task.yield() }
    isHeld.value = false
    gate.open()
    #expect(await syncing.value.pushed == 0)
    try await until {
      clock.advance(by: .seconds(1))
      return try store.outboxEntries().isEmpty
    }
    #expect(try await world.serverRecords().count == written)
    running.cancel()
    await running.value
  }
}
