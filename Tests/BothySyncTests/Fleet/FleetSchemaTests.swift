import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Apps of two versions with two names for one field, and the server between them.
@Suite("Fleet schema", .timeLimit(.minutes(5)))
struct FleetSchemaTests {
  private static func note(_ version: Int, type: String = "Note", _ fields: FieldSchema...) -> StoreSchema {
    StoreSchema(version: version, types: [TypeSchema(type, fields: fields)])
  }

  private static let first = note(1, FieldSchema("title", .text))
  private static let second = note(2, FieldSchema("heading", .text))
  private static let steps = [
    Migration(to: 2, .renameField(type: "Note", from: "title", to: "heading"))
  ]

  private func id(_ name: String, _ type: String = "Note") -> RecordID { RecordID(type: type, id: name) }

  @Test("A renamed field is one field for old apps, migrated ones and new installs")
  func renamedField() async throws {
    let world = try SimulatedWorld()
    let old = try world.addDevice("old", schema: Self.first)
    let migrated = try world.addDevice("migrated", schema: Self.first)
    try old.put(AnyRecord("Note", id: "N1", ["title": "precious"]))
    await old.store.sync()
    await migrated.store.sync()
    try migrated.restart(schema: Self.second, migrations: Self.steps)
    let fresh = try world.addDevice("fresh", schema: Self.second, migrations: Self.steps)
    await fresh.store.sync()
    #expect(try fresh.record("Note", "N1")?["heading"] == "precious")
    try await world.storage.startEpoch(space: "test")
    await migrated.store.sync()
    #expect(try migrated.record("Note", "N1")?["heading"] == "precious")
    try fresh.change { _ = try $0.update(id("N1"), fields: ["heading": "new"]) }
    try fresh.put(AnyRecord("Note", id: "N2", ["heading": "second"]))
    for device in [fresh, old, migrated] { await device.store.sync() }
    #expect(try old.record("Note", "N1")?["title"] == "new")
    #expect(try old.record("Note", "N2")?["title"] == "second")
    #expect(try await world.serverRecords()[id("N1")]?.fields.members() == ["title": "new"])
    let digest = try await world.serverDigest().digest
    for device in [old, migrated, fresh] { #expect(try device.store.digest().digest == digest) }
    let found = try await fresh.store.fetchResult(
      AnyQuery("Note", where: .compare(field: "heading", .equal, "new")),
      options: RequestOptions(readPolicy: .remote))
    #expect(found.records.map(\.id) == ["N1"])
  }

  @Test("A renamed type is one type for old and new apps, with its container")
  func renamedType() async throws {
    let world = try SimulatedWorld()
    let old = try world.addDevice("old", schema: Self.first)
    let steps = [Migration(to: 2, .renameType(from: "Note", to: "Memo"))]
    let renamed = Self.note(2, type: "Memo", FieldSchema("title", .text))
    let new = try world.addDevice("new", schema: renamed, migrations: steps)
    try old.put(AnyRecord("Note", id: "N1", ["title": "one"]))
    await old.store.sync()
    await new.store.sync()
    #expect(try new.record("Memo", "N1")?["title"] == "one")
    #expect(try new.record("Memo", "N1")?.container == "Memo")
    try new.change { _ = try $0.update(id("N1", "Memo"), fields: ["title": "two"]) }
    #expect(await new.store.sync().pushed == 1)
    try old.change { _ = try $0.delete(id("N1")) }
    await old.store.sync()
    #expect(try new.store.outboxEntries().isEmpty)
    try old.restart(schema: renamed, migrations: steps)
    try old.put(AnyRecord("Memo", id: "N2", ["title": "three"]))
    await old.store.sync()
    await new.store.sync()
    #expect(try new.record("Memo", "N2")?["title"] == "three")
    #expect(try await world.serverRecords().keys.map(\.type).allSatisfy { $0 == "Note" })
    #expect(try await world.serverDigest().digest == new.store.digest().digest)
  }

  @Test("A field under an alias is readable, and a write uses its wire name")
  func alias() async throws {
    let world = try SimulatedWorld()
    let other = try world.addDevice("other", schema: Self.note(1, FieldSchema("head", .text)))
    let device = try world.addDevice(
      "device", schema: Self.note(1, FieldSchema("heading", .text, wire: "title", aliases: ["head"])))
    try other.put(AnyRecord("Note", id: "N1", ["head": "theirs"]))
    await other.store.sync()
    await device.store.sync()
    #expect(try device.record("Note", "N1")?["heading"] == "theirs")
    #expect(try await world.serverDigest().digest == device.store.digest().digest)
    try device.change { _ = try $0.update(id("N1"), fields: ["heading": "mine"]) }
    await device.store.sync()
    #expect(try await world.serverRecords()[id("N1")]?.fields.members() == ["title": "mine"])
  }

  @Test("A snapshot compares by the wire's names, in the space of the world")
  func snapshot() async throws {
    let world = try SimulatedWorld(space: "home")
    let memo = TypeSchema("Memo", fields: [FieldSchema("heading", .text, wire: "title")], wire: "Note")
    let device = try world.addDevice("device", schema: StoreSchema(types: [memo]))
    try device.put(AnyRecord("Memo", id: "N1", ["heading": "one"]))
    await device.store.sync()
    let snapshot = try await world.snapshot()
    #expect(snapshot.server == [id("N1"): ["title": "one"]])
    #expect(snapshot.isEven)
  }

  @Test("A wire name of another field is kept apart, and nothing is lost")
  func crossedNames() async throws {
    let world = try SimulatedWorld()
    let plain = try world.addDevice(
      "plain", schema: Self.note(1, FieldSchema("a", .text), FieldSchema("b", .text)))
    let crossed = try world.addDevice(
      "crossed", schema: Self.note(1, FieldSchema("a", .text, wire: "b")))
    try plain.put(AnyRecord("Note", id: "N1", ["a": "A", "b": "B"]))
    await plain.store.sync()
    await crossed.store.sync()
    #expect(try crossed.record("Note", "N1")?["a"] == "B")
    try crossed.change { _ = try $0.update(id("N1"), fields: ["a": "C"]) }
    await crossed.store.sync()
    await plain.store.sync()
    #expect(try plain.record("Note", "N1")?.fields == ["a": "A", "b": "C"])
    #expect(try await world.serverDigest().digest == crossed.store.digest().digest)
  }

  @Test("A rename that loses the server's name is rejected with the remedy")
  func renamedOnTheWire() throws {
    let world = try SimulatedWorld()
    let device = try world.addDevice("device", schema: Self.first)
    let error = #expect(throws: BothyError.self) {
      try device.restart(schema: Self.note(2, FieldSchema("title", .text, wire: "heading")))
    }
    #expect(error?.code == .schemaMismatch && error?.message.contains("say `wire: \"title\"`") == true)
    let twice = #expect(throws: BothyError.self) {
      try Self.note(1, FieldSchema("a", .text), FieldSchema("b", .text, aliases: ["a"])).validate()
    }
    #expect(twice?.code == .invalidSchema)
  }

  @Test("A schema's document keeps wire names and aliases")
  func document() throws {
    var schema = Self.note(1, FieldSchema("heading", .text, wire: "title", aliases: ["head"]))
    schema.types[0].wire = "Memo"
    #expect(try StoreSchema(json: schema.json.canonicalText) == schema)
  }
}

