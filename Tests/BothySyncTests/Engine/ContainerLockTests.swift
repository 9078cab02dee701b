import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Counts of writes in containers, and syncs that wait for them.
@Suite("Container locks", .timeLimit(.minutes(15)))
struct ContainerLockTests {
  private struct Broken: Error {}

  private func pair(_ clock: VirtualClock = VirtualClock()) async throws -> Pair {
    try await Pair.sharing { $0.clock = clock }
  }

  /// Promises: N-24, N-55, N-56, H-46
  @Test("A sync requested during a write waits until it ends, and ends once")
  func waits() async throws {
    let pair = try await pair()
    let store = pair.a.store
    let latch = Latch()
    try pair.a.retitle("b")
    let writing = Task { await store.withWriteLock("Note") { await latch.pass() } }
    await latch.reached()
    let syncs = [Task { await store.sync() }, Task { await store.sync() }]
    try await until { store.joinedCount == 1 }
    #expect(pair.a.remote.requests.isEmpty)
    latch.open()
    await writing.value
    for sync in syncs { #expect(await sync.value.pushed == 1) }
    #expect(pair.a.remote.requests.count == 1)
    #expect(try await pair.serverTitle() == "b")
  }

  /// Promises: N-24, N-56
  @Test("A write below a container delays its sync, and one beside it doesn't")
  func scopes() async throws {
    let clock = VirtualClock()
    let pair = try await pair(clock)
    let store = pair.a.store
    let latch = Latch()
    let writing = Task { await store.withWriteLock("trips/oslo") { await latch.pass() } }
    await latch.reached()
    #expect(await store.sync(.pull, container: "tripsy").obstacle == nil)
    #expect(await store.sync(.pull, container: "trips/rome").obstacle == nil)
    let above = Task { await store.sync(.pull, container: "trips") }
    // It waits for the writer, for a limited time.
    await clock.waitForSleepers()
    #expect(clock.sleepers == [.seconds(5)])
    #expect(pair.a.remote.requests.count == 2)
    latch.open()
    await writing.value
    #expect(await above.value.obstacle == nil)
    #expect(pair.a.remote.requests.count == 3)
  }

  /// Promises: N-24, N-56, H-46
  @Test(
    "A hundred continuous writers delay a sync for five seconds, and wait for none"
  )
  func starvation() async throws {
    let clock = VirtualClock()
    let pair = try await pair(clock)
    let store = pair.a.store
    let isDone = Latch()
    let turns = Calls()
    let writers = (0..<100).map { number in
      Task {
        var isLast = false
        while !isLast {
          // The next write begins before this one ends, so the count is never zero.
          await store.withWriteLock("Note") {
            turns.add()
            await Task.yield()
          }
          isLast = isDone.isOpen
        }
      }
    }
    let holder = Latch()
    let held = Task { await store.withWriteLock("Note") { await holder.pass() } }
    await holder.reached()
    let sync = Task { await store.sync() }
    await clock.waitForSleepers()
    #expect(clock.sleepers == [.seconds(5)])
    clock.advance(by: .milliseconds(4999))
    let before = turns.count
    try await until { turns.count > before + 100 }
    #expect(pair.a.remote.requests.isEmpty)
    clock.advance(by: .milliseconds(1))
    #expect(await sync.value.obstacle == nil)
    #expect(pair.a.remote.requests.count == 1)
    isDone.open()
    holder.open()
    await held.value
    for writer in writers { await writer.value }
  }

  /// Promises: N-55, H-47
  @Test("Writes that throw, are cancelled or precede a relaunch count no longer")
  func leaks() async throws {
    let pair = try await pair()
    await #expect(throws: Broken.self) { try await pair.a.store.withWriteLock("Note") { throw Broken() } }
    #expect(await pair.a.store.sync().obstacle == nil)
    let store = pair.a.store
    let latch = Latch()
    let cancelled = Task {
      try await store.withWriteLock("Note") {
        await latch.pass()
        try Task.checkCancellation()
      }
    }
    await latch.reached()
    cancelled.cancel()
    latch.open()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(await store.sync().obstacle == nil)
    let still = Latch()
    let forgotten = Task { await store.withWriteLock("Note") { await still.pass() } }
    await still.reached()
    try pair.a.restart()
    #expect(await pair.a.store.sync().obstacle == nil)
    still.open()
    await forgotten.value
  }

  /// Promises: N-55, C-14
  @Test("A write during its container's sync continues, and the next sync sends it")
  func writersNeverWait() async throws {
    let pair = try await pair()
    let store = pair.a.store
    let latch = Latch()
    pair.a.remote.setBeforeSending { _ in await latch.pass() }
    let sync = Task { await store.sync() }
    await latch.reached()
    try await store.save(Note(id: "T2", "two"), options: RequestOptions(writePolicy: .local))
    #expect(try await store.withWriteLock("Note") { try pair.a.title("T2") } == "two")
    latch.open()
    #expect(await sync.value.obstacle == nil)
    await store.sync()
    #expect(try await pair.serverTitle("T2") == "two")
  }

  /// Promises: N-24
  @Test(
    "Syncs of a container wait in order of arrival, and a cancelled one leaves"
  )
  func syncLock() async throws {
    let locks = ContainerLocks()
    let clock = VirtualClock()
    let latch = Latch()
    let order = Calls()
    let trips = [SyncScope(container: "trips", includesChildren: true)]
    let oslo = [SyncScope(container: "trips/oslo")]
    @Sendable func enter(_ scopes: [SyncScope], _ body: @escaping @Sendable () async -> Int) -> Task<
      Int, any Error
    > {
      Task {
        let limits = ContainerLocks.Limits(writes: .seconds(5), locks: .seconds(60), clock: clock)
        return try await locks.withSync(scopes, limits: limits, body)
      }
    }
    let first = enter(trips) {
      await latch.pass()
      return order.add()
    }
    await latch.reached()
    var others: [Task<Int, any Error>] = []
    for scopes in [oslo, trips, oslo] {
      others.append(enter(scopes) { order.add() })
      try await until { locks.waiting == others.count }
    }
    #expect(try await enter([SyncScope(container: "other")]) { 0 }.value == 0)
    // A wait for another sync has no time limit of its own.
    clock.advance(by: .seconds(10))
    #expect(locks.waiting == 3)
    others[1].cancel()
    await #expect(throws: CancellationError.self) { try await others[1].value }
    latch.open()
    #expect(try await first.value == 1)
    #expect(try await Set([others[0].value, others[2].value]) == [2, 3])
    #expect(locks.waiting == 0)
  }
}
