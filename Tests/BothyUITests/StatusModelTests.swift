import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import BothyUI
import Testing

@Suite("The sync status in a view", .timeLimit(.minutes(5)))
@MainActor
struct StatusModelTests {
  @Test("A model counts what is pending, and shows the obstacle of a sync")
  func counts() async throws {
    let store = try SyncedStore.inMemory(StoreSchema(version: 1, Item.self))
    let model = StatusModel()
    model.show(store)
    try await until { model.value.pendingCount == 0 }
    try await store.insert(Item("a", "one"))
    try await until { model.value.pendingCount == 1 }
    #expect(store.status.pendingCount == 1 && store.status.rejectedCount == 0)
    await store.sync()
    try await until { model.value.obstacle == .unreachable }
    #expect(model.value.lastSync == nil && model.value.message?.isEmpty == false)
  }

  @Test("A status ends with its task")
  func ends() async throws {
    let store = try SyncedStore.inMemory(StoreSchema(version: 1, Item.self))
    let model = StatusModel()
    let run = Task { await model.run(store) }
    await Task.yield()
    run.cancel()
    await run.value
  }
}
