import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// Requests without pages for a server whose history isn't the one that the file followed.
@Suite("Another history and requests that pull nothing", .timeLimit(.minutes(5)))
struct UncomparedHistoryTests {
  /// A device whose server a test replaces by another one.
  private struct Case {
    let folder: TemporaryFolder
    let time = VirtualTime()
    let remote = SwitchedRemote()
    let store: SyncedStore

    /// Creates a device that has sent the memo `1` to its first server.
    init(_ configure: (inout SyncOptions) -> Void) async throws {
      folder = try TemporaryFolder()
      var options = SyncOptions.quiet
      configure(&options)
      store = try SyncedStore(
        at: folder.path + "/device.sqlite", schema: memo(1), remote: remote, configuration: options,
        options: StoreOptions(durability: .normal, processes: .single, readers: 1),
        clock: SyncClock(now: time.reader()))
      _ = try replace()
      try await put("1")
      #expect(await store.sync().pushed == 1)
    }

    func replace() throws -> SQLiteServerStorage {
      let storage = try SQLiteServerStorage()
      remote.target = InProcessRemote(SyncService(storage: storage, now: time.reader()))
      return storage
    }

    func put(_ id: String) async throws {
      try await store.store.write {
        try $0.insert(AnyRecord("Memo", id: id, ["title": .text("one")]))
      }
    }

    func ids(_ storage: SQLiteServerStorage) async throws -> [String] {
      try await storage.read(space: "test") { storage in
        var ids: [String] = []
        try storage.forEachRecord(in: .everything) { ids.append($0.record.id.id) }
        return ids.sorted()
      }
    }
  }

  @Test("A device that pulls nothing goes on sending to a restored server")
  func restored() async throws {
    let world = try SimulatedWorld()
    let device = try world.device("a", memo(1)) { $0.scopes = [] }
    try device.put("Memo", "1", ["title": .text("one")])
    #expect(await device.store.sync().pushed == 1)
    try await world.storage.startEpoch(space: "test")
    for id in ["2", "3"] {
      try device.put("Memo", id, ["title": .text("one")])
      let report = await device.store.sync()
      #expect(report.obstacle == nil && report.pushed == 1)
    }
    #expect(try await world.serverRecords().count == 3)
  }

  @Test("A device that pulls nothing carries out a decision about another server", arguments: [false, true])
  func decided(givesBack: Bool) async throws {
    let device = try await Case { $0.scopes = [] }
    let other = try device.replace()
    try await device.put("2")
    #expect(await device.store.sync().obstacle == .otherServer)
    let maintenance = device.store.maintenance
    let report = try await givesBack ? maintenance.uploadMine() : maintenance.adoptServer()
    #expect(report.obstacle == nil && report.pushed == (givesBack ? 2 : 1))
    #expect(try await device.ids(other) == (givesBack ? ["1", "2"] : ["2"]))
  }

  @Test("A sync that only sends carries out a decision made offline")
  func decidedOffline() async throws {
    let device = try await Case { $0.direction = .push }
    let other = try device.replace()
    try await device.put("2")
    #expect(await device.store.sync().obstacle == .otherServer)
    let target = device.remote.target
    device.remote.target = nil
    #expect(try await device.store.maintenance.adoptServer().obstacle == .unreachable)
    device.remote.target = target
    let report = await device.store.sync()
    #expect(report.obstacle == nil && report.pushed == 1)
    #expect(try await device.ids(other) == ["2"])
  }

  @Test(
    "A save reaches a restored server that lost nothing",
    arguments: [WritePolicy.remote, .remoteThenLocal])
  func awaited(policy: WritePolicy) async throws {
    let world = try SimulatedWorld()
    let device = try world.device("a", memo(1))
    try device.put("Memo", "1", ["title": .text("one")])
    await device.store.sync()
    try await world.storage.startEpoch(space: "test")
    let record = AnyRecord("Memo", id: "2", ["title": .text("two")])
    _ = try await device.store.save(record, options: RequestOptions(writePolicy: policy))
    #expect(try await world.server("Memo", "2")?["title"] == "two")
    #expect(try device.store.outboxEntries().isEmpty)
  }

  @Test("A save reaches a restored server from a device that pulls on demand alone")
  func onDemand() async throws {
    let world = try SimulatedWorld()
    let device = try world.device("a", memo(1)) { $0.scopes = [] }
    try device.put("Memo", "1", ["title": .text("one")])
    #expect(await device.store.sync(container: "Memo").obstacle == nil)
    try await world.storage.startEpoch(space: "test")
    let record = AnyRecord("Memo", id: "2", ["title": .text("two")])
    _ = try await device.store.save(record, options: RequestOptions(writePolicy: .remote))
    #expect(try await world.server("Memo", "2")?["title"] == "two")
    #expect(try device.store.outboxEntries().isEmpty)
  }

  @Test("A save that waits for a server which lost records names that server")
  func lost() async throws {
    let device = try await Case { _ in }
    _ = try device.replace()
    let record = AnyRecord("Memo", id: "2", ["title": .text("two")])
    let error = await #expect(throws: BothyError.self) {
      try await device.store.save(record, options: RequestOptions(writePolicy: .remote))
    }
    #expect(error?.code == .otherServer)
  }
}
