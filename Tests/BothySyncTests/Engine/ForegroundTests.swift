import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// The work that starts when an app enters the foreground, on a clock that the test moves.
@Suite("The app's return", .timeLimit(.minutes(15)))
struct ForegroundTests {
  private struct Running {
    let pair: Pair
    let clock: VirtualClock
    let task: Task<Void, Never>

    var a: SimulatedDevice { pair.a }

    func leaveAndReturn() {
      a.store.options.isForeground = false
      a.store.options.isForeground = true
    }

    func stop() async {
      task.cancel()
      await task.value
    }
  }

  private func start(_ triggers: SyncOptions.Triggers) async throws -> Running {
    let pair = try await Pair.sharing {
      $0.triggers = triggers
      $0.backoff = Backoff(first: .seconds(1), limit: .seconds(300), random: { 1 })
    }
    try pair.b.retitle("news")
    await pair.b.store.sync()
    return try await run(pair)
  }

  private func run(_ pair: Pair) async throws -> Running {
    let (store, clock) = (pair.a.store, VirtualClock())
    let task = Task { await store.run(clock: clock) }
    try await until { store.status.phase != .stopped }
    return Running(pair: pair, clock: clock, task: task)
  }

  /// Gives all tasks with work the time to do it.
  private func settle() async { for _ in 0..<1000 { await Task.yield() } }

  /// Promises: N-38
  @Test("An app that returns sends pending work and pulls changes in one sync")
  func both() async throws {
    let running = try await start(.foreground)
    try running.a.insert("T2", "mine")
    running.a.store.options.isForeground = false
    await settle()
    #expect(running.a.remote.requests.isEmpty)
    running.a.store.options.isForeground = true
    try await until { try running.a.title() == "news" && !running.a.isPending("T2") }
    try await until { running.a.store.status.phase == .idle }
    #expect(running.a.remote.requests.count == 1)
    #expect(running.clock.sleepers.isEmpty)
    await running.stop()
  }

  @Test("An app that is already in the foreground starts nothing by setting it again")
  func already() async throws {
    let running = try await start(.foreground)
    for _ in 0..<3 { running.a.store.options.isForeground = true }
    await settle()
    #expect(running.a.remote.requests.isEmpty)
    running.leaveAndReturn()
    try await until { try running.a.title() == "news" }
    try await until { running.a.store.status.phase == .idle }
    let requests = running.a.remote.requests.count
    running.a.store.options.isForeground = true
    await settle()
    #expect(running.a.remote.requests.count == requests)
    await running.stop()
  }

  /// Promises: N-12
  @Test("A return doesn't shorten a wait after a failure")
  func waiting() async throws {
    let running = try await start([.save, .foreground])
    running.a.remote.isOffline = true
    try await running.a.store.save(Note(id: "T2", "mine"))
    try await until { running.a.store.status.phase == .waiting(attempt: 1) }
    running.a.remote.isOffline = false
    let tries = running.a.remote.requests.count
    for _ in 0..<3 { running.leaveAndReturn() }
    running.clock.advance(by: .milliseconds(999))
    await settle()
    #expect(running.a.remote.requests.count == tries)
    #expect(running.a.store.status.phase == .waiting(attempt: 1))
    running.clock.advance(by: .milliseconds(1))
    try await until { try running.a.store.outboxEntries().isEmpty }
    await running.stop()
  }

  /// Promises: N-38
  @Test("Without the trigger, or while syncing is paused, a return starts nothing")
  func notAsked() async throws {
    #expect(SyncOptions.Triggers.default.contains(.foreground))
    let without = try await start([.save, .start, .timer, .reachability])
    without.leaveAndReturn()
    await settle()
    #expect(without.a.remote.requests.isEmpty)
    await without.stop()
    let paused = try await start(.foreground)
    try paused.a.store.pause()
    try await until { paused.a.store.status.phase == .paused }
    paused.leaveAndReturn()
    await settle()
    #expect(paused.a.remote.requests.isEmpty)
    await paused.stop()
  }

  @Test("A return before run() starts nothing later")
  func notRunning() async throws {
    let pair = try await Pair.sharing { $0.triggers = .foreground }
    pair.a.store.options.isForeground = false
    pair.a.store.options.isForeground = true
    let running = try await run(pair)
    await settle()
    #expect(pair.a.remote.requests.isEmpty)
    await running.stop()
  }
}
