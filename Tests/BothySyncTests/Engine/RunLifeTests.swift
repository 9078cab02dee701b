import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

@Suite("The life of runs and of statuses", .timeLimit(.minutes(5)))
struct RunLifeTests {
  /// Returns devices of which `a` syncs after saves.
  private func pair() async throws -> Pair { try await Pair.sharing { $0.triggers = [.save] } }

  @Test("The statuses end when the store is closed")
  func closed() async throws {
    let pair = try await pair()
    let (store, seen) = (pair.a.store, Calls())
    let reading = Task { for await _ in store.statuses { seen.add() } }
    try await until { seen.count > 0 }
    try store.close()
    await reading.value
  }

  @Test("A second call of run waits, and goes on when the first ends")
  func twice() async throws {
    let pair = try await pair()
    let store = pair.a.store
    let first = Task { await store.run() }
    try await until { store.status.phase == .idle }
    let second = Task { await store.run() }
    try await until { store.waitingRuns == 1 }
    try await store.save(Note(id: "T2", "two"))
    try await until { try !pair.a.isPending("T2") }
    first.cancel()
    await first.value
    try await until { store.waitingRuns == 0 }
    try await store.save(Note(id: "T3", "three"))
    try await until { try !pair.a.isPending("T3") }
    second.cancel()
    await second.value
    #expect(store.status.phase == .stopped)
  }

  @Test("A sign-out that is refused while a save is under way doesn't end run")
  func refusedSignOut() async throws {
    let pair = try await pair()
    let (store, remote) = (pair.a.store, pair.a.remote)
    let running = Task { await store.run() }
    try await until { store.status.phase == .idle }
    _ = try await store.writeDraft { try $0.insert(Note(id: "draft", "kept")) }
    let gate = Latch()
    remote.setBeforeSending { _ in await gate.pass() }
    let saving = Task {
      try await store.save(Note(id: "T2", "two"), options: RequestOptions(writePolicy: .remoteThenLocal))
    }
    await gate.reached()
    let leaving = Task { try await store.signOut(.refuseIfPending) }
    try await until { store.isSignedOut }
    store.requestSync()
    try await until { [.paused, .stopped].contains(store.status.phase) }
    gate.open()
    _ = await saving.result
    let refusal = await #expect(throws: BothyError.self) { try await leaving.value }
    #expect(refusal?.code == .pendingChanges)
    try await store.save(Note(id: "T3", "three"))
    try await until { try !pair.a.isPending("T3") }
    running.cancel()
    await running.value
  }
}
