import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Synchronization
import Testing

/// The server's deletion of old data, which spares all that a device in use may still need.
@Suite("Upkeep of a space", .timeLimit(.minutes(5)))
struct UpkeepTests {
  private let day = RetentionPolicy.day
  private let terms = RetentionPolicy(
    tombstoneAge: 90 * RetentionPolicy.day, acknowledgedAge: 7 * RetentionPolicy.day)

  private func floor(_ world: SimulatedWorld) async throws -> Int64 {
    try await world.storage.read(space: "test") { $0.floor }
  }

  private func tombstones(_ world: SimulatedWorld) async throws -> Int {
    try await world.storage.statistics(of: "test").tombstones
  }

  /// Acknowledges what the device pulled, as a server does.
  private func acknowledge(_ world: SimulatedWorld, _ device: String) async throws {
    let first = SyncRequest(device: device, pulls: [.init(.everything)])
    let page = try #require(
      try await world.service.sync(space: "test", user: Caller("tester"), first).pages.first)
    let request = SyncRequest(device: device, pulls: [.init(.everything, cursor: page.cursor)])
    try await world.service.acknowledge(space: "test", request)
  }

  /// Runs one transaction of the app.
  private func change(_ device: SimulatedDevice, _ body: (WriteTransaction) throws -> Void) throws {
    try device.store.store.write(body)
  }

  private func write(_ world: SimulatedWorld, _ device: SimulatedDevice, delete: Bool = false) async throws {
    if delete {
      try change(device) { _ = try $0.delete(Note.self, id: "n") }
    } else {
      try change(device) { try $0.insert(Note(id: "n", "text")) }
    }
    #expect(await device.store.sync().obstacle == nil)
  }

  /// Returns a world in which one note was created and deleted.
  private func deleted() async throws -> SimulatedWorld {
    let world = try SimulatedWorld()
    let device = try world.addDevice(schema: .notes)
    try await write(world, device)
    try await write(world, device, delete: true)
    return world
  }

  /// Promises: A-31
  @Test("Tombstones expire by the server's clock, whatever time their editor claims")
  func age() async throws {
    let world = try await deleted()
    _ = try await world.service.upkeep(space: "test", terms)
    world.time.advance(by: 89 * day)
    #expect(try await world.service.upkeep(space: "test", terms).floor == nil)
    #expect(try await tombstones(world) == 1)
    world.time.advance(by: day + 1)
    let head = try await world.storage.read(space: "test") { $0.head }
    #expect(try await world.service.upkeep(space: "test", terms).floor == head)
    #expect(try await tombstones(world) == 0)
    #expect(try await floor(world) == head)
  }

  /// Promises: A-31
  @Test("Tombstones expire early once every device in use has them, and not before")
  func acknowledged() async throws {
    let world = try await deleted()
    try await acknowledge(world, "a")
    _ = try await world.service.upkeep(space: "test", terms)
    // b has the insertion but not the deletion.
    try await world.storage.acknowledge(
      space: "test", device: "b", scope: "s", position: 1, at: world.time.now)
    world.time.advance(by: 8 * day)
    #expect(try await world.service.upkeep(space: "test", terms).floor == 1)
    #expect(try await tombstones(world) == 1)
    try await acknowledge(world, "a")
    try await world.storage.acknowledge(
      space: "test", device: "b", scope: "s", position: 2, at: world.time.now)
    #expect(try await world.service.upkeep(space: "test", terms).floor == 2)
    #expect(try await tombstones(world) == 0)
  }

  @Test("Without known devices, only the age of tombstones counts")
  func unknownDevices() async throws {
    let world = try await deleted()
    _ = try await world.service.upkeep(space: "test", terms)
    world.time.advance(by: 30 * day)
    #expect(try await world.service.upkeep(space: "test", terms).floor == nil)
    #expect(try await tombstones(world) == 1)
  }

  /// Promises: Scenario-17
  @Test("A device that was away too long starts over and loses no unsent edit")
  func away() async throws {
    let world = try SimulatedWorld()
    let (here, away) = (try world.addDevice(schema: .notes), try world.addDevice(schema: .notes))
    try change(here) { for id in ["a", "b"] { try $0.insert(Note(id: id, "old")) } }
    for device in [here, away] { #expect(await device.store.sync().obstacle == nil) }
    _ = try await world.service.upkeep(space: "test", terms)
    try change(here) { _ = try $0.delete(Note.self, id: "a") }
    #expect(await here.store.sync().obstacle == nil)
    try change(away) { _ = try $0.update(Note.self, id: "b") { $0.note = "written away" } }
    _ = try await world.service.upkeep(space: "test", terms)
    world.time.advance(by: 100 * day)
    #expect(try await world.service.upkeep(space: "test", terms).floor != nil)
    #expect(try await tombstones(world) == 0)
    #expect(await away.store.sync().rebased == [.everything])
    #expect(try await away.store.store.fetch(Note.self, id: "a") == nil)
    #expect(await here.store.sync().obstacle == nil)
    #expect(try await here.store.store.fetch(Note.self, id: "b")?.note == "written away")
    let digest = try await world.serverDigest().digest
    for device in [here, away] { #expect(try device.store.digest().digest == digest) }
  }

  @Test("Invalid cursors and those of another epoch aren't recorded")
  func foreignCursors() async throws {
    let world = try await deleted()
    try await acknowledge(world, "a")
    #expect(try await world.storage.acknowledged(space: "test", since: 0) == 2)
    try await world.storage.startEpoch(space: "test")
    #expect(try await world.storage.acknowledged(space: "test", since: 0) == nil)
    let odd = SyncRequest(
      device: "a", pulls: [.init(.everything, cursor: "x.7.y"), .init(.everything, cursor: "odd")])
    try await world.service.acknowledge(space: "test", odd)
    #expect(try await world.storage.acknowledged(space: "test", since: 0) == nil)
  }

  @Test("A blob without records is deleted after the grace time, and others are kept")
  func blobs() async throws {
    let pair = try SnapPair()
    let service = pair.world.service
    let named = try await pair.a.snap("1", picture())
    let unnamed = try await pair.a.snap("2", picture(15, 2))
    await pair.a.store.sync()
    let vault = try #require(service.blobs)
    #expect(try await vault.kept(in: "test").count == 2)
    try change(pair.a) { _ = try $0.delete(Snap.self, id: "2") }
    await pair.a.store.sync()
    let grace = RetentionPolicy(blobGrace: 7 * day)
    #expect(try await service.upkeep(space: "test", grace).blobs == 0)
    pair.world.time.advance(by: 8 * day)
    // Without the collection of blobs, no blob is deleted.
    #expect(try await service.upkeep(space: "test", grace, collectsBlobs: false).blobs == 0)
    // A request for the blob, as before an upload, postpones its deletion.
    _ = try await service.blobHolding(space: "test", unnamed.sha256)
    #expect(try await service.upkeep(space: "test", grace).blobs == 0)
    pair.world.time.advance(by: 8 * day)
    #expect(try await service.upkeep(space: "test", grace).blobs == 1)
    #expect(try await service.blobHolding(space: "test", named.sha256) == .whole(size: Int64(named.size)))
    #expect(try await service.blobHolding(space: "test", unnamed.sha256) == .part(0))
    // The grace time is never shorter than devices expect.
    #expect(RetentionPolicy(blobGrace: 0).blobGrace == 2 * day)
  }

  @Test(
    "An export restores owners, sharing and lists, and importing it again changes nothing")
  func exportAndImport() async throws {
    let permissions = Permissions(read: .shared, update: .shared, delete: .owner)
    var schema = StoreSchema.notes
    schema.types[0].permissions = permissions
    let world = try SimulatedWorld(rules: AccessRules(schema: schema))
    let ann = Caller("ann")
    func perform(_ operation: BothySync.SyncOperation) async throws {
      let verdict = try await world.service.perform(space: "test", user: ann, operation)
      if case .applied = verdict { return }
      Issue.record("\(verdict)")
    }
    let list = UserList(id: "L", name: "friends", members: ["bob"])
    try await perform(SyncOperation(id: "1", kind: .insert, record: list.recordID, fields: list.fields))
    let fields = try await note(in: world)
    try await perform(
      SyncOperation(
        id: "2", kind: .insert, record: .note("n"), fields: fields,
        sharing: SharingChange(add: .lists("L"))))
    let collected = Mutex<[ServerRecord]>([])
    try await world.service.export(space: "test") { record in collected.withLock { $0.append(record) } }
    let records = collected.withLock { $0 }
    #expect(records.count == 2)
    let bob = Caller("bob")
    let done = try await world.service.restore(records, into: "copy")
    #expect(done.inserted == 2 && done.updated == 0)
    let copied = try #require(try await world.service.record(space: "copy", user: bob, .note("n")))
    #expect(copied.owner == "ann" && copied.sharing == .lists("L"))
    #expect(try await world.service.record(space: "copy", user: Caller("cid"), .note("n")) == nil)
    let (first, second) = (
      try await world.service.digest(space: "test", user: ann, .everything),
      try await world.service.digest(space: "copy", user: ann, .everything)
    )
    #expect(first.digest == second.digest && first.count == second.count)
    #expect(try await world.service.restore(records, into: "copy").unchanged == 2)
    try await world.storage.remove(space: "copy")
    #expect(try await world.storage.spaces() == ["test"])
  }

  @Test("An export whose storage lost its connection fails, and gives no record twice")
  func lostExport() async throws {
    let storage = try SQLiteServerStorage()
    for id in ["a", "b"] {
      let verdict = try await SyncService(storage: storage, now: { 1000 }).perform(
        space: "s", user: Caller("ann"), SyncOperation(id: id, kind: .insert, record: .note(id)))
      guard case .applied = verdict else {
        Issue.record("\(verdict)")
        continue
      }
    }
    let given = Locked<[String]>([])
    let service = SyncService(storage: RepeatingStorage(base: storage), now: { 1000 })
    let error = await #expect(throws: BothyError.self) {
      try await service.export(space: "s") { record in given.change { $0.append(record.id.id) } }
    }
    #expect(error?.code == .unreachable)
    #expect(given.value == ["a", "b"])
  }

  private func note(in world: SimulatedWorld) async throws -> [String: JSONValue] {
    let device = try world.addDevice(schema: .notes, space: "other")
    try change(device) { try $0.insert(Note(id: "n", "text")) }
    _ = await device.store.sync()
    let record = try await world.serverRecords("other")[.note("n")]
    try await world.storage.remove(space: "other")
    return try record?.fields.members() ?? [:]
  }
}

/// A storage that loses its connection at the end of a read, and reads again as that in PostgreSQL does.
private struct RepeatingStorage: ServerStorage {
  let base: SQLiteServerStorage

  var identity: String { base.identity }

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result {
    try await base.write(space: space, body)
  }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    _ = try await base.read(space: space, body)
    return try await base.read(space: space, body)
  }
}
