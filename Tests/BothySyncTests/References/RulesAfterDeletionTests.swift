import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Synchronization
import Testing

/// The delete rules of records that refer to one which the server deleted.
@Suite("Delete rules after a deletion on the server", .faultsStrike, .timeLimit(.minutes(5)))
struct RulesAfterDeletionTests {
  private static let list = RecordID(type: "List", id: "L")
  private static let schema = StoreSchema(
    types: [
      TypeSchema("List", fields: [FieldSchema("name", .text)]),
      TypeSchema(
        "Todo",
        fields: [
          FieldSchema("title", .text), FieldSchema("list", .reference(to: "List", onDelete: .cascade)),
        ]),
      TypeSchema(
        "Draft", fields: [FieldSchema("list", .reference(to: "List", onDelete: .cascade))], synced: false),
      TypeSchema(
        "Pin", fields: [FieldSchema("list", .reference(to: "List", onDelete: .nullify), optional: true)],
        synced: false),
      TypeSchema(
        "Lock", fields: [FieldSchema("list", .reference(to: "List", onDelete: .deny))], synced: false),
    ])

  @Test("Types of this device follow a deletion by others", arguments: [false, true])
  func byOthers(isEdited: Bool) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema)
    let b = try world.device("b", Self.schema, policy: .remoteWins)
    try a.put("List", "L", ["name": "home"])
    await a.store.sync()
    await b.store.sync()
    for type in ["Draft", "Pin", "Lock"] { try b.put(type, "1", ["list": "L"]) }
    if isEdited { try b.set("List", "L", ["name": "mine"]) }
    try a.change { _ = try $0.delete(Self.list) }
    await a.store.sync()
    #expect(await b.store.sync().obstacle == nil)
    #expect(try b.record("List", "L") == nil)
    #expect(try b.record("Draft", "1") == nil)
    #expect(try b.record("Pin", "1")?["list"] == .null)
    #expect(try b.record("Lock", "1")?["list"] == "L")
    #expect(try b.store.outboxEntries().isEmpty)
  }

  @Test("Types of this device follow a deletion by others after the record was purged")
  func purged() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema)
    let b = try world.device("b", Self.schema)
    try a.put("List", "L", ["name": "home"])
    await a.store.sync()
    await b.store.sync()
    for type in ["Draft", "Pin"] { try b.put(type, "1", ["list": "L"]) }
    try b.store.purge(Self.list)
    #expect(try b.record("Draft", "1")?["list"] == "L")
    try a.change { _ = try $0.delete(Self.list) }
    await a.store.sync()
    #expect(await b.store.sync().obstacle == nil)
    #expect(try b.record("Draft", "1") == nil)
    #expect(try b.record("Pin", "1")?["list"] == .null)
  }

  @Test(
    "A deletion that the server gets first carries out its rules",
    arguments: [WritePolicy.remote, .remoteThenLocal])
  func serverFirst(policy: WritePolicy) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema)
    try a.put("List", "L", ["name": "home"])
    try a.put("Todo", "T", ["title": "paint", "list": "L"])
    await a.store.sync()
    for type in ["Draft", "Pin"] { try a.put(type, "1", ["list": "L"]) }
    try await a.store.delete(Self.list, options: RequestOptions(writePolicy: policy))
    #expect(try a.record("List", "L") == nil)
    #expect(try a.record("Todo", "T") == nil)
    #expect(try a.record("Draft", "1") == nil)
    #expect(try a.record("Pin", "1")?["list"] == .null)
    #expect(await a.store.sync().pushed == 1)
    #expect(try await world.serverRecords()[RecordID(type: "Todo", id: "T")]?.isDeleted ?? true)
    #expect(try a.store.diagnose().findings.isEmpty)
  }

  @Test("A deletion that is kept here while it is sent leaves no child behind")
  func keptHere() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema)
    try a.put("List", "L", ["name": "home"])
    try a.put("Todo", "T", ["title": "paint", "list": "L"])
    await a.store.sync()
    let (store, calls) = (a.store, Calls())
    a.remote.setDuringExchange {
      guard calls.add() == 1 else { return }
      do { try store.resolve(Self.list, .keepLocal) } catch { Issue.record(error) }
    }
    // Its caller may hear of either end.
    _ = try? await a.store.delete(Self.list, options: RequestOptions(writePolicy: .remoteThenLocal))
    #expect(try calls.count > 0 && a.record("Todo", "T") == nil)
    #expect(await a.store.sync().obstacle == nil)
    #expect(try await world.serverRecords()[RecordID(type: "Todo", id: "T")]?.isDeleted ?? true)
    #expect(try await a.store.maintenance.verify())
  }

  private struct Ended: Error {}

  @Test("A deletion sent to a lost server carries out its rules")
  func serverLost() async throws {
    let folder = try TemporaryFolder()
    let (remote, time) = (SwitchedRemote(), VirtualTime())
    func use(_ name: String) throws {
      let storage = try SQLiteServerStorage(at: folder.path + "/\(name).sqlite")
      remote.target = InProcessRemote(SyncService(storage: storage, now: time.reader()))
    }
    func open(_ onStep: (@Sendable (StoreStep, WriteOrigin) throws -> Void)? = nil) throws -> SyncedStore {
      var options = StoreOptions(processes: .single)
      options.onStep = onStep
      return try SyncedStore(
        at: folder.path + "/a.sqlite", schema: Self.schema, remote: remote, configuration: .quiet,
        options: options, clock: SyncClock(now: time.reader()))
    }
    try use("first")
    let (isEnding, hasEnded) = (Locked(false), Locked(false))
    // The process ends when the deletion is durable, and not sent yet.
    let store = try open { step, origin in
      if isEnding.value && step == .committed && origin == .remote { hasEnded.value = true }
      if hasEnded.value { throw Ended() }
    }
    try await store.store.write { transaction in
      try transaction.insert(AnyRecord("List", id: "L", ["name": "home"]))
      try transaction.insert(AnyRecord("Todo", id: "T", ["title": "paint", "list": "L"]))
    }
    #expect(await store.sync().pushed == 2)
    isEnding.value = true
    await #expect(throws: Ended.self) {
      _ = try await store.delete(Self.list, options: RequestOptions(writePolicy: .remoteThenLocal))
    }
    try store.close()
    try use("second")
    let again = try open()
    #expect(try again.outboxEntries().map(\.id) == [Self.list])
    #expect(try await again.maintenance.uploadMine().obstacle == nil)
    #expect(await again.sync().obstacle == nil)
    #expect(try again.store.record(RecordID(type: "Todo", id: "T")) == nil)
    #expect(try again.outboxEntries().isEmpty)
    #expect(try await remote.digest(.everything).count == 0)
    try again.close()
  }

  private func open(
    _ path: String, _ remote: any RemoteStorage, _ time: VirtualTime,
    _ onStep: (@Sendable (StoreStep, WriteOrigin) throws -> Void)? = nil
  ) throws -> SyncedStore {
    var options = StoreOptions(processes: .single)
    options.onStep = onStep
    return try SyncedStore(
      at: path, schema: Self.schema, remote: remote, configuration: .quiet, options: options,
      clock: SyncClock(now: time.reader()))
  }

  /// The other server lacks the list and has its todo. It takes no changes at first.
  @Test("A deletion by a rule of another server's snapshot can be reverted")
  func otherServer() async throws {
    let (folder, time) = (try TemporaryFolder(), VirtualTime())
    func server(_ name: String) throws -> InProcessRemote {
      let storage = try SQLiteServerStorage(at: folder.path + "/\(name).sqlite")
      return InProcessRemote(SyncService(storage: storage, now: time.reader()))
    }
    let todo = AnyRecord("Todo", id: "T", ["title": "paint", "list": "L"])
    let (first, second) = (try server("first"), try server("second"))
    let other = try open(folder.path + "/b.sqlite", second, time)
    try await other.store.write { try $0.insert(todo) }
    #expect(await other.sync().pushed == 1)
    try other.close()
    let (isEnding, hasEnded) = (Locked(false), Locked(false))
    // The process ends when the deletion is durable, and not sent yet.
    let store = try open(folder.path + "/a.sqlite", first, time) { step, origin in
      if isEnding.value && step == .committed && origin == .remote { hasEnded.value = true }
      if hasEnded.value { throw Ended() }
    }
    try await store.store.write { transaction in
      try transaction.insert(AnyRecord("List", id: "L", ["name": "home"]))
      try transaction.insert(todo)
    }
    #expect(await store.sync().pushed == 2)
    isEnding.value = true
    await #expect(throws: Ended.self) {
      _ = try await store.delete(Self.list, options: RequestOptions(writePolicy: .remoteThenLocal))
    }
    try store.close()
    let busy = RewritingRemote(second) { request, server throws(RemoteError) in
      if request.operations.isEmpty { return try await server.exchange(request) }
      throw RemoteError(.throttled, "The server is busy.", status: 429, retryAfter: 1)
    }
    let again = try open(folder.path + "/a.sqlite", busy, time)
    #expect(try await again.maintenance.uploadMine().obstacle == .busyServer)
    let entry = try #require(try again.outboxEntries().first { $0.id == todo.recordID })
    #expect(entry.change == .delete && entry.remoteVersion == nil)
    try again.resolve(todo.recordID, .revert)
    #expect(try again.store.record(todo.recordID)?["title"] == "paint")
    try again.close()
  }

  @Test("References stay when their record only leaves this device")
  func evicted() async throws {
    let world = try SimulatedWorld()
    let home = SyncScope(container: "home", includesChildren: false)
    let a = try world.device("a", Self.schema)
    try a.put("List", "L", ["name": "home"], in: "home")
    await a.store.sync()
    let b = try world.addDevice("b", schema: Self.schema, configuration: .following([home]))
    await b.store.sync()
    for type in ["Draft", "Pin"] { try b.put(type, "1", ["list": "L"]) }
    let elsewhere = SyncScope(container: "elsewhere", includesChildren: false)
    #expect(try await b.store.follow([elsewhere]) == 1)
    for type in ["Draft", "Pin"] { #expect(try b.record(type, "1")?["list"] == "L") }
    try await b.store.follow([home])
    await b.store.sync()
    #expect(try b.record("List", "L")?["name"] == "home")
  }

  @Test("A deletion that is undone after its own tombstone came carries out its rules")
  func undoneAfterTombstone() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema)
    try a.put("List", "L", ["name": "home"])
    try a.put("Todo", "1", ["title": "oil", "list": "L"])
    await a.store.sync()
    let service = world.service
    let second = try SyncedStore(
      at: a.path, schema: Self.schema,
      remote: InProcessRemote(space: world.space, user: Caller("tester")) { service }, configuration: .quiet)
    a.remote.plan(.lostAnswer, on: .operations, times: 1)
    a.remote.setDuringExchange { _ = await Task.detached { await second.sync(.pull) }.value }
    await #expect(throws: BothyError.self) {
      try await a.store.delete(Self.list, options: .saving(.remote))
    }
    a.remote.setDuringExchange {}
    #expect(try a.record("List", "L") == nil)
    #expect(try a.record("Todo", "1") == nil)
    #expect(try a.store.unansweredSaves().isEmpty)
    await a.store.sync()
    #expect(try await world.serverRecords().isEmpty)
  }

  @Test("A deletion that another process sent carries out its rules after it was undone")
  func undone() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema)
    try a.put("List", "L", ["name": "home"])
    try a.put("Todo", "1", ["title": "oil", "list": "L"])
    await a.store.sync()
    let service = world.service
    let remote = FaultyRemote(InProcessRemote(space: world.space, user: Caller("tester")) { service })
    let second = try SyncedStore(
      at: a.path, schema: Self.schema, remote: remote, configuration: .quiet)
    let (isAnswered, answered) = AsyncStream<Void>.makeStream()
    let (isUndone, undone) = AsyncStream<Void>.makeStream()
    remote.setDuringExchange {
      answered.finish()
      for await _ in isUndone {}
    }
    a.remote.plan(.lostRequest, on: .operations, times: 1)
    let syncing = Mutex<Task<SyncReport, Never>?>(nil)
    a.remote.setBeforeSending { _ in
      let task = Task { await second.sync() }
      syncing.withLock { $0 = task }
      for await _ in isAnswered {}
    }
    await #expect(throws: BothyError.self) {
      try await a.store.delete(Self.list, options: .saving(.remote))
    }
    a.remote.setBeforeSending { _ in }
    #expect(try a.record("List", "L") != nil)
    undone.finish()
    _ = await syncing.withLock { $0 }?.value
    await second.sync()
    #expect(try a.record("List", "L") == nil)
    #expect(try a.record("Todo", "1") == nil)
    #expect(try await world.serverRecords().isEmpty)
  }
}
