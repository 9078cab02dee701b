import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

@Suite("The life of several runs", .timeLimit(.minutes(2)))
struct RunLifeTests {
  /// Returns devices of which `a` syncs after saves.
  private func pair() async throws -> Pair { try await Pair.sharing { $0.triggers = [.save] } }

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
}
