import BothyLegacy
import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Calls of the store from code that it calls itself: bodies of locks, merge policies and callbacks.
@Suite("Calls inside of calls", .timeLimit(.minutes(5)))
struct NestedCallTests {
  /// Runs `body`, for a minute at most.
  private func ends(_ body: @escaping @Sendable () async throws -> Void) async throws {
    let calls = Calls()
    Task {
      do { try await body() } catch { Issue.record(error) }
      calls.add()
    }
    try await until { calls.count == 1 }
  }

  /// Promises: N-24
  @Test("The body of a lock syncs, saves, locks again and applies live changes")
  func insideLock() async throws {
    let pair = try await Pair.sharing { $0.clock = VirtualClock() }
    let store = pair.a.store
    try pair.a.retitle("b")
    try await ends {
      try await store.withSyncLock("Note") {
        #expect(await store.sync().pushed == 1)
        #expect(await store.sync(.pull, container: "Note").obstacle == nil)
        #expect(try await store.withSyncLock("Note") { 7 } == 7)
        let saved = try await store.save(Note(id: "T2", "two"), policy: .local).result(within: .seconds(1000))
        #expect(saved.origin == .remote)
        let known = try store.store.record(.note("T2"))?.version ?? ""
        let record = ServerRecord(
          id: .note("T2"), container: "Note", version: known, modified: 0, fields: FieldsDocument([:]))
        #expect(try await store.apply(PushedChange(record)) == .outdated)
        try await store.follow([.everything])
      }
    }
    #expect(try await pair.isEven())
  }

  /// Promises: N-24
  @Test("Inside a write of a container its sync does not wait for that write")
  func insideWrite() async throws {
    // The clock doesn't move, so a wait for writers never ends.
    let pair = try await Pair.sharing { $0.clock = VirtualClock() }
    let store = pair.a.store
    try pair.a.retitle("b")
    try await ends {
      await store.withWriteLock("Note") {
        #expect(await store.sync().pushed == 1)
        let reading = RequestOptions(readPolicy: .syncThenLocal)
        #expect((try? await store.fetchResult(RecordQuery<Note>(), options: reading))?.origin == .remote)
      }
    }
  }

  @Test("The body of a lock doesn't wait for a sync that waits for it")
  func besideWaiting() async throws {
    let pair = try await Pair.sharing { $0.clock = VirtualClock() }
    let store = pair.a.store
    try pair.a.retitle("b")
    let latch = Latch()
    let holder = Task {
      try await store.withSyncLock("Note") {
        await latch.pass()
        return await store.sync()
      }
    }
    await latch.reached()
    let outside = [Task { await store.sync() }, Task { await store.sync() }]
    try await until { store.joinedCount == 1 }
    latch.open()
    try await ends {
      let report = try await holder.value
      #expect(report.pushed == 1)
    }
    for sync in outside { #expect(await sync.value.obstacle == nil) }
  }

  /// Returns two devices that have changed one title, where the merge policy of one runs `body`.
  private func conflict(_ body: @escaping @Sendable (SyncedStore) async throws -> Void) async throws -> Pair {
    let box = Locked<SyncedStore?>(nil)
    let timeouts = VirtualClock()
    let pair = try Pair(
      policy: .custom { _ in
        if let store = box.value { try await body(store) }
        return .client
      }, timeouts: timeouts)
    try pair.b.insert("T1", "start")
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    try pair.a.retitle("mine")
    box.value = pair.a.store
    return pair
  }

  /// Promises: S-60
  @Test("A sync in a merge policy is skipped, and an awaited save continues")
  func insidePolicy() async throws {
    let calls = Calls()
    let pair = try await conflict { store in
      calls.add()
      #expect(await store.sync().stop == .alreadyRunning)
      #expect(await store.sync(.pull, container: "trips").stop == .alreadyRunning)
      let saved = try await store.save(Note(id: "T2", "of the policy"), policy: .local).result(
        within: .seconds(1000))
      #expect(saved.origin == .remote && saved.record?.title == "of the policy")
      for call in [
        { _ = try await store.follow([.everything]) }, { _ = try await store.maintenance.adoptServer() },
        { try await store.save(Note(id: "T3", "n"), options: RequestOptions(writePolicy: .remote)) },
      ] as [@Sendable () async throws -> Void] {
        let error = await #expect(throws: BothyError.self) { try await call() }
        #expect(error.map { "\($0.code)" } == "insideSync")
      }
      #expect(try await store.withSyncLock("Note") { 7 } == 7)
    }
    let store = pair.a.store
    try await ends { #expect(await store.sync().obstacle == nil) }
    #expect(calls.count == 1)
    #expect(try await pair.serverTitle() == "mine")
    #expect(try await pair.serverTitle("T2") == "of the policy")
  }

  @Test("A callback that reports a sync may sync and wait for the server")
  func insideCallback() async throws {
    let pair = try await Pair.sharing()
    let store = pair.a.store
    let calls = Calls()
    let telling = Task {
      await store.tellReports(
        to: SyncCallbacks(completion: { _ in
          guard calls.add() == 1 else { return }
          #expect(await store.sync().obstacle == nil)
          let saved = try? await store.save(Note(id: "T2", "two"), policy: .local).result(
            within: .seconds(1000))
          #expect(saved?.origin == .remote)
          calls.add()
        }))
    }
    try pair.a.retitle("b")
    await store.sync()
    try await until { calls.count >= 2 }
    telling.cancel()
    await telling.value
  }

  @Test("A cancelled caller that joined a sync doesn't wait for it")
  func cancelledJoin() async throws {
    let pair = try await Pair.sharing { $0.clock = VirtualClock() }
    let store = pair.a.store
    let latch = Latch()
    let holder = Task { try await store.withSyncLock("Note") { await latch.pass() } }
    await latch.reached()
    let (first, joined) = (Task { await store.sync() }, Task { await store.sync() })
    try await until { store.joinedCount == 1 }
    first.cancel()
    joined.cancel()
    try await ends {
      for sync in [first, joined] { #expect(await sync.value.stop == .cancelled) }
    }
    latch.open()
    try await holder.value
    #expect(await store.sync().stop == nil)
  }
}
