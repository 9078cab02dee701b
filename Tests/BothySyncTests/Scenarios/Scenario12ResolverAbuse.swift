import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Synchronization
import Testing

/// An app's merge policies that misbehave, and records that change while a policy runs.
@Suite("Merge policies that misbehave", .timeLimit(.minutes(5)))
struct Scenario12ResolverAbuse {
  /// Returns a pair whose policy decides on A. B's edit of T1 is on the server, and A's is pending.
  private func conflict(
    clock: VirtualClock? = nil, _ decide: @escaping @Sendable (MergeContext) async throws -> MergeDecision
  ) async throws -> Pair {
    let pair = try Pair(policy: .custom("abuse", decide), timeouts: clock)
    try pair.b.insert("T1", "start")
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.b.retitle("b")
    await pair.b.store.sync()
    try pair.a.retitle("a")
    pair.a.remote.forgetRequests()
    return pair
  }

  private func expectUndecided(_ pair: Pair, _ report: SyncReport) async throws {
    #expect(report.rejected.map(\.code) == ["mergeFailed"])
    #expect(report.rejected.first?.record == .note())
    #expect(try pair.a.title() == "a")
    #expect(try pair.a.isPending())
    #expect(try await pair.serverTitle() == "b")
    #expect(!pair.a.store.status.isSyncing)
  }

  /// Promises: Scenario-12
  @Test("A policy that throws runs again after a retry, and then decides")
  func throwing() async throws {
    struct Broken: Error {}
    let calls = Calls()
    let pair = try await conflict { _ in
      if calls.add() < 3 { throw Broken() }
      return .client
    }
    for _ in 0..<2 { try await expectUndecided(pair, await pair.a.store.sync()) }
    try pair.a.store.resolve(.note(), .retry)
    await pair.a.store.sync()
    #expect(calls.count == 3)
    #expect(try await pair.serverTitle() == "a")
    #expect(try await pair.isEven())
  }

  /// Promises: Scenario-12
  @Test("A policy that returns nothing, or an invalid record, decides nothing")
  func nonsense() async throws {
    let answers: [[String: JSONValue]] = [
      [:],  // nothing
      ["id": "T2", "title": "x", "score": 1],  // another record's
      ["title": 7, "score": 1], ["title": .null, "score": 1], ["title": "x", "score": "many"],
    ]
    for answer in answers {
      let pair = try await conflict { _ in .merged(answer) }
      try await expectUndecided(pair, await pair.a.store.sync())
      try pair.a.store.resolve(.note(), .revert)
      #expect(try await pair.isEven())
      #expect(try pair.a.title() == "b")
    }
  }

  /// Promises: Scenario-12
  @Test("A policy that never returns is cancelled after a time limit; other records continue")
  func endless() async throws {
    let clock = VirtualClock()
    let latch = Latch()
    let calls = Calls()
    let pair = try await conflict(clock: clock) { _ in
      if calls.add() == 1 { await latch.pass() }
      return .client
    }
    try pair.a.insert("T2", "two")
    let sync = Task { [store = pair.a.store] in await store.sync() }
    await latch.reached()
    await clock.waitForSleepers()
    #expect(clock.sleepers == [.seconds(30)])
    clock.advance(by: .seconds(30))
    try await expectUndecided(pair, await sync.value)
    #expect(try await pair.serverTitle("T2") == "two")
    latch.open()
    await pair.a.store.sync()
    #expect(try await pair.serverTitle() == "a")
    #expect(clock.sleepers.isEmpty)
    #expect(try await pair.isEven())
  }

  /// Promises: Scenario-12
  @Test(
    "A record edited or deleted while its policy runs is decided again",
    arguments: [false, true])
  func changedMeanwhile(isDeleted: Bool) async throws {
    let latch = Latch()
    let seen = Mutex<[String?]>([])
    let pair = try await conflict { context in
      seen.withLock { $0.append(context.client?["title"]?.stringValue) }
      await latch.pass()
      return .client
    }
    let sync = Task { [store = pair.a.store] in await store.sync() }
    await latch.reached()
    if isDeleted { try pair.a.remove() } else { try pair.a.retitle("edited") }
    latch.open()
    let report = await sync.value
    #expect(report.rejected.isEmpty)
    #expect(seen.withLock { $0 } == ["a", isDeleted ? nil : "edited"])
    #expect(try await pair.serverTitle() == (isDeleted ? nil : "edited"))
    #expect(try await pair.isEven())
  }
}