/// A server with an old and a new schema.
@Suite("Server of a fleet", .timeLimit(.minutes(5)))
struct FleetServerTests {
  private static func note(_ version: Int, _ fields: FieldSchema...) -> StoreSchema {
    StoreSchema(version: version, types: [TypeSchema("Note", fields: fields)])
  }

  private static let old = note(1, FieldSchema("title", .text, unique: true), FieldSchema("colour", .text))
  private static let new = note(
    2, FieldSchema("heading", .text, unique: true, wire: "title"), FieldSchema("stars", .int, default: 3))

  @Test("Devices of both versions continue with renamed, removed and new fields")
  func bothVersions() async throws {
    let rules = AccessRules(schema: try StoreSchema.fleet(Self.new, besides: [Self.old]))
    let world = try SimulatedWorld(rules: AccessRules(schema: Self.old))
    let older = try world.addDevice("older", schema: Self.old)
    try older.put(AnyRecord("Note", id: "N1", ["title": "one", "colour": "red"]))
    #expect(await older.store.sync().pushed == 1)
    world.setRules(rules)
    let newer = try world.addDevice("newer", schema: Self.new)
    try older.put(AnyRecord("Note", id: "N2", ["title": "two", "colour": "blue"]))
    try older.change { _ = try $0.update(RecordID(type: "Note", id: "N1"), fields: ["colour": "green"]) }
    #expect(await older.store.sync().pushed == 2)
    await newer.store.sync()
    #expect(try newer.record("Note", "N1")?.fields == ["heading": "one", "stars": 3])
    try newer.put(AnyRecord("Note", id: "N3", ["heading": "three", "stars": 5]))
    try older.put(AnyRecord("Note", id: "N5", ["title": "four", "colour": "red"]))
    #expect(await older.store.sync().pushed == 1)
    try newer.put(AnyRecord("Note", id: "N4", ["heading": "four", "stars": 5]))
    let report = await newer.store.sync()
    #expect(report.pushed == 1 && report.rejected.map(\.rejection.code) == ["uniqueViolation"])
    #expect(report.rejected.first?.rejection.fields.first?.field == "heading")
    await older.store.sync()
    let records = try await world.serverRecords()
    let first = try records[RecordID(type: "Note", id: "N1")]?.fields.members()
    #expect(first == ["title": "one", "colour": "green", "stars": 3])
    #expect(try older.record("Note", "N3")?["title"] == "three")
    #expect(try await world.serverDigest().digest == older.store.digest().digest)
  }

