import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Devices whose users lose and regain the right to read a type, after which they fetch all of its records again.
@Suite("Rights to read a type", .faultsStrike, .timeLimit(.minutes(5)))
struct TypeSightTests {
  private static func rules(_ read: Permissions.Access) -> AccessRules {
    var schema = memo(1)
    schema.types[0].permissions = Permissions(read: read)
    return AccessRules(schema: schema)
  }

  /// Returns a world in which everybody reads everything, with the devices of two users.
  private func world(
    _ schema: StoreSchema = memo(1), _ migrations: [Migration] = []
  ) throws -> (world: SimulatedWorld, ann: SimulatedDevice, bob: SimulatedDevice) {
    let world = try SimulatedWorld(rules: Self.rules(.anyone))
    return (
      world, try world.addDevice("ann", schema: memo(1), user: Caller("ann")),
      try world.addDevice("bob", schema: schema, migrations: migrations, user: Caller("bob"))
    )
  }

  @Test("A device that has renamed the type loses and regains its records")
  func renamed() async throws {
    let (world, ann, bob) = try world(
      memo(2, name: "Page"), [Migration(to: 2, .renameType(from: "Memo", to: "Page"))])
    try ann.put("Memo", "1", ["title": .text("one")])
    await ann.store.sync()
    await bob.store.sync()
    #expect(try bob.record("Page", "1")?["title"] == .text("one"))
    world.setRules(Self.rules(.owner))
    await bob.store.sync()
    #expect(try bob.record("Page", "1") == nil)
    world.setRules(Self.rules(.anyone))
    await bob.store.sync()
    #expect(try bob.record("Page", "1")?["title"] == .text("one"))
  }

  @Test("A hidden record goes though its id sorts otherwise by bytes than by Unicode")
  func spelling() async throws {
    let (world, ann, bob) = try world()
    // By bytes it comes before the others, which fill more than a page, and by Unicode after them.
    let hidden = "e\u{301}"
    try ann.put("Memo", hidden, ["title": .text("ann's")])
    await ann.store.sync()
    try bob.change { transaction in
      for number in 1000..<1501 {
        try transaction.insert(AnyRecord("Memo", id: "f\(number)", ["title": .text("bob's")]))
      }
    }
    await bob.store.sync()
    #expect(try bob.record("Memo", hidden) != nil)
    world.setRules(Self.rules(.owner))
    await bob.store.sync()
    #expect(try bob.record("Memo", hidden) == nil)
    #expect(try bob.ids(AnyQuery("Memo")).count == 501)
  }

  @Test("A hidden record goes though the device couldn't read it")
  func unreadable() async throws {
    let (world, _, bob) = try world()
    try await world.storage.write(space: "test") { storage in
      for (id, owner, fields) in [("1", "ann", Self.deep), ("2", "bob", #"{"count":0,"title":"bob's"}"#)] {
        let record = ServerRecord(
          id: RecordID(type: "Memo", id: id), version: String(storage.head + 1), modified: 1, owner: owner,
          fields: FieldsDocument(canonical: Array(fields.utf8)))
        try storage.put([StoredRecord(position: storage.head + 1, record: record)])
      }
    }
    await bob.store.sync()
    #expect(try await bob.store.maintenance.unreadableRecords().map(\.record.id) == ["1"])
    world.setRules(Self.rules(.owner))
    await bob.store.sync()
    #expect(try await bob.store.maintenance.unreadableRecords().isEmpty)
    #expect(try await bob.store.maintenance.verify())
  }

  @Test("Rights that change amid a first pull count for its first page too", arguments: [false, true])
  func amidSnapshot(isGained: Bool) async throws {
    let world = try SimulatedWorld(rules: Self.rules(isGained ? .owner : .anyone))
    let ann = try world.addDevice("ann", schema: memo(1), user: Caller("ann"))
    let other = try world.addDevice("other", schema: memo(1), user: Caller("bob"))
    var configuration = SyncOptions.quiet
    configuration.pageSize = 1
    let bob = try world.addDevice(
      "bob", schema: memo(1), configuration: configuration, user: Caller("bob"))
    try ann.put("Memo", "1", ["title": .text("ann's")])
    await ann.store.sync()
    for id in ["2", "3"] { try other.put("Memo", id, ["title": .text("bob's")]) }
    await other.store.sync()
    bob.loseConnection(after: 1)
    #expect(await bob.store.sync().obstacle == .unreachable)
    world.setRules(Self.rules(isGained ? .anyone : .owner))
    bob.remote.setScript { .none }
    #expect(await bob.store.sync().obstacle == nil)
    #expect(try bob.ids(AnyQuery("Memo")) == (isGained ? ["1", "2", "3"] : ["2", "3"]))
  }

  /// The fields of a record with more nesting than devices read.
  private static let deep =
    #"{"meta":"# + UnreadableRecordStories.nested(60) + #","title":"ann's"}"#
}
