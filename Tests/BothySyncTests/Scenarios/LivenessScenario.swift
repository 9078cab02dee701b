import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Pending work is done without a further trigger, and no sooner than allowed.
@Suite("Liveness", .faultsStrike, .timeLimit(.minutes(15)))
struct LivenessScenario {
  private func running(
    _ pair: Pair, _ clock: VirtualClock, _ body: (SimulatedDevice) async throws -> Void
  ) async throws {
    let store = pair.a.store
    let task = Task { await store.run(clock: clock) }
    try await until { store.status.phase != .stopped }
    do { try await body(pair.a) } catch {
      task.cancel()
      throw error
    }
    task.cancel()
    await task.value
  }

  private func pair(_ triggers: SyncOptions.Triggers = [.start, .save]) async throws -> Pair {
    try await Pair.sharing {
      $0.triggers = triggers
      $0.backoff = Backoff(first: .seconds(1), limit: .seconds(60), random: { 1 })
    }
  }

  /// Promises: Scenario-23
  @Test("An offline backlog is sent once the network is back, without another write")
  func backlog() async throws {
    let pair = try await pair()
    pair.a.remote.isOffline = true
    for number in 0..<20 { try pair.a.insert("N\(number)", "offline") }
    let clock = VirtualClock()
    try await running(pair, clock) { a in
      // The first attempt was at the start. Others follow after 1 s, 2 s and 4 s.
      for (tries, seconds) in [1, 2, 4].enumerated() {
        await clock.waitForSleepers()
        #expect(clock.sleepers.first == .seconds(seconds))
        clock.advance(by: .seconds(seconds))
        try await until { a.remote.requests.count == tries + 2 }
      }
      a.remote.isOffline = false
      await clock.waitForSleepers()
      clock.advance(by: .seconds(8))
      try await until { try a.store.pendingCounts().total == 0 }
      #expect(try await pair.world.snapshot().server.count == 21)
    }
    #expect(try await pair.isEven())
  }

  /// Promises: Scenario-23, H-42
  @Test("No request is sent before the server's Retry-After time, whatever is written meanwhile")
  func retryAfter() async throws {
    let pair = try await pair()
    let calls = Calls()
    pair.a.remote.plan { calls.add() == 1 ? .status(503, retryAfter: 30) : .none }
    try pair.a.retitle("b")
    let clock = VirtualClock()
    try await running(pair, clock) { a in
      await clock.waitForSleepers()
      #expect(clock.sleepers == [.seconds(30)])
      try await a.store.save(Note(id: "N1", "eager"))
      for _ in 0..<1000 { await Task.yield() }
      clock.advance(by: .seconds(29))
      for _ in 0..<1000 { await Task.yield() }
      #expect(a.remote.requests.count == 1)
      clock.advance(by: .seconds(1))
      try await until { try a.store.pendingCounts().total == 0 }
    }
    #expect(try await pair.isEven())
  }

  /// Promises: Scenario-23
  @Test("A thousand devices that lose their server reconnect at different times")
  func jitter() {
    let backoff = Backoff(first: .seconds(1), limit: .seconds(60))
    for attempt in [1, 4, 7, 20] {
      let bound = min(.seconds(60), Duration.seconds(1 << (attempt - 1)))
      var hundredths = [Int](repeating: 0, count: 100)
      for _ in 0..<1000 {
        let delay = backoff.delay(attempt: attempt)
        #expect(delay > .zero && delay <= bound)
        hundredths[max(0, min(99, Int((delay / bound - 0.1) / 0.9 * 100)))] += 1
      }
      let quarters = (0..<4).map { hundredths[$0 * 25..<$0 * 25 + 25].reduce(0, +) }
      // A quarter of the time after a tenth of the bound has about a quarter of the devices, a hundredth about ten.
      // Fewer than 150, or more than 40, is a deviation by 7 sigma.
      #expect(quarters.allSatisfy { $0 > 150 }, "attempt \(attempt): \(quarters)")
      #expect(hundredths.allSatisfy { $0 <= 40 }, "attempt \(attempt): \(hundredths)")
    }
  }

  /// Promises: Scenario-23
  @Test(
    "After a thousand broken streams one listener remains and no notification is missed")
  func reconnects() async throws {
    let pair = try await pair([.notifications])
    let clock = VirtualClock()
    try await running(pair, clock) { a in
      for round in 0..<1000 {
        try await until { a.remote.listeners == 1 }
        a.remote.dropNotifications()
        await clock.waitForSleepers()
        if round.isMultiple(of: 250) {
          // Written while no stream is open. The next stream begins with a notification.
          try pair.b.retitle("round \(round)")
          await pair.b.store.sync()
        }
        clock.advance(by: .seconds(60))
        if round.isMultiple(of: 250) { try await until { try a.title() == "round \(round)" } }
      }
      try await until { a.remote.listeners == 1 }
      #expect(clock.sleepers.count <= 1)
    }
    try await until { pair.a.remote.listeners == 0 }
  }
}
