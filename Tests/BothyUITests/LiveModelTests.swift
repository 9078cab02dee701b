import BothyStore
import Testing

@Suite(.timeLimit(.minutes(10)))
@MainActor
struct StoreQueryModelTests {
  @Test("A model follows its observation while it runs")
  func follows() async throws {
    let store = try LocalStore(inMemory: todoSchema)
    let model = LiveModel(store.values(of: Todo.self, id: "a"))
    #expect(model.value == nil)
    let run = Task { await model.run() }
    try await until { model.value != nil }
    try await store.write { try $0.insert(Todo("a", "one")) }
    try await until { model.value??.title == "one" }
    run.cancel()
    await run.value
    #expect(model.error == nil)
  }

  @Test("A model keeps the error that ended its observation")
  func fails() async throws {
    let store = try LocalStore(inMemory: todoSchema)
    let model = LiveModel(store.values(of: RecordID(type: "Nothing", id: "a")))
    await model.run()
    #expect((model.error as? StoreError)?.code == .unknownType)
  }
}
