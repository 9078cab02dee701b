import BothyStore
import BothySync
import BothyTesting
import Testing

/// Enums with cases that an older app doesn't know, written by a newer one.
@Suite("Cases of a newer app", .timeLimit(.minutes(5)))
struct UnknownCaseTests {
  enum State: String, FieldConvertible { case open, done }
  enum NewState: String, FieldConvertible { case open, done, paused }
  enum Level: String, FieldConvertible { case low, high }

  /// A type of which the newer app knows one more state.
  struct Errand<Kind: FieldConvertible>: Entity {
    static var typeName: String { "Errand" }
    static var schema: TypeSchema {
      TypeSchema(
        "Errand",
        fields: [
          .field("title", String.self), .field("state", Kind.self),
          .field("level", Level.self, default: .low),
        ])
    }

    var id: String
    var title: String
    var state: Kind
    var level: Level
    var readMark = ReadMark()

    func encode(to fields: inout FieldEncoder) {
      title.encodeField(to: &fields)
      state.encodeField(to: &fields)
      level.encodeField(to: &fields)
    }

    init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
      self.id = id
      title = try String(fromField: &fields)
      state = try Kind(fromField: &fields)
      level = try Level(fromField: &fields)
      readMark = fields.readMark
    }
  }

  private typealias Old = Errand<State>

  private struct Fleet {
    let world: SimulatedWorld
    let newer: SimulatedDevice
    let older: SimulatedDevice

    init() throws {
      var configuration = SyncOptions.quiet
      configuration.merging = MergePolicies(default: .fieldByField)
      world = try SimulatedWorld()
      newer = try world.addDevice(
        "newer",
        schema: StoreSchema(
          types: [
            TypeSchema(
              "Errand",
              fields: [
                FieldSchema("title", .text), FieldSchema("state", .text),
                FieldSchema("level", .text, default: "low"),
              ])
          ]), configuration: configuration)
      older = try world.addDevice("older", schema: StoreSchema(Old.self), configuration: configuration)
    }

    func write(_ id: String, _ fields: [String: FieldValue]) async throws {
      try newer.change { transaction in
        let record = RecordID(type: "Errand", id: id)
        if try transaction.exists(record) {
          _ = try transaction.update(record, fields: fields)
        } else {
          try transaction.insert(
            AnyRecord("Errand", id: id, ["title": "start", "state": "open"].merging(fields) { $1 }))
        }
      }
      await newer.store.sync()
    }

    func server(_ id: String) async throws -> [String: JSONValue]? {
      try await world.serverRecords()[RecordID(type: "Errand", id: id)]?.fields.members()
    }

    func old(_ id: String = "E1") throws -> Old? { try older.store.store.fetch(Old.self, id: id) }

    func edit(_ change: @escaping (inout Old) -> Void) async throws {
      try older.change { _ = try $0.update(Old.self, id: "E1", change) }
      await older.store.sync()
    }
  }

  private func ids<E: Entity>(_ type: E.Type, _ fleet: Fleet) throws -> [String] {
    try fleet.older.store.store.fetch(RecordQuery<E>()).map(\.id)
  }

  private func id(_ name: String) -> RecordID { RecordID(type: "Errand", id: name) }

  /// Promises: A-14
  @Test("A record with an unknown case is quarantined, and appears after the update")
  func setAside() async throws {
    let fleet = try Fleet()
    for (name, state) in [("E1", "open"), ("E2", "paused"), ("E3", "done")] {
      try await fleet.write(name, ["state": .text(state)])
    }
    let older = fleet.older
    let report = await older.store.sync()
    #expect(report.obstacle == nil && report.unreadable.map(\.record) == [id("E2")])
    #expect(try ids(Old.self, fleet) == ["E1", "E3"])
    #expect(try await older.store.store.count(RecordQuery<Old>()) == 2)
    let listed = try await older.store.maintenance.unreadableRecords()
    #expect(listed == report.unreadable)
    #expect(listed.first?.reason.contains("paused isn't a case of State") ?? false)
    #expect(try older.store.diagnose().findings.map(\.severity) == [.warning])
    let there = try await fleet.world.serverDigest().digest
    let here = try older.store.digest().digest
    #expect(here == there)
    try older.restart(schema: StoreSchema(Errand<NewState>.self))
    #expect(try ids(Errand<NewState>.self, fleet) == ["E1", "E2", "E3"])
    #expect(try await older.store.maintenance.unreadableRecords().isEmpty)
    #expect(try older.store.diagnose().findings.isEmpty)
    #expect(try await fleet.world.serverDigest().digest == older.store.digest().digest)
  }

  @Test("An old app's edit never writes over a case that it doesn't know")
  func edited() async throws {
    let fleet = try Fleet()
    try await fleet.write("E1", [:])
    await fleet.older.store.sync()
    try await fleet.write("E1", ["state": "paused"])
    try await fleet.edit { $0.title = "mine" }
    #expect(try fleet.older.store.rejectedEntries().map(\.id) == [id("E1")])
    #expect(try fleet.old()?.title == "mine")
    let server = try await fleet.server("E1")
    #expect(server?["state"] == "paused" && server?["title"] == "start")
  }

  /// Promises: A-15
  @Test("A field with a default shows it for an unknown case, which edits keep")
  func standIn() async throws {
    let fleet = try Fleet()
    try await fleet.write("E1", ["level": "urgent"])
    #expect(await fleet.older.store.sync().unreadable.isEmpty)
    #expect(try fleet.old()?.level == .low)
    try await fleet.edit { $0.title = "mine" }
    #expect(try await fleet.server("E1")?["level"] == "urgent")
    // A conflict.
    try await fleet.write("E1", ["level": "critical"])
    try await fleet.edit { $0.title = "again" }
    #expect(try await fleet.server("E1")?["level"] == "critical")
    #expect(try await fleet.server("E1")?["title"] == "again")
    // A save by way of the server.
    var errand = try #require(try fleet.old())
    errand.title = "online"
    try await fleet.older.store.save(errand, options: RequestOptions(writePolicy: .remoteThenLocal))
    #expect(try await fleet.server("E1")?["level"] == "critical")
    #expect(try await fleet.server("E1")?["title"] == "online")
    try await fleet.edit { $0.level = .high }
    #expect(try await fleet.server("E1")?["level"] == "high")
    #expect(try await fleet.world.serverDigest().digest == fleet.older.store.digest().digest)
  }

  @Test("A value read before an unknown case went away reverts nothing")
  func readBefore() async throws {
    let fleet = try Fleet()
    try await fleet.write("E1", ["level": "urgent"])
    await fleet.older.store.sync()
    var errand = try #require(try fleet.old())
    try await fleet.write("E1", ["level": "high"])
    await fleet.older.store.sync()
    errand.title = "mine"
    try fleet.older.change { [errand] in try $0.save(errand) }
    #expect(try fleet.old()?.level == .high)
    await fleet.older.store.sync()
    #expect(try await fleet.server("E1")?["level"] == "high")
    #expect(try await fleet.server("E1")?["title"] == "mine")
  }

  @Test("Rows with unknown cases from an earlier version are left out and listed")
  func earlierRows() async throws {
    let fleet = try Fleet()
    for name in ["E1", "E2"] { try await fleet.write(name, [:]) }
    await fleet.older.store.sync()
    let sql = "UPDATE Errand SET state = 'paused' WHERE _id = 'E1'"
    try fleet.older.change { try PreparedStatement(sql, in: $0.database).run() }
    #expect(try ids(Old.self, fleet) == ["E2"])
    let listed = try await fleet.older.store.maintenance.unreadableRecords()
    #expect(listed.map(\.record) == [id("E1")])
    #expect(try await fleet.older.store.store.count(RecordQuery<Old>()) == 1 + listed.count)
  }
}
