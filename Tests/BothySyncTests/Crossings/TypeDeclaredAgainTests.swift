import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

@Suite("Types that are dropped and declared again", .timeLimit(.minutes(5)))
struct TypeDeclaredAgainTests {
  @Test("The records of a dropped type come again when it is declared again", arguments: [false, true])
  func dropped(isAtOnce: Bool) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", memo(1))
    try a.put("Memo", "1", ["title": .text("one")])
    await a.store.sync()
    await b.store.sync()
    #expect(try b.ids(AnyQuery("Memo")) == ["1"])
    let drop = Migration(to: 2, .dropType("Memo"))
    if !isAtOnce {
      try b.restart(schema: memo(2, name: "Page"), migrations: [drop])
      #expect(await b.store.sync().obstacle == nil)
    }
    var schema = memo(3, name: "Page")
    schema.types += memo(3).types
    try b.restart(schema: schema, migrations: [drop])
    let before = try await b.store.fetchResult(AnyQuery("Memo"), options: RequestOptions(readPolicy: .local))
    #expect(before.records.isEmpty && !before.isComplete)
    #expect(await b.store.sync().obstacle == nil)
    #expect(try b.ids(AnyQuery("Memo")) == ["1"])
    #expect(try await b.store.maintenance.verify())
  }

  @Test("A dropped type leaves nothing to restore of its transactions")
  func restoredTransaction() async throws {
    let world = try SimulatedWorld()
    var schema = memo(1)
    schema.types += memo(1, name: "Page").types
    let a = try world.device("a", schema)
    for type in ["Memo", "Page"] { try a.put(type, "1", ["title": .text("one")]) }
    await a.store.sync()
    try a.atomic { transaction in
      for type in ["Memo", "Page"] {
        _ = try transaction.update(RecordID(type: type, id: "1"), fields: ["title": .text("two")])
      }
    }
    try a.store.resolve(RecordID(type: "Memo", id: "1"), .revert)
    let lost = try a.store.journal.entries(losing: true)
    #expect(lost.count == 2 && lost.allSatisfy(\.isRestorable))
    try a.restart(schema: memo(2, name: "Page"), migrations: [Migration(to: 2, .dropType("Memo"))])
    let left = try #require(try a.store.journal.entries(losing: true).first { $0.record.type == "Page" })
    #expect(left.lostFields.map(\.name) == ["title"])
    let error = await #expect(throws: BothyError.self) { try await a.store.journal.restore(left) }
    #expect(error?.code == .expired)
  }

  @Test("The records of a type come again in containers pulled on demand too")
  func onDemand() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", memo(1)) { $0.scopes = [SyncScope(container: "bag")] }
    for (id, container) in ["1": "bag", "2": "box"] {
      try a.put("Memo", id, ["title": .text("one")], in: container)
    }
    await a.store.sync()
    await b.store.sync()
    await b.store.sync(container: "box")
    #expect(try b.ids(AnyQuery("Memo")) == ["1", "2"])
    var schema = memo(3, name: "Page")
    schema.types += memo(3).types
    try b.restart(schema: schema, migrations: [Migration(to: 2, .dropType("Memo"))])
    #expect(try b.ids(AnyQuery("Memo")).isEmpty)
    #expect(await b.store.sync().obstacle == nil)
    #expect(try b.ids(AnyQuery("Memo")) == ["1", "2"])
  }

  @Test("A type takes a dropped one's name while its records are requested again")
  func renamed() async throws {
    let world = try SimulatedWorld()
    var schema = memo(1)
    schema.types += memo(1, name: "Page").types
    let a = try world.device("a", schema)
    let b = try world.device("b", schema)
    try a.put("Page", "1", ["title": .text("one")])
    await a.store.sync()
    await b.store.sync()
    // The user sees other pages than before, and the device has no answer yet.
    let mark = "INSERT INTO bothy_refetch VALUES ('Page', '', NULL, 1)"
    try b.change { try PreparedStatement(mark, in: $0.database).run() }
    try b.restart(
      schema: memo(2),
      migrations: [
        Migration(to: 2, .dropType("Memo")), Migration(to: 2, .renameType(from: "Page", to: "Memo")),
      ])
    #expect(try b.ids(AnyQuery("Memo")) == ["1"])
    #expect(await b.store.sync().obstacle == nil)
    #expect(try b.ids(AnyQuery("Memo")) == ["1"])
    #expect(try await b.store.maintenance.verify())
  }

  @Test("Pending changes of a document survive the update that declares their type")
  func document() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", memo(1, name: "Page"))
    try a.put("Memo", "1", ["title": .text("one")])
    await a.store.sync()
    await b.store.sync()
    try a.set("Memo", "1", ["title": .text("mine")])
    let folder = try TemporaryFolder()
    let document = folder.path + "/pending.json"
    try await a.store.signOut(.export(to: document))
    var schema = memo(2, name: "Page")
    schema.types += memo(2).types
    try b.store.store.close()
    #expect(try SyncedStore.restorePending(from: document, into: b.path, schema: schema))
    try b.restart(schema: schema)
    #expect(try b.record("Memo", "1")?["title"] == .text("mine"))
    #expect(await b.store.sync().obstacle == nil)
    #expect(try await world.server("Memo", "1")?["title"] == "mine")
  }

  @Test("The audience of a record is known once its type is declared")
  func audience() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    a.store.options.writePolicy = .local
    let b = try world.device("b", memo(1, name: "Page"))
    let one = RecordID(type: "Memo", id: "1")
    try a.put("Memo", "1", ["title": .text("one")])
    try await a.store.sharing.share(one, with: .users("bob"))
    await a.store.sync()
    await b.store.sync()
    var schema = memo(2, name: "Page")
    schema.types += memo(2).types
    try b.restart(schema: schema)
    #expect(try b.record("Memo", "1")?["title"] == .text("one"))
    #expect(try b.store.audience(of: one) == .users("bob"))
  }

  @Test(
    "Records of a type renamed and dropped return under its first name",
    arguments: [4, 5], [false, true])
  func renamedAndDropped(version: Int, isAtOnce: Bool) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", memo(1))
    try a.put("Memo", "1", ["title": .text("one")])
    await a.store.sync()
    await b.store.sync()
    #expect(try b.ids(AnyQuery("Memo")) == ["1"])
    let rename = Migration.Step.renameType(from: "Memo", to: "Card")
    let steps = [Migration(to: 2, rename), Migration(to: 3, .dropType("Card")), Migration(to: 5, rename)]
    if !isAtOnce {
      try b.restart(schema: memo(2, name: "Card"), migrations: steps)
      #expect(await b.store.sync().obstacle == nil)
    }
    let name = version == 4 ? "Memo" : "Card"
    try b.restart(schema: memo(version, name: name), migrations: steps)
    #expect(try b.ids(AnyQuery(name)).isEmpty)
    #expect(await b.store.sync().obstacle == nil)
    #expect(try b.ids(AnyQuery(name)) == ["1"])
    #expect(try await b.store.maintenance.verify())
  }

  /// Returns the schema with a type that isn't synced.
  private static var local: StoreSchema {
    var schema = memo(1)
    schema.types[0].isSynced = false
    return schema
  }

  @Test("A record of the server named like a local one takes nothing from it")
  func named() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", Self.local) { $0.scopes = [SyncScope(container: "Memo")] }
    try b.put("Memo", "1", ["title": .text("local")])
    try a.put("Memo", "1", ["title": .text("one")])
    await a.store.sync()
    await b.store.sync()
    try a.change { _ = try $0.move(RecordID(type: "Memo", id: "1"), to: "right") }
    await a.store.sync()
    #expect(await b.store.sync().obstacle == nil)
    #expect(try b.record("Memo", "1")?["title"] == .text("local"))
  }

  @Test("Records named like a local type are kept for a later version")
  func kept() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", Self.local)
    try b.put("Memo", "1", ["title": .text("local")])
    try a.put("Memo", "1", ["title": .text("one")])
    await a.store.sync()
    #expect(await b.store.sync().obstacle == nil)
    try b.restart()
    #expect(try b.record("Memo", "1")?["title"] == .text("local"))
    #expect(try await b.store.maintenance.verify())
    #expect(try await b.store.maintenance.repair().isEmpty)
    try b.restart(schema: memo(2), migrations: [Migration(to: 2, .dropType("Memo"))])
    #expect(try b.record("Memo", "1")?["title"] == .text("one"))
  }
}
