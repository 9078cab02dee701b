import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// A server that begins a new history, and a device that has several scopes of it.
@Suite("Several scopes of a restored server", .timeLimit(.minutes(5)))
struct RestoredScopesTests {
  private static let one = RecordID(type: "Memo", id: "1")

  /// Returns a device with a memo in the container `box`, and another one that pulls everything.
  private func devices(
    in world: SimulatedWorld, _ scopes: [String]
  ) async throws -> (a: SimulatedDevice, b: SimulatedDevice) {
    let a = try world.device("a", memo(1)) {
      $0.scopes = scopes.map { SyncScope(container: $0, includesChildren: true) }
    }
    let b = try world.device("b", memo(1))
    try b.put("Memo", "1", ["title": .text("one")], in: "box")
    await b.store.sync()
    #expect(await a.store.sync().obstacle == nil)
    return (a, b)
  }

  @Test(
    "A container pulled on demand is compared with a new history at once", arguments: [nil, "shelf"])
  func onDemand(container: String?) async throws {
    let world = try SimulatedWorld()
    let (a, b) = try await devices(in: world, ["shelf"])
    #expect(await a.store.sync(container: "box").pulled == 1)
    try await world.storage.startEpoch(space: "test")
    #expect(await a.store.sync(container: container).obstacle == nil)
    await b.store.sync()
    try b.change { _ = try $0.move(Self.one, to: "attic") }
    #expect(await b.store.sync().obstacle == nil)
    #expect(await a.store.sync(container: "box").obstacle == nil)
    #expect(try a.record("Memo", "1") == nil)
  }

  @Test(
    "A record that others moved between two subscriptions of a new history isn't lost",
    arguments: [["box", "shelf"], ["shelf", "box"]])
  func moved(scopes: [String]) async throws {
    let world = try SimulatedWorld()
    let (a, b) = try await devices(in: world, scopes)
    try await world.storage.startEpoch(space: "test")
    await b.store.sync()
    try b.change { _ = try $0.move(Self.one, to: "shelf") }
    #expect(await b.store.sync().obstacle == nil)
    #expect(await a.store.sync().obstacle == nil)
    #expect(try a.record("Memo", "1")?.container == "shelf")
  }

  @Test(
    "A move between two subscriptions that the server lost waits for a decision",
    arguments: [["box", "shelf"], ["shelf", "box"]])
  func lostMove(scopes: [String]) async throws {
    let (folder, time, remote) = (try TemporaryFolder(), VirtualTime(), SwitchedRemote())
    let storage = try SQLiteServerStorage(at: folder.path + "/server.sqlite")
    remote.target = InProcessRemote(SyncService(storage: storage, now: time.reader()))
    var options = SyncOptions.quiet
    options.scopes = scopes.map { SyncScope(container: $0) }
    let store = try SyncedStore(
      at: nil, schema: memo(1), remote: remote, configuration: options,
      clock: SyncClock(now: time.reader()))
    try await store.store.write {
      try $0.insert(AnyRecord("Memo", id: "1", ["title": .text("one")], container: "box"))
    }
    #expect(await store.sync().obstacle == nil)
    try await storage.backup(to: folder.path + "/backup.sqlite")
    try await store.store.write { _ = try $0.move(Self.one, to: "shelf") }
    #expect(await store.sync().obstacle == nil)
    let restored = try SQLiteServerStorage(at: folder.path + "/backup.sqlite")
    try await restored.startEpoch(space: "test")
    remote.target = InProcessRemote(SyncService(storage: restored, now: time.reader()))
    #expect(await store.sync().stop?.name == "otherServer")
    #expect(try store.store.record(Self.one)?.container == "shelf")
  }
}
