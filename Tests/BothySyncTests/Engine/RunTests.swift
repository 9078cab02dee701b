import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// The life of `run()` on a clock that the test moves.
@Suite("Syncing by itself", .faultsStrike, .timeLimit(.minutes(5)))
struct RunTests {
  private struct Running {
    let pair: Pair
    let clock: VirtualClock
    let monitor: ScriptedReachability
    let task: Task<Void, Never>

    func stop() async {
      task.cancel()
      await task.value
    }
  }

  private func start(_ triggers: SyncOptions.Triggers, prepare: (Pair) throws -> Void = { _ in }) async throws
    -> Running
  {
    let pair = try await Pair.sharing {
      $0.triggers = triggers
      $0.backoff = Backoff(first: .seconds(1), limit: .seconds(300), random: { 1 })
    }
    try prepare(pair)
    let clock = VirtualClock()
    let monitor = ScriptedReachability()
    let store = pair.a.store
    let task = Task { await store.run(reachability: monitor, clock: clock) }
    try await until { store.status.phase != .stopped }
    return Running(pair: pair, clock: clock, monitor: monitor, task: task)
  }

  /// Edits T1 until `run()` waits to look at a write. Writes are observed only once the watch on them has begun.
  private func editUntilSeen(_ running: Running) async throws {
    while running.clock.sleepers.isEmpty {
      try running.pair.a.edit { $0.title += "!" }
      await Task.yield()
    }
  }

  /// Promises: N-36
  @Test("A run starts with a sync if work is pending, and otherwise without one")
  func atStart() async throws {
    let busy = try await start([.start]) { try $0.a.retitle("b") }
    try await until { try !busy.pair.a.isPending() }
    await busy.stop()
    #expect(busy.pair.a.store.status.phase == .stopped)
    let quiet = try await start([.start])
    await quiet.stop()
    #expect(quiet.pair.a.remote.requests.isEmpty)
  }

  /// Promises: N-38
  @Test("A save is sent at once")
  func save() async throws {
    let running = try await start([.save])
    try await running.pair.a.store.save(Note(id: "T2", "two"))
    try await until { try !running.pair.a.isPending("T2") }
    await running.stop()
    #expect(try await running.pair.serverTitle("T2") == "two")
  }

  @Test("Writes past the synced store are sent together a second later")
  func commit() async throws {
    let running = try await start([.commit])
    let a = running.pair.a
    try await editUntilSeen(running)
    for id in ["T2", "T3"] { try a.insert(id, "beside") }
    #expect(running.clock.sleepers == [.seconds(1)])
    #expect(a.remote.requests.isEmpty)
    running.clock.advance(by: .seconds(1))
    try await until { try a.store.outboxEntries().isEmpty }
    #expect(a.remote.requests.flatMap(\.operations).count == 3)
    #expect(a.remote.requests.filter { !$0.operations.isEmpty }.count == 1)
    await running.stop()
  }

  @Test("Writes of another process into the file are sent by the running one")
  func foreignCommit() async throws {
    let pair = try await Pair.sharing()
    try pair.a.store.store.close()
    func open(_ triggers: SyncOptions.Triggers) throws -> SyncedStore {
      var configuration = SyncOptions.quiet
      configuration.triggers = triggers
      return try SyncedStore(
        at: pair.a.path, schema: .notes, remote: InProcessRemote(pair.world.service),
        configuration: configuration, options: StoreOptions(busyTimeout: .seconds(100)))
    }
    let (running, other) = (try open(.commit), try open([]))
    let clock = VirtualClock()
    let task = Task { await running.run(clock: clock) }
    // Writes of other processes are observed only once the watch on them has begun.
    var written = 0
    while clock.sleepers.isEmpty {
      written += 1
      let note = Note(id: "N\(written)", "from beside")
      try await other.store.write { try $0.insert(note) }
    }
    try await until {
      clock.advance(by: .seconds(1))
      return try running.outboxEntries().isEmpty
    }
    #expect(try await pair.serverTitle("N\(written)") == "from beside")
    task.cancel()
    await task.value
    try other.store.close()
    try running.store.close()
  }

  @Test("The writes of a failed sync don't start it again")
  func failedCommit() async throws {
    let running = try await start([.commit]) { $0.a.remote.isOffline = true }
    let a = running.pair.a
    try await editUntilSeen(running)
    running.clock.advance(by: .seconds(1))
    for attempt in 1...6 {
      try await until { a.store.status.phase == .waiting(attempt: attempt) }
      #expect(a.remote.requests.count == attempt)
      let wait = Duration.seconds(1 << (attempt - 1))
      try await until { running.clock.sleepers.contains(wait) }
      running.clock.advance(by: wait)
    }
    await running.stop()
  }

