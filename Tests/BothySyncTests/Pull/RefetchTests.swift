import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// The records that a device requests again, and those that it doesn't.
@Suite("Fetching again", .timeLimit(.minutes(5)))
final class RefetchTests {
  /// Keeps worlds alive during a test, because their devices' files are deleted with them.
  private var worlds: [SimulatedWorld] = []

  /// The traffic of a sync: exchanges, queries, records in pages, and records that were stored.
  private struct Traffic: Equatable {
    var exchanges = 1
    var questions = 0
    var records = 0
    var pulled = 0
  }

  private final class Wire: Sendable {
    let records = Calls()
  }

  /// Returns a device that has `count` notes of the server, and the count of records in its pages.
  private func device(
    _ count: Int = 3000, rules: AccessRules = AccessRules(), schema: StoreSchema = .notes,
    user: Caller = Caller("tester"),
    _ configuration: SyncOptions = .quiet
  ) async throws -> (world: SimulatedWorld, device: SimulatedDevice, wire: Wire) {
    let world = try SimulatedWorld(rules: rules)
    worlds.append(world)
    let other = try world.addDevice("other", schema: schema, user: user)
    try other.change { for number in 0..<count { try $0.insert(Note(id: "T\(number)", "start")) } }
    #expect(await other.store.sync().obstacle == nil)
    let wire = Wire()
    var quiet = configuration
    quiet.triggers = []
    let device = try world.addDevice(
      "own", schema: schema, configuration: quiet, user: user,
      onExchange: { _, response in
        for page in response.pages { for _ in page.changes { wire.records.add() } }
      })
    #expect(await device.store.sync().pulled == count)
    #expect(try device.noteIDs().count == count)
    device.remote.forgetRequests()
    return (world, device, wire)
  }

  private func sync(_ device: SimulatedDevice, _ wire: Wire, _ scope: SyncDirection? = nil) async -> Traffic {
    let before = wire.records.count
    device.remote.forgetRequests()
    let report = await device.store.sync(scope)
    #expect(report.obstacle == nil)
    return Traffic(
      exchanges: device.remote.requests.count, questions: device.remote.reads,
      records: wire.records.count - before, pulled: report.pulled)
  }

  private func isWhole(_ device: SimulatedDevice) async throws -> Bool {
    try await device.store.fetchResult(RecordQuery<Note>(), options: RequestOptions(readPolicy: .local))
      .isComplete
  }

  private static let one = Traffic(questions: 1, pulled: 1)
  private static let idle = Traffic()

  /// Promises: N-17, S-25
  @Test("Purging one of 3,000 records fetches that one, and the next sync nothing")
  func purged() async throws {
    let (_, device, wire) = try await device()
    #expect(try device.store.purge(.note("T7")).removed == 1)
    #expect(try await !isWhole(device))
    #expect(await sync(device, wire) == Self.one)
    #expect(try device.title("T7") == "start")
    #expect(try await isWhole(device))
    #expect(await sync(device, wire) == Self.idle)
  }

  @Test("Purged records are requested in chunks of five hundred")
  func chunks() async throws {
    let (_, device, wire) = try await device(1201)
    try device.store.purge(type: "Note")
    #expect(try device.noteIDs().isEmpty)
    #expect(await sync(device, wire) == Traffic(questions: 3, pulled: 1201))
    #expect(try device.noteIDs().count == 1201)
  }

  @Test("A pause ends the requests for purged records before the next one")
  func paused() async throws {
    let (_, device, _) = try await device(1201)
    try device.store.purge(type: "Note")
    let (store, calls) = (device.store, Calls())
    device.remote.setScript {
      if calls.add() == 2 { try? store.pause() }
      return .none
    }
    #expect(await store.sync().obstacle == .paused)
    #expect(device.remote.reads == 1)
    #expect(try device.noteIDs().count == 500)
    try store.resume()
    #expect(await store.sync().pulled == 701)
  }

  @Test(
    "A change that is accepted or evicted fetches its record alone",
    arguments: [Outbox.Decision.keepLocal, .removeLocal])
  func decided(_ resolution: Outbox.Decision) async throws {
    let (_, device, wire) = try await device(rules: .withoutNotes)
    try device.edit("T7") { $0.note = "refused" }
    let failures = await device.store.sync().rejected
    try device.store.resolve(failures, resolution)
    #expect(await sync(device, wire) == Self.one)
    #expect(try device.note("T7")?.note == nil)
    #expect(try device.title("T7") == "start")
    #expect(await sync(device, wire) == Self.idle)
  }

  /// Promises: S-69
  @Test("An edit of an accepted record is applied to the server's version")
  func editedSince() async throws {
    let (_, device, wire) = try await device(3, rules: .withoutNotes)
    try device.edit("T1") { $0.note = "refused" }
    try device.store.resolve(await device.store.sync().rejected, .keepLocal)
    try device.retitle("T1", "later")
    _ = await sync(device, wire)
    #expect(await device.store.sync().rejected.isEmpty)
    #expect(try device.note("T1")?.note == nil)
    #expect(try device.title("T1") == "later")
    #expect(try device.store.outboxEntries().isEmpty)
  }

  /// Promises: N-37, N-47
  @Test("A rejection under the bridge's preset fetches the one record, in the same sync")
  func discarded() async throws {
    let (_, device, wire) = try await device(rules: .withoutNotes, .ntiBridge)
    try device.edit("T7") { $0.note = "refused" }
    let traffic = await sync(device, wire)
    #expect(traffic.records == 0 && traffic.questions == 1)
    #expect(try device.note("T7")?.note == nil)
    #expect(await sync(device, wire) == Self.idle)
  }

