import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// The timer for pending work and the polls, on a clock that the test moves.
@Suite("The timer", .timeLimit(.minutes(5)))
struct TimerTests {
  private struct Running {
    let pair: Pair
    let clock = VirtualClock()
    let task: Task<Void, Never>

    init(_ pair: Pair) async throws {
      self.pair = pair
      let (store, clock) = (pair.a.store, clock)
      task = Task { await store.run(clock: clock) }
      await clock.waitForSleepers()
    }

    /// Moves time, and returns when the timer has checked for work and sleeps again.
    func advance(by duration: Duration) async {
      clock.advance(by: duration)
      await clock.waitForSleepers()
    }

    func stop() async {
      task.cancel()
      await task.value
    }
  }

  private let oslo = SyncScope(container: "trips/oslo")
  private let rome = SyncScope(container: "trips/rome")

  private func running() async throws -> Running {
    let pair = try Pair()
    var configuration = SyncOptions.following([oslo, rome])
    configuration.triggers = [.timer]
    try pair.a.restart(configuration: configuration)
    await pair.a.store.sync()
    pair.a.remote.forgetRequests()
    return try await Running(pair)
  }

  /// Promises: N-38, N-39
  @Test("The timer pulls containers with pending changes, and otherwise makes no request")
  func pendingOnly() async throws {
    let running = try await running()
    let a = running.pair.a
    #expect(running.clock.sleepers == [.seconds(600)])
    await running.advance(by: .seconds(600))
    #expect(a.remote.requests.isEmpty)
    try a.change { try $0.insert(Note(id: "R1", "n"), in: "trips/rome") }
    await running.advance(by: .seconds(600))
    try await until { try a.store.outboxEntries().isEmpty }
    #expect(a.remote.requests.flatMap(\.pulls).map(\.scope) == [rome])
    await running.stop()
  }

  @Test("What the timer brings of another's transaction is shown as a whole")
  func whole() async throws {
    let running = try await running()
    let (a, b) = (running.pair.a, running.pair.b)
    try b.change { transaction in
      for (id, place) in [("O1", oslo), ("R1", rome)] {
        try transaction.insert(Note(id: id, "theirs"), in: place.container)
      }
    }
    await b.store.sync()
    try a.change { try $0.insert(Note(id: "R2", "mine"), in: "trips/rome") }
    await running.advance(by: .seconds(600))
    try await until { try a.noteIDs().contains("R1") }
    #expect(try a.noteIDs() == ["O1", "R1", "R2"])
    #expect(a.remote.requests.map(\.pulls.count) == [1, 2])
    await running.stop()
  }

  /// Promises: N-39
  @Test(
    "The timer rests in the background, and does overdue work in the foreground"
  )
  func foreground() async throws {
    let running = try await running()
    let a = running.pair.a
    a.store.options.isForeground = false
    try a.change { try $0.insert(Note(id: "R1", "n"), in: "trips/rome") }
    running.clock.advance(by: .seconds(1500))
    for _ in 0..<100 { await Task.yield() }
    #expect(a.remote.requests.isEmpty && running.clock.sleepers.isEmpty)
    a.store.options.isForeground = true
    try await until { try a.store.outboxEntries().isEmpty }
    await running.clock.waitForSleepers()
    #expect(running.clock.sleepers == [.seconds(600)])
    #expect(a.remote.requests.count == 1)
    // The timer isn't overdue, so a return starts nothing.
    a.store.options.isForeground = false
    running.clock.advance(by: .seconds(10))
    a.store.options.isForeground = true
    #expect(running.clock.sleepers == [.seconds(590)])
    await running.stop()
  }

  /// Promises: N-39
  @Test("The timer starts no second sync while one is running")
  func coalesces() async throws {
    let running = try await running()
    let a = running.pair.a
    try a.change { try $0.insert(Note(id: "R1", "n"), in: "trips/rome") }
    let latch = Latch()
    a.remote.setBeforeSending { _ in await latch.pass() }
    let store = a.store
    let scope = [rome]
    _ = scope
    let sync = Task { await store.sync() }
    await latch.reached()
    await running.advance(by: .seconds(600))
    latch.open()
    _ = await sync.value
    try await until { store.status.phase == .idle }
    #expect(a.remote.requests.flatMap(\.operations).count == 1)
    await running.stop()
  }

  /// Promises: N-10
  @Test("A remote without notifications is polled at the configured interval")
  func polling() async throws {
    let pair = try await Pair.sharing()
    try pair.a.store.store.close()
    var configuration = SyncOptions.quiet
    configuration.triggers = [.notifications]
    let clock = VirtualClock()
    for interval in [Duration?.none, .seconds(30)] {
      configuration.pollInterval = interval
      let store = try SyncedStore(
        at: pair.a.path, schema: .notes, remote: InProcessRemote(pair.world.service),
        configuration: configuration)
      let task = Task { await store.run(clock: clock) }
      try await until { store.status.phase == .idle }
      if interval == nil {
        #expect(clock.sleepers.isEmpty)
      } else {
        try pair.b.retitle("news")
        await pair.b.store.sync()
        await clock.waitForSleepers()
        #expect(clock.sleepers == [.seconds(30)])
        clock.advance(by: .seconds(30))
        try await until { try store.store.fetch(Note.self, id: "T1")?.title == "news" }
      }
      task.cancel()
      await task.value
      try store.store.close()
    }
  }

  @Test("The timer sends pending changes of a device that follows nothing")
  func followsNothing() async throws {
    let running = try await running()
    let a = running.pair.a
    try await a.store.subscriptions.set([])
    a.remote.forgetRequests()
    try a.change { try $0.insert(Note(id: "R1", "n"), in: "trips/rome") }
    await running.advance(by: .seconds(600))
    try await until { try a.store.outboxEntries().isEmpty }
    #expect(try await running.pair.serverTitle("R1") == "n")
    await running.stop()
  }
}