  @Test("Every ten minutes it syncs, if work is pending")
  func timer() async throws {
    let running = try await start([.timer])
    let a = running.pair.a
    await running.clock.waitForSleepers()
    #expect(running.clock.sleepers == [.seconds(600)])
    running.clock.advance(by: .seconds(600))
    await running.clock.waitForSleepers()
    try await a.store.save(Note(id: "D", "draft"), options: RequestOptions(writePolicy: .draft))
    running.clock.advance(by: .seconds(600))
    await running.clock.waitForSleepers()
    #expect(a.remote.requests.isEmpty)
    try a.retitle("b")
    running.clock.advance(by: .seconds(599))
    #expect(try a.isPending())
    running.clock.advance(by: .seconds(1))
    try await until { try !a.isPending() }
    await running.stop()
  }

  /// Promises: S-42
  @Test("A network that has been back for a second starts a sync")
  func reachability() async throws {
    let running = try await start([.reachability])
    let a = running.pair.a
    try a.retitle("b")
    running.monitor.send(.reachable)
    await running.clock.waitForSleepers()
    #expect(running.clock.sleepers == [.seconds(1)])
    #expect(a.store.status.network == .reachable)
    running.clock.advance(by: .seconds(1))
    try await until { try !a.isPending() }
    await running.stop()
  }

  @Test("A notification of the server pulls the changes")
  func notify() async throws {
    let running = try await start([.notifications])
    try running.pair.b.retitle("news")
    await running.pair.b.store.sync()
    try await until {
      running.pair.a.remote.notify()
      return try running.pair.a.title() == "news"
    }
    await running.stop()
  }

  @Test("Waits after failures double, and a success ends them")
  func backoff() async throws {
    let running = try await start([.save])
    let a = running.pair.a
    a.remote.isOffline = true
    try await a.store.save(Note(id: "T2", "two"))
    for seconds in [1, 2, 4, 8] {
      await running.clock.waitForSleepers()
      #expect(running.clock.sleepers == [.seconds(seconds)])
      #expect(a.store.status.lastStop?.name == "unreachable")
      running.clock.advance(by: .seconds(seconds))
    }
    await running.clock.waitForSleepers()
    #expect(a.store.status.phase == .waiting(attempt: 5))
    a.remote.isOffline = false
    running.clock.advance(by: .seconds(16))
    try await until { try !a.isPending("T2") }
    try await until { a.store.status.phase == .idle }
    #expect(a.store.status.obstacle == nil)
    #expect(running.clock.sleepers.isEmpty)
    await running.stop()
  }

  /// Promises: Scenario-23, N-12
  @Test("Saves, notifications and another run shorten no wait, and the app's sync does")
  func askedWhileWaiting() async throws {
    let running = try await start([.save, .notifications, .start])
    let a = running.pair.a
    try await until { a.remote.listeners == 1 }
    a.remote.isOffline = true
    try await a.store.save(Note(id: "T2", "two"))
    try await until { a.store.status.phase == .waiting(attempt: 1) }
    running.clock.advance(by: .seconds(1))
    try await until { a.store.status.phase == .waiting(attempt: 2) }
    let tries = a.remote.requests.count
    a.remote.isOffline = false
    try await a.store.save(Note(id: "T3", "three"))
    a.remote.notify()
    a.store.requestSync()
    _ = try await a.store.fetchResult(
      RecordQuery<Note>(), options: RequestOptions(readPolicy: .syncThenLocal))
    await running.stop()
    let again = Task { [clock = running.clock, store = a.store] in await store.run(clock: clock) }
    try await until { a.store.status.phase == .waiting(attempt: 2) }
    for _ in 0..<1000 { await Task.yield() }
    #expect(a.remote.requests.count == tries)
    #expect(await a.store.sync(.pull).obstacle == nil)
    try await until { try a.store.outboxEntries().isEmpty }
    try await until { a.store.status.phase == .idle }
    again.cancel()
    await again.value
  }