  @Test("A mark survives a crash at every step of the sync that answers it")
  func killed() async throws {
    for step in 1... {
      let (_, device, wire) = try await device(5)
      try device.store.purge([.note("T1"), .note("T2")])
      try device.restart()
      device.failPoints.crash(at: step)
      _ = await device.store.sync()
      guard device.failPoints.hasCrashed else { break }
      try device.restart()
      #expect(await device.store.sync().obstacle == nil)
      #expect(try device.noteIDs() == ["T0", "T1", "T2", "T3", "T4"])
      #expect(await sync(device, wire) == Self.idle)
    }
  }

  @Test("A mark ends when the server no longer has or shows the record")
  func absent() async throws {
    var type = Note.schema
    type.permissions = Permissions(read: .owner)
    let (world, device, wire) = try await device(3)
    try device.edit("T1") { $0.note = "mine" }
    try device.edit("T2") { $0.note = "mine" }
    for id in ["T1", "T2"] { try device.store.resolve(.note(id), .keepLocal) }
    let other = world.devices[0]
    try other.remove("T1")
    #expect(await other.store.sync().obstacle == nil)
    let intruder = try world.addDevice("intruder", schema: .notes, user: Caller("somebody"))
    _ = await intruder.store.sync()
    try intruder.store.purge(.note("T0"))
    world.setRules(AccessRules(schema: StoreSchema(types: [type])))
    #expect(await intruder.store.sync().obstacle == nil)
    #expect(try intruder.noteIDs().isEmpty)
    #expect(await sync(device, wire).questions > 0)
    #expect(try device.noteIDs() == ["T0", "T2"])
    #expect(try device.note("T2")?.note == nil)
    #expect(await sync(device, wire) == Self.idle)
  }

  /// Promises: N-15
  @Test("Only a purged container is pulled again")
  func container() async throws {
    let world = try SimulatedWorld()
    worlds.append(world)
    let other = try world.addDevice("other", schema: .notes)
    try other.change { transaction in
      for number in 0..<40 {
        try transaction.insert(Note(id: "T\(number)", "start"), in: number < 10 ? "book/1" : "book/2")
      }
    }
    _ = await other.store.sync()
    let wire = Wire()
    let device = try world.addDevice(
      "own", schema: .notes,
      onExchange: { _, response in
        for page in response.pages { for _ in page.changes { wire.records.add() } }
      })
    _ = await device.store.sync()
    try device.insert("mine", "pending")
    #expect(try device.store.purge(container: "book/1").removed == 10)
    #expect(try device.noteIDs().count == 31)
    let here = RequestOptions(readPolicy: .local)
    func isWhole(_ container: String) async throws -> Bool {
      try await device.store.fetchResult(AnyQuery("Note", container: container), options: here).isComplete
    }
    #expect(try await !isWhole("book/1"))
    #expect(try await isWhole("book/2"))
    let traffic = await sync(device, wire)
    #expect(traffic.records == 10 && traffic.pulled == 10)
    #expect(try device.noteIDs().count == 41)
    #expect(try await isWhole("book/1"))
    #expect(await sync(device, wire) == Self.idle)
    #expect(try device.store.containers().count == 1)
  }

  // MARK: types

  private static let song = TypeSchema("Song", fields: [.field("title", String.self)])

  private static func server(_ types: [TypeSchema]) -> AccessRules {
    AccessRules(schema: StoreSchema(version: 1, types: types))
  }

  @Test(
    "A type that the server's schema gains costs no device a pull",
    arguments: [nil, Permissions.Access.owner])
  func newType(access: Permissions.Access?) async throws {
    let (world, device, wire) = try await device(rules: Self.server([Note.schema]))
    var song = Self.song
    if let access { song.permissions = Permissions(read: access) }
    world.setRules(Self.server([Note.schema, song]))
    #expect(await sync(device, wire) == Self.idle)
    #expect(await sync(device, wire) == Self.idle)
  }

  @Test("Only a type whose readers change is fetched again, by devices that declare it")
  func changedRights() async throws {
    let both = StoreSchema(version: 1, types: [Note.schema, Self.song])
    let (world, device, wire) = try await device(rules: Self.server([Note.schema, Self.song]), schema: both)
    let other = world.devices[0]
    try other.change { transaction in
      for number in 0..<3 {
        try transaction.insert(AnyRecord("Song", id: "S\(number)", ["title": .text("la")]))
      }
    }
    _ = await other.store.sync()
    let plain = try world.addDevice("plain", schema: .notes)
    for device in [device, plain] { _ = await device.store.sync() }
    var hidden = Self.song
    hidden.permissions = Permissions(read: .nobody)
    world.setRules(Self.server([Note.schema, hidden]))
    #expect(await sync(device, wire) == Traffic(questions: 1, pulled: 3))
    #expect(try await device.store.store.count(AnyQuery("Song")) == 0)
    plain.remote.forgetRequests()
    #expect(await plain.store.sync().pulled == 0)
    #expect(plain.remote.reads == 0)
    world.setRules(Self.server([Note.schema, Self.song]))
    #expect(await sync(device, wire) == Traffic(questions: 1, pulled: 3))
    #expect(await sync(device, wire) == Self.idle)
    // An update of the app that declares the type then requests it.
    _ = await plain.store.sync()
    try plain.restart(schema: both)
    #expect(await plain.store.sync().pulled == 3)
    #expect(try await plain.store.store.count(AnyQuery("Song")) == 3)
    #expect(plain.remote.reads == 1)
  }
}
