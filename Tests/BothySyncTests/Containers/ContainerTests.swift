import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Containers as paths: the pulls, pending work and digests of a container and those below it.
@Suite("Containers", .timeLimit(.minutes(5)))
struct ContainerTests {
  private let scope = SyncScope(container: "trips/oslo", includesChildren: true)

  /// Returns two devices that hold a tree of notes, in which each id is its container.
  private func tree() async throws -> Pair {
    let pair = try Pair()
    try pair.b.change { transaction in
      for path in ["trips/oslo", "trips/oslo/day1", "trips/oslo2", "trips/rome", "Note"] {
        try transaction.insert(Note(id: path, "n"), in: path)
      }
    }
    await pair.b.store.sync()
    return pair
  }

  /// Promises: N-7, R12
  @Test("Pull, fetch, count and digest of a container include only it and its children")
  func recursion() async throws {
    let pair = try await tree()
    let store = pair.a.store
    await store.sync(.pull, container: "trips/oslo")
    #expect(try pair.a.noteIDs() == ["trips/oslo", "trips/oslo/day1"])
    #expect(try store.digest(scope) == store.digest(.everything).renamed(scope))
    #expect(try await store.maintenance.remoteDigest(scope).digest == store.digest(scope).digest)
    await pair.b.store.sync()
    let query = AnyQuery("Note", container: "trips/oslo", includesChildren: true)
    for policy in [ReadPolicy.remote, .local, .syncThenLocal] {
      let found = try await store.fetchResult(query, options: RequestOptions(readPolicy: policy))
      #expect(found.records.map(\.id).sorted() == ["trips/oslo", "trips/oslo/day1"], "\(policy)")
    }
    #expect(try await store.count(query, options: RequestOptions(readPolicy: .remote)) == 2)
  }

  /// Promises: N-19, N-20, R12
  @Test("The containers that need a sync are exactly those with pending changes")
  func needingSync() async throws {
    let pair = try await tree()
    let store = pair.b.store
    #expect(try store.containersNeedingSync().isEmpty)
    try pair.b.retitle("trips/oslo/day1", "edited")
    try pair.b.remove("trips/rome")
    try pair.b.change { try $0.insert(Note(id: "new", "n"), in: "trips/paris") }
    try await store.save(Note(id: "draft", "d"), in: "drafts", options: RequestOptions(writePolicy: .draft))
    try pair.b.change { _ = try $0.move(.note("Note"), to: "trips/bonn") }
    #expect(
      try store.containersNeedingSync() == ["trips/bonn", "trips/oslo/day1", "trips/paris", "trips/rome"])
    try pair.b.restart()
    #expect(try pair.b.store.containersNeedingSync().count == 4)
    #expect(try pair.b.store.pending(in: "trips/oslo").map(\.id.id) == ["trips/oslo/day1"])
    #expect(try pair.b.store.pending(in: "trips").map(\.change) == [.insert, .update, .update, .delete])
    await pair.b.store.sync()
    #expect(try pair.b.store.containersNeedingSync().isEmpty)
  }

  @Test("Fields that are called like columns of the outbox disturb no count by container")
  func fieldNames() async throws {
    let hut = TypeSchema("Hut", fields: [.field("kind", String?.self), .field("awaited", String?.self)])
    let store = try SyncedStore.inMemory(StoreSchema(types: [hut]))
    try await store.store.write { try $0.insert(AnyRecord("Hut", id: "a", ["kind": "bivouac"])) }
    #expect(try store.containersNeedingSync() == ["Hut"])
    #expect(try store.pendingByContainer() == ["Hut": 1])
  }

  @Test("With an age, containers not pulled since then need a sync too")
  func staleContainers() async throws {
    let pair = try await tree()
    try pair.a.restart(configuration: .following([scope]))
    #expect(try pair.a.store.containersNeedingSync(notPulledFor: .seconds(60)) == ["trips/oslo"])
    await pair.a.store.sync()
    #expect(try pair.a.store.containersNeedingSync(notPulledFor: .seconds(60)).isEmpty)
    pair.world.time.advance(by: 60_001)
    #expect(try pair.a.store.containersNeedingSync(notPulledFor: .seconds(60)) == ["trips/oslo"])
    #expect(try pair.a.store.containersNeedingSync().isEmpty)
  }

  /// Promises: S-73, R14
  @Test("A container counts as syncing until just before its report arrives")
  func isSyncing() async throws {
    let pair = try await tree()
    let store = pair.a.store
    var states = store.isSyncing("trips/oslo/day1").makeAsyncIterator()
    #expect(await states.next() == false)
    let latch = Latch()
    pair.a.remote.setBeforeSending { _ in await latch.pass() }
    let sync = Task {
      _ = await store.sync(.pull, container: "trips/oslo")
      return store.status.isSyncing("trips/oslo/day1")
    }
    await latch.reached()
    #expect(await states.next() == true)
    #expect(store.status.isSyncing("trips") && !store.status.isSyncing("trips/rome"))
    latch.open()
    #expect(await sync.value == false)
    #expect(await states.next() == false)
  }

  /// Promises: C-13, R13
  @Test("A second sync of a container joins the first; other containers sync in parallel")
  func joined() async throws {
    let pair = try await tree()
    let store = pair.a.store
    let latch = Latch()
    pair.a.remote.setBeforeSending { request in
      if request.pulls.contains(where: { $0.scope.container == "trips/oslo" }) { await latch.pass() }
    }
    let first = Task { await store.sync(.pull, container: "trips/oslo") }
    await latch.reached()
    let second = Task { await store.sync(.pull, container: "trips/oslo") }
    try await until { store.joinedCount == 1 }
    let beside = Calls()
    let third = Task {
      let report = await store.sync(.pull, container: "trips/rome")
      beside.add()
      return report
    }
    try await until { beside.count == 1 }
    #expect(await third.value.pulled == 1)
    #expect(store.status.isSyncing("trips/oslo") && !store.status.isSyncing("trips/rome"))
    #expect(store.status.isSyncing)
    latch.open()
    let reports = [await first.value, await second.value]
    #expect(reports[0] == reports[1] && reports[0].pulled == 2)
    #expect(pair.a.remote.requests.count == 2)
    #expect(!store.status.isSyncing && store.status.syncing.isEmpty)
  }

  /// Promises: C-13
  @Test("Four containers sync in parallel, and pending work is sent once")
  func sideBySide() async throws {
    let pair = try Pair()
    let names = (1...6).map { "trips/\($0)" }
    try pair.b.change { for name in names { try $0.insert(Note(id: name, "n"), in: name) } }
    await pair.b.store.sync()
    for number in 0..<20 { try pair.a.insert("own\(number)", "waits") }
    let store = pair.a.store
    let latch = Latch()
    let atOnce = Calls()
    pair.a.remote.setBeforeSending { request in
      guard request.operations.isEmpty else { return }
      atOnce.add()
      await latch.pass()
    }
    let syncs = names.map { name in Task { await store.sync(container: name) } }
    try await until { atOnce.count == 4 }
    for _ in 0..<1000 { await Task.yield() }
    #expect(atOnce.count == 4)
    latch.open()
    for sync in syncs { #expect(await sync.value.obstacle == nil) }
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(pair.a.operations.count == 20)
    #expect(try pair.a.noteIDs().count == 26)
    await store.sync()
    #expect(try await pair.isEven())
  }
}

extension ScopeDigest {
  fileprivate func renamed(_ scope: SyncScope) -> ScopeDigest {
    var digest = self
    digest.scope = scope
    return digest
  }
}
