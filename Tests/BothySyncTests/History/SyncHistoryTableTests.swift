import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("The log of syncs", .faultsStrike, .timeLimit(.minutes(5)))
struct SyncHistoryTableTests {
  /// Returns the number of write transactions that `body` makes.
  private func transactions(of device: SimulatedDevice, _ body: () async throws -> Void) async rethrows -> Int
  {
    let before = device.failPoints.passed.count { $0.step == .begin }
    try await body()
    return device.failPoints.passed.count { $0.step == .begin } - before
  }

  private func log(_ device: SimulatedDevice) async throws -> [StoreMaintenance.SyncRun] {
    try await device.store.maintenance.syncRuns(limit: .max)
  }

  @Test("A sync that moved records is recorded with its work, time and process")
  func noted() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    let first = try #require(try await log(pair.a).first)
    #expect(first.pulled == 1 && first.problem == nil && first.began == pair.world.time.now)
    pair.world.time.advance(by: 5000)
    let time = pair.world.time
    pair.a.remote.setDuringExchange { time.advance(by: 20) }
    try pair.a.insert("T2", "mine")
    try pair.a.insert("T3", "mine", note: "refused")
    let report = await pair.a.store.sync()
    let run = try #require(try await log(pair.a).first)
    #expect(run.pushed == 1 && run.pulled == report.pulled && run.rejected == 1 && run.problem == nil)
    #expect(run.requests == report.requests && run.count == 1 && run.id > first.id)
    #expect(run.began == first.began + 5000 && run.ended == run.began + Int64(20 * report.requests))
    #expect(run.process == ProcessInfo.processInfo.processIdentifier)
  }

  @Test("A sync without work writes nothing to the log, however often it runs")
  func idle() async throws {
    let pair = try await Pair.sharing()
    let before = try await log(pair.a)
    pair.a.remote.isOffline = true
    await pair.a.store.sync()
    pair.a.remote.isOffline = false
    let recovering = await transactions(of: pair.a) { await pair.a.store.sync() }
    #expect(try await log(pair.a).count == before.count + 2)
    let known = try await log(pair.a)
    for _ in 0..<5 {
      pair.world.time.advance(by: 30_000)
      let idle = await transactions(of: pair.a) { await pair.a.store.sync() }
      #expect(idle == recovering - 1)
    }
    #expect(try await log(pair.a) == known)
  }

  @Test("Equal failures share a row, whose count is written once a minute at most")
  func repeated() async throws {
    let pair = try await Pair.sharing()
    let start = pair.world.time.now
    let known = try await log(pair.a).count
    pair.a.remote.isOffline = true
    var counts: [Int] = []
    var writes: [Int] = []
    for _ in 0..<6 {
      writes.append(await transactions(of: pair.a) { await pair.a.store.sync() })
      counts.append(try #require(try await log(pair.a).first).count)
      pair.world.time.advance(by: 30_000)
    }
    #expect(counts == [1, 1, 3, 3, 5, 5])
    let least = try #require(writes.min())
    #expect(writes.map { $0 - least } == [1, 0, 1, 0, 1, 0])
    let row = try #require(try await log(pair.a).first)
    #expect(row.problem?.name == "unreachable" && row.began == start && row.ended == start + 120_000)
    // Failures that were not counted yet are written with the next row.
    pair.a.remote.isOffline = false
    await pair.a.store.sync()
    let after = try await log(pair.a)
    #expect(after.count == known + 2 && after[0].problem == nil)
    #expect(after[1].count == 6 && after[1].ended == start + 150_000)
  }

  @Test("Each other reason has a row, with its text in one line without secrets")
  func reasons() async throws {
    let world = try SimulatedWorld()
    let folder = try TemporaryFolder()
    let remote = ScriptedRemote([
      .fail(
        RemoteError(
          .unauthenticated,
          "https://ada:secret@hut.test/v1?token=t0ken\nrefused Bearer abc.DEF-1 of ada@hut.test."
        )),
      .fail(RemoteError(.serverError, String(repeating: "long ", count: 200))),
      .fail(RemoteError(.forbidden, "This is Ben's space.", code: "wrongAccount")),
      .fail(RemoteError(.rejected, "Too old.", code: "updateRequired")),
    ])
    let store = try SyncedStore(
      at: folder.path + "/log.sqlite", schema: .notes, remote: remote, configuration: .quiet,
      clock: SyncClock(now: world.time.reader()))
    for _ in 0..<4 { await store.sync() }
    let problems = try await store.maintenance.syncRuns().compactMap(\.problem)
    #expect(
      problems.map(\.name) == ["updateRequired", "wrongAccount", "serverError", "signInRequired"])
    #expect(problems[0] == .updateRequired("Too old."))
    #expect(problems[1] == .refused(code: "wrongAccount", "This is Ben's space."))
    guard case .serverError(let long) = problems[2], case .signInRequired(let text) = problems[3]
    else { throw TimedOut() }
    #expect(long.count == 300 && long.hasSuffix("…"))
    #expect(text == "https://hut.test/v1 refused Bearer … of ada@hut.test.")
    try store.store.close()
  }

  @Test("A sync that may not run is recorded with its reason, like a failure")
  func obstacles() async throws {
    let pair = try await Pair.sharing()
    try pair.a.store.pause()
    for _ in 0..<2 { #expect(await pair.a.store.sync().obstacle == .paused) }
    try pair.a.store.resume()
    await pair.a.store.sync()
    #expect(try await log(pair.a).prefix(2).map(\.problem) == [nil, .paused])
    let paused = try await log(pair.a)[1]
    #expect(paused.requests == 0 && paused.count == 2)
  }

  @Test("A running store records once that the policy forbids the network")
  func spared() async throws {
    let pair = try await Pair.sharing {
      $0.network = .wifiOnly
      $0.triggers = [.save]
    }
    let store = pair.a.store
    let known = try await log(pair.a).count
    let feed = NetworkFeed(NetworkState(isReachable: true, isExpensive: true))
    let clock = VirtualClock()
    let running = Task { await store.run(reachability: feed, clock: clock) }
    try await until { store.status.network.isExpensive }
    for number in 0..<3 {
      try await store.save(Note(id: "S\(number)", "saved"))
      #expect(await store.sync().obstacle == .network)
    }
    running.cancel()
    await running.value
    let whole = try await log(pair.a)
    #expect(whole.count == known + 1 && whole.first?.problem == .expensiveNetwork)
    #expect(try store.syncHealth().failing?.reason == .expensiveNetwork)
  }

  @Test("Callers that join a sync share its row")
  func joined() async throws {
    let pair = try await Pair.sharing()
    try pair.a.retitle("mine")
    let latch = Latch()
    pair.a.remote.setBeforeSending { _ in await latch.pass() }
    let store = pair.a.store
    let known = try await log(pair.a).count
    let first = Task { await store.sync() }
    await latch.reached()
    let second = Task { await store.sync() }
    try await until { store.joinedCount == 1 }
    latch.open()
    #expect(await first.value == second.value)
    #expect(try await log(pair.a).count == known + 1)
  }

  @Test("A sync cancelled while running is recorded, one cancelled before it began isn't")
  func cancelled() async throws {
    let pair = try await Pair.sharing()
    let store = pair.a.store
    let known = try await log(pair.a)
    let never = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await store.sync()
    }
    #expect(await never.value.obstacle == .cancelled)
    #expect(try await log(pair.a) == known)
    try pair.a.retitle("mine")
    let latch = Latch()
    pair.a.remote.setBeforeSending { _ in await latch.pass() }
    let under = Task { await store.sync() }
    await latch.reached()
    // The cancelled sync ends at once, so the time that it took has passed before.
    pair.world.time.advance(by: 15_000)
    under.cancel()
    latch.open()
    #expect(await under.value.obstacle == .cancelled)
    #expect(try await log(pair.a).first?.problem == .cancelled)
  }

  @Test("The log is bounded, and many successes do not remove the failures before them")
  func bounded() async throws {
    let pair = try await Pair.sharing()
    pair.a.remote.isOffline = true
    await pair.a.store.sync()
    pair.a.remote.isOffline = false
    for number in 0..<170 {
      try pair.a.retitle("title \(number)")
      await pair.a.store.sync()
    }
    let whole = try await log(pair.a)
    #expect(whole.count == 151 && whole.last?.problem?.name == "unreachable")
    #expect(whole.map(\.id) == whole.map(\.id).sorted(by: >))
    #expect(try await pair.a.store.maintenance.syncRuns().count == 50)
    // Failures are bounded as well. Reasons that alternate have a row each.
    let calls = Calls()
    pair.a.remote.plan { .status(calls.add() % 2 == 0 ? 401 : 500, retryAfter: nil) }
    for _ in 0..<170 { await pair.a.store.sync() }
    #expect(try await log(pair.a).count == 300)
    #expect(try pair.a.store.syncHealth().lastEndedWell != nil)
  }

  @Test("The log survives a relaunch and can be read by another process")
  func durable() async throws {
    let pair = try await Pair.sharing()
    pair.a.remote.isOffline = true
    await pair.a.store.sync()
    let known = try await log(pair.a)
    try pair.a.restart()
    #expect(try await log(pair.a) == known)
    let beside = try SyncedStore(existing: pair.a.path, remote: ScriptedRemote(), configuration: .quiet)
    #expect(try await beside.maintenance.syncRuns(limit: .max) == known)
    // The other store's own failure is equal, and counts in the same row.
    await beside.sync()
    let since = try await beside.maintenance.syncRuns(limit: .max)
    #expect(since.count == known.count && since.first?.count == 2)
    try beside.store.close()
  }

  @Test("A log that can't be written fails no sync and warns in the logger")
  func failing() async throws {
    let recorded = RecordedLog()
    let pair = try await Pair.sharing { $0.logger = recorded.logger }
    pair.a.remote.plan(.status(401, retryAfter: nil))
    try pair.a.retitle("first")
    let known = try await log(pair.a)
    let steps = pair.a.failPoints.passed.count
    await pair.a.store.sync()
    // A sync that moves nothing writes its row in a transaction of its own, the last of three steps.
    let length = pair.a.failPoints.passed.count - steps
    let row = try await log(pair.a)
    #expect(row.count == known.count + 1)
    pair.a.remote.plan(.status(500, retryAfter: nil))
    pair.a.failPoints.fail(at: length - 2)
    let report = await pair.a.store.sync()
    #expect(report.obstacle != nil)
    #expect(try await log(pair.a) == row)
    pair.a.remote.setScript { .none }
    #expect(recorded.lines.contains { $0.contains("How a sync ended was not noted.") })
    #expect(try await pair.isEven())
  }

  @Test("After a crash during a sync, its row exists if its changes do")
  func crashes() async throws {
    var isReported: Set<Bool> = []
    for step in 1...9 {
      let pair = try await Pair.sharing()
      let known = try await log(pair.a)
      try pair.a.retitle("first")
      pair.a.failPoints.reset()
      pair.a.failPoints.crash(at: step)
      await pair.a.store.sync()
      guard pair.a.failPoints.hasCrashed else { break }
      try pair.a.restart()
      let isSettled = try !pair.a.isPending()
      #expect(try await log(pair.a).count == known.count + (isSettled ? 1 : 0))
      isReported.insert(isSettled)
      #expect(try await pair.isEven())
    }
    #expect(isReported == [false, true])
  }

  @Test("The log notifies no observer of records")
  func observers() async throws {
    let pair = try await Pair.sharing()
    var commits = pair.a.store.store.commits.makeAsyncIterator()
    pair.a.remote.isOffline = true
    await pair.a.store.sync()
    try pair.a.insert("T2", "later")
    #expect(await commits.next()?.records.keys.sorted() == ["Note"])
  }

  @Test("A reset empties the log; a purge of synced records keeps it")
  func purged() async throws {
    let pair = try await Pair.sharing()
    try pair.a.store.purge()
    #expect(try await !log(pair.a).isEmpty)
    try await pair.a.store.maintenance.reset()
    #expect(try await log(pair.a).isEmpty)
    await pair.a.store.sync()
    #expect(try await log(pair.a).count == 1)
  }

  @Test("The health of syncing can be read outside the app, from the file alone")
  func health() async throws {
    let pair = try await Pair.sharing()
    #expect(try pair.a.store.syncHealth().failing == nil)
    pair.world.time.advance(by: 30_000)
    try pair.a.retitle("moved")
    await pair.a.store.sync()
    let well = pair.world.time.now
    #expect(try pair.a.store.syncHealth().lastEndedWell == well)
    pair.world.time.advance(by: 30_000)
    pair.a.remote.plan(.status(401, retryAfter: nil))
    await pair.a.store.sync()
    try pair.a.restart()
    let health = try pair.a.store.syncHealth()
    #expect(health.lastEndedWell == well && health.failing?.since == well + 30_000)
    #expect(health.failing?.reason.name == "signInRequired")
  }
}
