import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Dispatch
import Testing

/// An app and its extension: two engines on one file.
@Suite("Two engines on one file", .timeLimit(.minutes(5)))
struct TwoEnginesScenario {
  private func second(_ device: SimulatedDevice, _ world: SimulatedWorld) throws -> SyncedStore {
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: .fieldByField)
    return try SyncedStore(
      at: device.path, schema: .notes, remote: InProcessRemote(world.service), configuration: configuration,
      options: StoreOptions(busyTimeout: .seconds(100)), clock: SyncClock(now: world.time.reader()))
  }

  /// Promises: Scenario-25, H-55
  @Test("An app and its extension that sync at once lose and duplicate nothing")
  func atomic() async throws {
    let pair = try Pair(policy: .fieldByField)
    let app = pair.a.store
    let other = try second(pair.a, pair.world)
    try pair.a.insert("T1", "start")
    await app.sync()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (name, store) in [("app", app), ("extension", other)] {
        group.addTask {
          for number in 0..<40 {
            try await store.save(
              Note(id: "\(name)-\(number)", "new"), options: RequestOptions(writePolicy: .local))
            try await store.store.write { _ = try $0.update(Note.self, id: "T1") { $0.score += 1 } }
            if number.isMultiple(of: 3) { await store.sync() }
            if number.isMultiple(of: 5) {
              async let one = store.sync()
              async let two = store.sync()
              _ = await (one, two)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    await other.sync()
    #expect(try await pair.isEven())
    let server = try await pair.world.snapshot().server
    #expect(server.count == 81)
    #expect(server[.note()]?["score"] == 80)
    #expect(try other.digest() == app.digest())
    try other.store.close()
  }

  /// Promises: Scenario-25, H-52
  @Test("A reset during a sync leaves neither old rows nor entries without rows")
  func resetDuringSync() async throws {
    for byOther in [false, true] {
      let pair = try await Pair.sharing(["T1", "T2"])
      let other = try second(pair.a, pair.world)
      try pair.a.retitle("T1", "pending")
      try pair.b.retitle("T2", "news")
      await pair.b.store.sync()
      let answered = Latch()
      pair.a.remote.setDuringExchange { await answered.pass() }
      let app = pair.a.store
      let syncing = Task { await app.sync() }
      await answered.reached()
      // Another process resets at once. The engine that syncs resets when the sync is over.
      let resetting = Task { try await (byOther ? other : app).maintenance.reset(discardingPending: true) }
      if byOther { try await resetting.value }
      pair.a.remote.setDuringExchange {}
      answered.open()
      _ = await syncing.value
      try await resetting.value
      #expect(try pair.a.store.diagnose().findings.isEmpty)
      // The server had accepted the edit before the reset, so it arrives like other data.
      #expect(try await pair.isEven())
      #expect(try pair.a.title("T1") == "pending")
      #expect(try pair.a.title("T2") == "news")
      try other.store.close()
    }
  }

  @Test("A reset throws for a change that was saved while it waited")
  func resetDuringSave() async throws {
    let pair = try await Pair.sharing(["T1"])
    let (app, other) = (pair.a.store, try second(pair.a, pair.world))
    let (isSaving, end) = (Locked(false), DispatchSemaphore(value: 0))
    // The save ends when the reset asks for the file's lock. Without this the reset would wait until it gives up.
    let statements = StatementCount { if isSaving.value && $0.hasPrefix("BEGIN IMMEDIATE") { end.signal() } }
    try statements.count(in: app.store)
    let saving = Task {
      try await other.store.write { transaction in
        try transaction.insert(Note(id: "T2", "saved"))
        isSaving.value = true
        end.wait()
      }
    }
    defer { end.signal() }
    try await until { isSaving.value }
    let resetting = Task { try await app.maintenance.reset() }
    try await saving.value
    let error = await #expect(throws: BothyError.self) { try await resetting.value }
    #expect(error?.code == .pendingChanges && error?.pendingCount == 1)
    #expect(try pair.a.title("T2") == "saved")
    #expect(try other.outboxEntries().count == 1)
    try other.store.close()
  }

  /// Promises: Scenario-25
  @Test(
    "A full disk at any step of a write or sync loses nothing"
  )
  func diskFull() async throws {
    var step = 0
    var wasPassed = true
    while wasPassed {
      step += 1
      let pair = try await Pair.sharing(policy: .fieldByField)
      try pair.b.insert("B1", "of B")
      await pair.b.store.sync()
      pair.a.failPoints.reset()
      pair.a.failPoints.fail(at: step)
      var isWritten = false
      do {
        try pair.a.retitle("A's")
        isWritten = true
      } catch let error as BothyError {
        #expect(error.code == .diskFull, "step \(step)")
        // After the commit a failure can't be reported to the app. The write exists.
        isWritten = try pair.a.isPending()
        #expect(try pair.a.title() == (isWritten ? "A's" : "start"), "step \(step)")
      }
      let report = await pair.a.store.sync()
      wasPassed = pair.a.failPoints.passed.count >= step
      // The failure of the sync is recorded after it. The failure to record it fails no sync.
      let isNote = pair.a.failPoints.passed.count == step
      if step > 3 && wasPassed { #expect((report.obstacle == nil) == isNote, "step \(step)") }
      #expect(try pair.a.title() == (isWritten ? "A's" : "start"), "step \(step)")
      #expect(try await pair.isEven(), "step \(step)")
      #expect(try await pair.serverTitle() == (isWritten ? "A's" : "start"), "step \(step)")
    }
    #expect(step > 9)
  }
}
