import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// Rejected changes that wait for a time of the device's clock, and a clock that is set back.
@Suite("Retry times of a clock that was ahead", .timeLimit(.minutes(5)))
struct RetryClockTests {
  /// Runs a body while A syncs by itself.
  private func running(_ pair: Pair, _ body: (SyncedStore) async throws -> Void) async throws {
    let (store, clock) = (pair.a.store, VirtualClock())
    let task = Task { await store.run(clock: clock) }
    try await until { store.status.phase != .stopped }
    try await body(store)
    task.cancel()
    await task.value
  }

  @Test("A rejected change is sent again after the clock was set back", arguments: [false, true])
  func setBack(isRelaunched: Bool) async throws {
    let pair = try Pair(rules: .withoutNotes) { $0.triggers = [.save] }
    func sendAgain(_ store: SyncedStore) async throws {
      try await store.save(Note(id: "T2", "two"))
      try await until { try store.pendingCounts().total == 0 }
    }
    func moveBack() {
      pair.world.setRules(AccessRules())
      pair.world.time.advance(by: -365 * 86_400_000)
    }
    try await running(pair) { store in
      try await store.save(Note(id: "T1", "one", note: "rejected"))
      try await until { try !store.rejectedEntries().isEmpty && store.status.phase == .idle }
      if isRelaunched { return }
      moveBack()
      try await sendAgain(store)
    }
    if isRelaunched {
      moveBack()
      try pair.a.restart()
      try await running(pair, sendAgain)
    }
    #expect(try await pair.server("T1")?["note"] == "rejected")
  }

  @Test("A clock set back during a sync sends a rejected change once")
  func setBackMeanwhile() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    let (time, answers, tries) = (pair.world.time, Calls(), Calls())
    try pair.a.insert("T2", "two", note: "rejected")
    pair.a.remote.setDuringExchange { if answers.add() == 1 { time.advance(by: -3_600_000) } }
    pair.a.remote.setScript { tries.add() > 20 ? .lostRequest : .none }
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil && report.rejected.map(\.record) == [.note("T2")])
    #expect(pair.a.operations.map(\.record) == [.note("T2")])
  }
}
