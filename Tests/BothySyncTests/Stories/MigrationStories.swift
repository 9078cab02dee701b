import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Updates of the app with pending changes, and types and fields that an older version doesn't know.
@Suite("Updates of the app", .faultsStrike, .timeLimit(.minutes(5)))
struct MigrationStories {
  private static func memo(_ version: Int, type: String = "Memo", _ fields: FieldSchema...) -> StoreSchema {
    StoreSchema(version: version, types: [TypeSchema(type, fields: fields)])
  }

  private static let first = memo(1, FieldSchema("title", .text))
  private static let renamed = memo(
    2, type: "Card", FieldSchema("heading", .text), FieldSchema("stars", .int, default: 3))
  private static let steps = [
    Migration(to: 2, .renameType(from: "Memo", to: "Card")),
    Migration(to: 2, .renameField(type: "Card", from: "title", to: "heading")),
  ]

  private func memo(_ id: String, _ title: String) -> AnyRecord {
    AnyRecord("Memo", id: id, ["title": .text(title)])
  }

  /// Promises: H-56, S-7, N-36
  @Test("Pending changes survive a migration and are sent under their wire names")
  func pending() async throws {
    let pair = try Pair(schema: Self.first)
    try pair.a.put(memo("M1", "one"))
    try pair.a.restart(schema: Self.renamed, migrations: Self.steps)
    let report = await pair.a.store.sync()
    #expect(report.pushed == 1 && report.rejected.isEmpty)
    #expect(try await pair.server("M1", type: "Memo") == ["title": "one", "stars": 3])
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try pair.a.store.diagnose().findings.isEmpty)
  }

  /// Promises: H-56
  @Test("An operation in doubt is settled after a migration, whether it arrived or not")
  func inDoubt() async throws {
    for arrived in [true, false] {
      let pair = try Pair(schema: Self.first)
      await pair.a.store.sync()
      try pair.a.put(memo("M1", "one"))
      pair.a.remote.plan(arrived ? .lostAnswer : .lostRequest, on: .operation(on: "M1"))
      await pair.a.store.sync()
      pair.a.remote.setScript { .none }
      try pair.a.restart(schema: Self.renamed, migrations: Self.steps)
      let report = await pair.a.store.sync()
      #expect(report.obstacle == nil)
      #expect(report.requests < 10)
      #expect(try pair.a.store.outboxEntries().isEmpty)
      #expect(Set(pair.a.operations.map(\.id)).count == 1)
      if !arrived { #expect(try await pair.server("M1", type: "Memo")?["title"] == "one") }
    }
  }

  /// Promises: H-56
  @Test("A pulled version beside a pending entry survives a migration")
  func remoteVersion() async throws {
    let pair = try Pair(schema: Self.first)
    try pair.b.put(memo("M1", "start"))
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.b.change { _ = try $0.update(RecordID(type: "Memo", id: "M1"), fields: ["title": "theirs"]) }
    await pair.b.store.sync()
    try pair.a.change { _ = try $0.update(RecordID(type: "Memo", id: "M1"), fields: ["title": "mine"]) }
    await pair.a.store.sync(.pull)
    try pair.a.restart(schema: Self.renamed, migrations: Self.steps)
    let entry = try #require(try pair.a.store.outboxEntries().first)
    #expect(entry.remoteVersion?.id == RecordID(type: "Card", id: "M1"))
    #expect(try entry.remoteVersion?.fields.members() == ["heading": "theirs"])
    #expect(try entry.base?.fields.members() == ["heading": "start"])
    try pair.a.store.resolve(entry.id, .revert)
    #expect(try pair.a.record("Card", "M1")?["heading"] == "theirs")
  }

  /// Promises: Scenario-21
  @Test("Records of an unknown type are stored, and appear once the app knows it")
  func unknownTypes() async throws {
    let both = StoreSchema(
      version: 2, types: [Note.schema, TypeSchema("Memo", fields: [FieldSchema("title", .text)])])
    let world = try SimulatedWorld()
    let new = try world.addDevice("new", schema: both)
    let old = try world.addDevice("old", schema: .notes)
    try new.put(memo("M1", "one"))
    try new.put(memo("M2", "two"))
    await new.store.sync()
    await old.store.sync()
    #expect(try await world.serverDigest().digest == old.store.digest().digest)
    try new.change { _ = try $0.delete(RecordID(type: "Memo", id: "M2")) }
    await new.store.sync()
    await old.store.sync()
    #expect(try await world.serverDigest().digest == old.store.digest().digest)
    try old.restart(schema: both)
    #expect(try old.record("Memo", "M1")?["title"] == "one")
    #expect(try old.record("Memo", "M2") == nil)
    #expect(try await world.serverDigest().digest == old.store.digest().digest)
  }

  @Test("Records of unknown types that the server lost with its history are deleted")
  func unknownTypesAfterReset() async throws {
    let both = StoreSchema(
      version: 2, types: [Note.schema, TypeSchema("Memo", fields: [FieldSchema("title", .text)])])
    let world = try SimulatedWorld()
    let new = try world.addDevice("new", schema: both)
    let old = try world.addDevice("old", schema: .notes)
    try new.put(memo("M1", "one"))
    try new.put(memo("M2", "two"))
    await new.store.sync()
    await old.store.sync()
    try new.change { _ = try $0.delete(RecordID(type: "Memo", id: "M2")) }
    await new.store.sync()
    try await world.storage.compact(space: "test", upTo: 1000)
    try await world.storage.startEpoch(space: "test")
    await old.store.sync()
    #expect(try await world.serverDigest().digest == old.store.digest().digest)
  }

  /// Promises: Scenario-21
  @Test("Fields that this version does not know survive its edits")
  func unknownFields() async throws {
    let old = Self.first
    let new = Self.memo(2, FieldSchema("title", .text), FieldSchema("colour", .text, optional: true))
    let world = try SimulatedWorld()
    let newer = try world.addDevice("newer", schema: new)
    let older = try world.addDevice("older", schema: old)
    try newer.put(AnyRecord("Memo", id: "M1", ["title": "one", "colour": "red"]))
    await newer.store.sync()
    await older.store.sync()
    try older.change { _ = try $0.update(RecordID(type: "Memo", id: "M1"), fields: ["title": "two"]) }
    #expect(await older.store.sync().pushed == 1)
    await newer.store.sync()
    #expect(try newer.record("Memo", "M1")?.fields == ["title": "two", "colour": "red"])
    #expect(try await world.serverDigest().digest == older.store.digest().digest)
  }
}
