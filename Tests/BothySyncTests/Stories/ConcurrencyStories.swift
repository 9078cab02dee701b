import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Edits, calls, restarts and cancellations in the middle of a sync.
@Suite("In the middle of a sync", .faultsStrike, .timeLimit(.minutes(5)))
struct ConcurrencyStories {
  /// Runs `body` on A's store once, after the server has answered and before A receives the response.
  private func duringNextExchange(_ pair: Pair, _ body: @escaping @Sendable (LocalStore) async throws -> Void)
  {
    let calls = Calls()
    pair.a.remote.setDuringExchange { [store = pair.a.store.store] in
      guard calls.add() == 1 else { return }
      do { try await body(store) } catch { Issue.record(error) }
    }
  }

  private func retitle(_ title: String) -> @Sendable (LocalStore) async throws -> Void {
    { store in
      try await store.write { transaction in
        _ = try transaction.update(Note.self, id: "T1") { $0.title = title }
      }
    }
  }

  /// Promises: H-43, Scenario-4, N-16, N-55
  @Test("An edit during a push is kept and sent after it")
  func editDuringPush() async throws {
    let calls = Calls()
    let pair = try await Pair.sharing(policy: .counting(calls))
    try pair.a.retitle("b")
    duringNextExchange(pair, retitle("c"))
    await pair.a.store.sync()
    #expect(calls.count == 0)
    #expect(pair.a.operations.map { $0.fields["title"] } == ["b", "c"])
    #expect(try await pair.serverTitle() == "c")
    #expect(try await pair.isEven())
  }