  @Test("A schema that older devices can't use is rejected with the remedy")
  func refused() throws {
    func refusal(_ new: StoreSchema, _ removed: Set<String> = []) -> String? {
      do { _ = try StoreSchema.fleet(new, besides: [Self.old], removed: removed) } catch {
        return error.message
      }
      return nil
    }
    let text = FieldSchema("title", .text)
    let colour = FieldSchema("colour", .text)
    let kind = refusal(Self.note(2, FieldSchema("title", .int), colour))
    #expect(kind?.contains("declare a new field with a wire name of its own") == true)
    var decimal = text
    decimal.isDecimal = true
    #expect(refusal(Self.note(2, decimal, colour))?.contains("is a decimal and was a string") == true)
    let required = refusal(Self.note(2, text, colour, FieldSchema("stars", .int)))
    #expect(required?.contains("make it optional, or give it a default") == true)
    let renamed = Self.note(2, text, FieldSchema("tint", .text, default: ""))
    #expect(refusal(renamed)?.contains("say `\"wire\": \"colour\"` of tint") == true)
    #expect(refusal(renamed, ["Note.colour"]) == nil)
    let aliased = Self.note(2, FieldSchema("heading", .text, aliases: ["title"]), colour)
    #expect(refusal(aliased)?.contains("say `\"wire\": \"title\"` of heading") == true)
    #expect(refusal(Self.new) == nil)
  }

  @Test("A server stores a field under an alias by its wire name")
  func aliases() async throws {
    let schema = Self.note(1, FieldSchema("title", .text, aliases: ["head"]))
    let world = try SimulatedWorld(rules: AccessRules(schema: schema))
    let device = try world.addDevice("device", schema: Self.note(1, FieldSchema("head", .text)))
    try device.put(AnyRecord("Note", id: "N1", ["head": "one"]))
    #expect(await device.store.sync().pushed == 1)
    let record = try await world.serverRecords()[RecordID(type: "Note", id: "N1")]
    #expect(try record?.fields.members() == ["title": "one"])
  }
}