  @Test("An awaited save is tried at once, and waiting work is sent with it")
  func awaitedWhileWaiting() async throws {
    let running = try await start([.save])
    let a = running.pair.a
    a.remote.isOffline = true
    try await a.store.save(Note(id: "T2", "two"))
    try await until { a.store.status.phase == .waiting(attempt: 1) }
    a.remote.isOffline = false
    #expect(
      try await a.store.save(Note(id: "T3", "three"), policy: .local).result(within: .seconds(1000)).origin
        == .remote)
    try await until { try a.store.outboxEntries().isEmpty }
    await running.stop()
  }

  @Test("A returned network ends a wait, unless the server requested it")
  func networkWhileWaiting() async throws {
    for (fault, isEnded) in [(FaultyRemote.Fault.status(503, retryAfter: 40), false), (.lostRequest, true)] {
      let running = try await start([.save, .reachability])
      let a = running.pair.a
      a.remote.plan(fault)
      try await a.store.save(Note("n"))
      try await until { a.store.status.phase == .waiting(attempt: 1) }
      for attempt in 1...2 where isEnded {
        running.clock.advance(by: .seconds(attempt))
        try await until { a.store.status.phase == .waiting(attempt: attempt + 1) }
      }
      a.remote.setScript { .none }
      running.monitor.send(.notReachable)
      running.monitor.send(.reachable)
      try await until { running.clock.sleepers.count == 2 }
      let tries = a.remote.requests.count
      running.clock.advance(by: .seconds(isEnded ? 1 : 39))
      for _ in 0..<1000 { await Task.yield() }
      if !isEnded {
        #expect(a.remote.requests.count == tries)
        running.clock.advance(by: .seconds(1))
      }
      try await until { try a.store.outboxEntries().isEmpty }
      try await until { a.store.status.phase == .idle }
      await running.stop()
    }
  }

  @Test("Saves retry a rejected token ever more seldom")
  func askedWhileBlocked() async throws {
    let running = try await start([.save])
    let a = running.pair.a
    a.remote.plan(.status(401, retryAfter: nil))
    let tries = [0, 1, 3, 7, 15, 31]  // The waits between them double.
    for second in 0..<60 {
      try await a.store.save(Note(id: "N\(second)", "n"))
      let due = tries.count(where: { $0 <= second })
      try await until { a.remote.requests.count >= due && !a.store.status.isSyncing }
      running.clock.advance(by: .seconds(1))
    }
    #expect(a.remote.requests.count == tries.count)
    await running.stop()
  }

  /// Promises: N-12
  @Test("A read that refreshes in the background doesn't end the wait after a failure")
  func uselessRefresh() async throws {
    let running = try await start([.save])
    let a = running.pair.a
    a.remote.isOffline = true
    try await a.store.save(Note(id: "T2", "two"))
    await running.clock.waitForSleepers()
    a.remote.forgetRequests()
    let refreshing = RequestOptions(readPolicy: .localThenRemote)
    for _ in 0..<3 { _ = try await a.store.fetchResult(RecordQuery<Note>(), options: refreshing) }
    // Each request wakes the loop, which continues to wait.
    try await until { running.clock.sleepers == [.seconds(1)] }
    #expect(a.remote.requests.isEmpty)
    // An explicit call tries nevertheless, and its success counts.
    a.remote.isOffline = false
    try await a.store.syncCompletely()
    #expect(a.store.reachabilityHint.isReachable == true)
    await running.stop()
  }

  @Test("Without a valid token it doesn't retry by itself")
  func blocked() async throws {
    let running = try await start([.save])
    let a = running.pair.a
    a.remote.plan(.status(401, retryAfter: nil))
    try await a.store.save(Note(id: "T2", "two"))
    try await until {
      a.store.status.lastStop?.name == "signInRequired" && a.store.status.phase == .idle
    }
    #expect(running.clock.sleepers.isEmpty)
    #expect(a.remote.requests.count == 1)
    await running.stop()
  }

  @Test("While paused it sends nothing by itself, and continues when resumed")
  func pause() async throws {
    let running = try await start([.save])
    let a = running.pair.a
    try a.store.pause()
    try await until { a.store.status.phase == .paused }
    try await a.store.save(Note(id: "T2", "two"))
    #expect(try a.isPending("T2"))
    #expect(a.remote.requests.isEmpty)
    try a.store.resume()
    try await until { try !a.isPending("T2") }
    await running.stop()
  }

  /// Promises: S-73
  @Test("The statuses begin with the current one and report the running sync")
  func statuses() async throws {
    let pair = try await Pair.sharing()
    var statuses = pair.a.store.statuses.makeAsyncIterator()
    #expect(await statuses.next()?.phase == .stopped)
    let latch = Latch()
    pair.a.remote.setBeforeSending { _ in await latch.pass() }
    let store = pair.a.store
    let sync = Task { await store.sync() }
    await latch.reached()
    #expect(await statuses.next()?.isSyncing == true)
    latch.open()
    _ = await sync.value
    #expect(store.status.lastSync.map { Int64($0.timeIntervalSince1970 * 1000) } == pair.world.time.now)
    var last = await statuses.next()
    while last?.isSyncing == true { last = await statuses.next() }
    #expect(last?.phase == .stopped)
  }

  @Test("Catching up returns once nothing is pending, and otherwise throws the reason")
  func syncCompletely() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    try pair.a.retitle("b")
    #expect(try await pair.a.store.syncCompletely().pushed == 1)
    pair.a.remote.isOffline = true
    let offline = await #expect(throws: BothyError.self) { try await pair.a.store.syncCompletely() }
    #expect(offline?.code == .unreachable)
    pair.a.remote.isOffline = false
    try pair.a.edit { $0.note = "refused" }
    let refused = await #expect(throws: BothyError.self) { try await pair.a.store.syncCompletely() }
    #expect(refused?.code == .pendingChanges)
  }

  @Test("A slow custom policy runs again for a record that was edited meanwhile")
  func slowPolicy() async throws {
    let calls = Calls()
    let latch = Latch()
    let seen = Calls()
    let policy = MergePolicy.custom { context in
      if calls.add() == 1 { await latch.pass() }
      if context.client?["title"] == "second" { seen.add() }
      return .client
    }
    let pair = try await Pair.sharing(policy: policy)
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    try pair.a.retitle("first")
    let store = pair.a.store
    let sync = Task { await store.sync() }
    await latch.reached()
    try pair.a.retitle("second")
    latch.open()
    _ = await sync.value
    #expect(calls.count == 2 && seen.count == 1)
    #expect(try await pair.serverTitle() == "second")
    #expect(try await pair.isEven())
  }
}