  /// Promises: H-43
  @Test("An edit during the push of a rejected one is kept and sent next")
  func editDuringRefusal() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes) { $0.rejectionPolicy = .discardAndRefetch }
    try pair.a.edit { $0.note = "refused" }
    pair.a.remote.interrupt(on: .operation(on: "T1")) { [store = pair.a.store.store] in
      _ = try await store.write { transaction in
        try transaction.update(Note.self, id: "T1") {
          $0.note = nil
          $0.title = "mine"
        }
      }
    }
    let report = await pair.a.store.sync()
    #expect(report.rejected.map(\.record) == [.note()] && report.overwritten.isEmpty)
    #expect(try pair.a.title() == "mine")
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "mine")
  }

  /// Promises: H-43
  @Test("An edit during an online save is kept and sent")
  func editDuringOnlineSave() async throws {
    let calls = Calls()
    let pair = try await Pair.sharing(policy: .counting(calls))
    duringNextExchange(pair) { store in
      try await store.write { transaction in
        _ = try transaction.update(Note.self, id: "T1") { $0.note = "meanwhile" }
      }
    }
    var note = try #require(try pair.a.note())
    note.title = "online"
    try await pair.a.store.save(note, options: RequestOptions(writePolicy: .remoteThenLocal))
    #expect(try pair.a.title() == "online")
    #expect(pair.a.operations.map(\.fields) == [["title": "online"], ["note": "meanwhile"]])
    await pair.a.store.sync()
    #expect(calls.count == 0)
    #expect(try await pair.server("T1") == ["title": "online", "note": "meanwhile", "score": 0])
    #expect(try await pair.isEven())
  }

  /// Promises: H-44, C-7
  @Test("An edit during a pull stays, and the policy decides the conflict")
  func editDuringPull() async throws {
    for (policy, winner) in [(MergePolicy.localWins, "mine"), (.remoteWins, "theirs")] {
      let pair = try await Pair.sharing(policy: policy)
      try pair.b.retitle("theirs")
      await pair.b.store.sync()
      duringNextExchange(pair, retitle("mine"))
      await pair.a.store.sync(.pull)
      #expect(try pair.a.title() == "mine")
      #expect(try pair.a.isPending())
      await pair.a.store.sync()
      #expect(try await pair.serverTitle() == winner)
      #expect(try await pair.isEven())
    }
  }

  /// Promises: H-45, N-40, X-2, C-10, N-54
  @Test("Callers that join a sync return after their earlier writes were sent")
  func joining() async throws {
    let pair = try await Pair.sharing()
    let latch = Latch()
    let sent = Calls()
    pair.a.remote.setBeforeSending { _ in
      if sent.add() == 1 { await latch.pass() }
    }
    try pair.a.retitle("c")
    let store = pair.a.store
    let first = Task { await store.sync() }
    await latch.reached()
    try pair.a.insert("D", "d")
    let others = (0..<8).map { _ in Task { await store.sync() } }
    try await until { store.joinedCount == 8 }
    latch.open()
    let report = await first.value
    for other in others { #expect(await other.value == report) }
    #expect(try await pair.serverTitle("D") == "d")
    #expect(pair.a.operations.count == 2)
    #expect(try pair.a.store.outboxEntries().isEmpty)
  }

  /// Promises: H-45
  @Test("Callers that wait behind another kind of sync share one run")
  func joiningInTheQueue() async throws {
    let pair = try await Pair.sharing()
    let latch = Latch()
    let sent = Calls()
    pair.a.remote.setBeforeSending { _ in
      if sent.add() == 1 { await latch.pass() }
    }
    let store = pair.a.store
    let pull = Task { await store.sync(.pull) }
    await latch.reached()
    let others = (0..<8).map { _ in Task { await store.sync() } }
    try await until { store.joinedCount == 7 }
    latch.open()
    _ = await pull.value
    let reports = await withTaskGroup(of: SyncReport.self) { group in
      for other in others { group.addTask { await other.value } }
      return await group.reduce(into: [SyncReport]()) { $0.append($1) }
    }
    #expect(Set(reports).count == 1)
    #expect(sent.count == 2)
  }

  /// Promises: C-10
  @Test("A sync that must not join another reports at once that one is running")
  func ignoring() async throws {
    let pair = try await Pair.sharing()
    let latch = Latch()
    pair.a.remote.setBeforeSending { _ in await latch.pass() }
    let first = Task { [store = pair.a.store] in await store.sync() }
    await latch.reached()
    #expect(await pair.a.store.sync(ifRunning: .ignore).stop == .alreadyRunning)
    latch.open()
    #expect(await first.value.obstacle == nil)
    #expect(await pair.a.store.sync(ifRunning: .ignore).obstacle == nil)
  }

  /// Promises: H-47
  @Test("A cancelled sync blocks nothing, and callers that joined it get theirs")
  func cancellation() async throws {
    let pair = try await Pair.sharing()
    let latch = Latch()
    let sent = Calls()
    pair.a.remote.setBeforeSending { _ in
      if sent.add() == 1 { await latch.pass() }
    }
    try pair.a.retitle("b")
    let store = pair.a.store
    let first = Task { await store.sync() }
    await latch.reached()
    let joined = Task { await store.sync() }
    try await until { store.joinedCount == 1 }
    first.cancel()
    latch.open()
    _ = await first.value
    #expect(await joined.value.obstacle == nil)
    #expect(!store.status.isSyncing)
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "b")
  }

  /// Promises: H-47
  @Test("A sync cancelled before it began reports the cancellation")
  func cancellationAtOnce() async throws {
    let pair = try await Pair.sharing()
    try pair.a.retitle("b")
    let store = pair.a.store
    let first = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await store.sync()
    }
    #expect(await first.value.obstacle == .cancelled)
    #expect(await store.sync().obstacle == nil)
    #expect(try await pair.serverTitle() == "b")
  }

  /// Promises: H-47
  @Test("A write that throws leaves the store ready for the next sync")
  func throwingWrite() async throws {
    struct Broken: Error {}
    let pair = try await Pair.sharing()
    func broken() throws { try pair.a.store.store.write { _ in throw Broken() } }
    #expect(throws: Broken.self) { try broken() }
    #expect(await pair.a.store.sync().obstacle == nil)
  }

  /// Promises: H-48, S-60
  @Test("A policy that throws leaves the record pending and the store ready")
  func throwingPolicy() async throws {
    struct Broken: Error {}
    let calls = Calls()
    let policy = MergePolicy.custom { _ in
      if calls.add() == 1 { throw Broken() }
      return .client
    }
    let pair = try await Pair.sharing(policy: policy)
    try pair.b.retitle("b")
    await pair.b.store.sync()
    try pair.a.retitle("a")
    let report = await pair.a.store.sync()
    #expect(report.rejected.map(\.code) == ["mergeFailed"])
    #expect(!pair.a.store.status.isSyncing)
    #expect(try pair.a.isPending())
    await pair.a.store.sync()
    #expect(try await pair.serverTitle() == "a")
    #expect(try await pair.isEven())
  }

  /// Promises: H-49, N-41, S-41, C-11
  @Test("A sync without a network ends and reports it")
  func offline() async throws {
    let pair = try await Pair.sharing()
    pair.a.remote.isOffline = true
    let report = await pair.a.store.sync()
    #expect(report.stop?.name == "unreachable")
    #expect(pair.a.store.status.lastStop == report.stop)
  }

  /// Promises: H-50, S-74
  @Test("The pending state of a record survives a relaunch, deletions included")
  func pendingAfterRelaunch() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"])
    try pair.a.insert("T0", "new")
    try pair.a.retitle("T1", "b")
    try pair.a.remove("T2")
    for relaunched in [false, true] {
      if relaunched { try pair.a.restart() }
      #expect(
        try ["T0", "T1", "T2", "T3", "T4"].map { try pair.a.isPending($0) } == [
          true, true, true, false, false,
        ])
    }
    #expect(try pair.a.store.state(of: .note("T2")) == .pending(.delete))
    await pair.a.store.sync()
    #expect(try ["T0", "T1", "T2"].map { try pair.a.isPending($0) } == [false, false, false])
  }

  /// Promises: H-51
  @Test("A decision on an entry that was edited since changes nothing")
  func resolvedTooLate() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    try pair.a.edit { $0.note = "refused" }
    await pair.a.store.sync()
    try pair.a.restart()
    let entry = try #require(try pair.a.store.rejectedEntries().first)
    try pair.a.edit { $0.note = nil }
    #expect(try pair.a.store.resolve(.note(), .keepLocal, revision: entry.revision) == false)
    #expect(try pair.a.isPending())
  }

  /// Promises: H-52, S-26, S-29
  @Test("A purge keeps pending records and lists them, unless it includes them")
  func purge() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"])
    try pair.a.retitle("T1", "b")
    try pair.a.remove("T2")
    let kept = try pair.a.store.purge()
    #expect(kept.removed == 1)
    #expect(Set(kept.kept) == [.note("T1"), .note("T2")])
    #expect(try pair.a.store.outboxEntries().count == 2)
    let forced = try pair.a.store.purge(includingPending: true)
    #expect(forced.kept.isEmpty)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(await pair.a.store.sync().obstacle == nil)
    #expect(try pair.a.title("T1") == "start")
    #expect(try await pair.isEven())
  }

  /// Promises: H-52
  @Test("A purged deletion brings its record back, even the only one")
  func purgedDeletion() async throws {
    let pair = try await Pair.sharing()
    try pair.a.remove()
    try pair.a.store.purge(includingPending: true)
    await pair.a.store.sync()
    #expect(try pair.a.title() == "start")
    #expect(try await pair.isEven())
  }

  /// Promises: H-52, S-29
  @Test("A reset with pending changes throws and changes nothing, unless it discards them")
  func reset() async throws {
    let pair = try await Pair.sharing()
    try pair.a.retitle("b")
    let error = await #expect(throws: BothyError.self) { try await pair.a.store.maintenance.reset() }
    #expect(error?.code == .pendingChanges)
    #expect(try pair.a.title() == "b")
    try await pair.a.store.maintenance.reset(discardingPending: true)
    #expect(try pair.a.note() == nil)
    #expect(try await pair.isEven())
    #expect(try pair.a.title() == "start")
  }

  /// Promises: S-28
  @Test("A purge by id or type leaves the others, and a sync refetches")
  func partialPurge() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"])
    #expect(try pair.a.store.purge([.note("T1"), .note("unknown")]).removed == 1)
    #expect(try pair.a.note("T1") == nil)
    #expect(try pair.a.note("T2") != nil)
    #expect(try pair.a.store.purge(type: "Note").removed == 2)
    #expect(try await pair.isEven())
    #expect(try await pair.a.store.store.count(AnyQuery("Note")) == 3)
  }

  /// Promises: H-54, S-42
  @Test("A network that flaps twenty times in a second causes at most two syncs")
  func flapping() async throws {
    let pair = try await Pair.sharing { $0.triggers = [.reachability] }
    let monitor = ScriptedReachability()
    let clock = VirtualClock()
    let store = pair.a.store
    let loop = Task { await store.run(reachability: monitor, clock: clock) }
    try pair.b.retitle("b")
    await pair.b.store.sync()
    for change in 0..<20 {
      let status: NetworkState = change.isMultiple(of: 2) ? .notReachable : .reachable
      monitor.send(status)
      try await until { store.status.network == status }
      clock.advance(by: .milliseconds(50))
    }
    #expect(pair.a.remote.requests.isEmpty)
    await clock.waitForSleepers()
    // The last sync may not sleep yet.
    try await until {
      clock.advance(by: .seconds(1))
      return try pair.a.title() == "b"
    }
    #expect(pair.a.remote.requests.count <= 2)
    loop.cancel()
    await loop.value
  }
}
