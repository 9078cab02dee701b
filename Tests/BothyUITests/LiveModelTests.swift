import BothyStore
import BothySync
import BothyTestSupport
import BothyUI
import Observation
import Synchronization
import Testing

@Suite("Values of a request in a view", .timeLimit(.minutes(5)))
@MainActor
struct LiveModelTests {
  private let store: SyncedStore

  init() throws { store = try SyncedStore.inMemory(StoreSchema(version: 1, Item.self)) }

  @Test("A model follows its values while it runs")
  func follows() async throws {
    let model = LiveModel<Item?>()
    let run = Task { await model.run(store.values(of: Item.self, id: "a")) }
    try await until { !model.isLoading && model.value != nil }
    try await store.insert(Item("a", "one"))
    try await until { model.value??.name == "one" }
    run.cancel()
    await run.value
    #expect(model.error == nil)
  }

  @Test("A model keeps the error that ended its observation")
  func fails() async throws {
    let model = LiveModel<[AnyRecord]>()
    model.show(AnyQuery("Nothing"), of: store)
    try await until { model.error != nil }
    #expect((model.error as? BothyError)?.code == .unknownType && !model.isLoading)
  }

  @Test("A model that shows an equal request reads nothing again")
  func equal() async throws {
    try await store.insert(Item("a", "one"))
    let model = LiveModel<[Item]>()
    model.show(Item.named("one"), of: store)
    try await until { model.value?.count == 1 }
    model.show(Item.named("one"), of: store)
    #expect(!model.isLoading)
    try await store.insert(Item("b", "one"))
    try await until { model.value?.count == 2 }
  }

  @Test("A view's new request replaces the shown one, whose value stays meanwhile")
  func replaced() async throws {
    try await store.save([Item("a", "one"), Item("b", "two")])
    let model = LiveModel<[Item]>()
    model.show(Item.named("one"), of: store)
    try await until { model.value?.map(\.id) == ["a"] }
    model.show(Item.named("two"), of: store)
    #expect(model.isLoading && model.value?.map(\.id) == ["a"])
    try await until { model.value?.map(\.id) == ["b"] && !model.isLoading }
    try await store.insert(Item("c", "two"))
    try await until { model.value?.map(\.id) == ["b", "c"] }
  }

  @Test("A loaded request stays when the view is drawn again")
  func loaded() async throws {
    try await store.save([Item("a", "one"), Item("b", "two")])
    let model = LiveModel<[Item]>()
    model.show(Item.named("one"), of: store)
    try await LiveState(model, in: store).load(Item.named("two"))
    #expect(model.value?.map(\.id) == ["b"])
    model.show(Item.named("one"), of: store)
    try await store.insert(Item("c", "two"))
    try await until { model.value?.map(\.id) == ["b", "c"] }
    model.show(RecordQuery<Item>(), of: store)
    try await until { model.value?.count == 3 }
  }

  @Test("A request whose load is cancelled is shown, without an error")
  func cancelledLoad() async throws {
    try await store.save([Item("a", "one"), Item("b", "two")])
    let model = LiveModel<[Item]>()
    model.show(Item.named("one"), of: store)
    try await until { model.value?.map(\.id) == ["a"] }
    let loading = Task { try await LiveState(model, in: store).load(Item.named("two")) }
    loading.cancel()
    await #expect(throws: BothyError.self) { try await loading.value }
    #expect(model.error == nil)
    try await until { model.value?.map(\.id) == ["b"] }
    try await store.insert(Item("c", "two"))
    try await until { model.value?.map(\.id) == ["b", "c"] }
  }

  @Test("A state without a store names the remedy")
  func storeless() async throws {
    let error = await #expect(throws: (any Error).self) {
      try await LiveState(LiveModel<[Item]>(), in: nil).load(Item.named("one"))
    }
    #expect("\(try #require(error))".contains("Add .store(_:)"))
  }

  @Test("A model that has failed isn't changed by failing again")
  func failsOnce() async throws {
    let model = LiveModel<[Item]>()
    model.fail(MissingStore())
    let isChanged = Mutex(false)
    withObservationTracking {
      _ = (model.error, model.isLoading)
    } onChange: {
      isChanged.withLock { $0 = true }
    }
    model.fail(MissingStore())
    #expect(!isChanged.withLock { $0 } && model.error is MissingStore)
    model.show(RecordQuery<Item>(), of: store)
    try await until { model.value != nil && model.error == nil }
  }

  @Test("Requests of every shape have identities that tell them apart")
  func identities() {
    let all = RecordQuery<Item>()
    let size = \Item.Fields.size
    let plans: [ReadIdentity] = [
      all.plan.identity, all.limit(3).plan.identity, Item.named("one").plan.identity,
      all.count().plan.identity, all.sum(size).plan.identity, all.average(size).plan.identity,
      all.group(by: size).count().plan.identity, all.first().plan.identity,
      Item.named("caf\u{e9}").plan.identity, Item.named("cafe\u{301}").plan.identity,
      SQLQuery("SELECT \(1) AS n", as: Int.self).plan.identity,
      SQLQuery("SELECT \(2) AS n", as: Int.self).plan.identity,
      SQLQuery("SELECT \(2) AS n", as: String.self).plan.identity,
    ]
    #expect(Set(plans).count == plans.count)
    #expect(
      RecordQuery<Item>().in(container: "caf\u{e9}").plan.identity
        != RecordQuery<Item>().in(container: "cafe\u{301}").plan.identity)
    #expect(all.count().plan.identity == RecordQuery<Item>().count().plan.identity)
  }

  @Test("A model that goes away ends its observation")
  func ends() async throws {
    weak var gone: LiveModel<[Item]>?
    do {
      let model = LiveModel<[Item]>()
      gone = model
      model.show(RecordQuery<Item>(), of: store)
      try await until { model.value != nil }
    }
    try await until { gone == nil }
    try await store.insert(Item("a", "one"))
  }

  @Test("A request that fails at once after it began isn't read")
  func failsAtOnce() async throws {
    let model = LiveModel<[Item]>()
    model.show(Item.named("one"), of: store)
    model.fail(BothyError(.closed, "There is no store."))
    for _ in 0..<20 { await Task.yield() }
    #expect((model.error as? BothyError)?.code == .closed && !model.isLoading)
  }
}
