import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Changes that lose to the server's version, decided at once, later or with their transaction: the result is the same.
@Suite("Changes that give way", .timeLimit(.minutes(5)))
struct GivingWayTests {
  /// Returns a pair on which a transaction of A's gives way, with a single change of its own on top of it.
  private func stacked() async throws -> Pair {
    let pair = try await Pair.sharing(["T1", "T2"])
    pair.a.store.options.writePolicy = .local
    try await pair.a.store.write(.atomic) { transaction in
      for id in ["T1", "T2"] { _ = try transaction.update(Note.self, id: id) { $0.title = "mine" } }
    }
    try pair.a.edit { $0.note = "later" }
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    return pair
  }

  @Test("A single change that gives way after a transaction is told as its own")
  func single() async throws {
    let pair = try await stacked()
    await pair.a.store.sync()
    let entries = try pair.a.store.journal.entries(of: .note())
    #expect(entries.map(\.cause) == [.merge, .atomic])
    #expect(entries.map(\.policy) == ["remoteWins", nil])
    #expect(try await pair.isEven())
  }

  @Test("Sharing stays pending when the single change that it came with gives way")
  func sharing() async throws {
    let pair = try await stacked()
    try await pair.a.store.sharing.share(.note(), with: .users("bob"))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1")?["note"] == nil)
    #expect(try await pair.world.serverRecords()[.note()]?.sharing == .users("bob"))
  }

  @Test("Each change of a transaction that gives way has the version that stayed")
  func versions() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    let version = try #require(try pair.a.record("Note", "T2")?.version)
    try pair.b.remove()
    await pair.b.store.sync()
    try await pair.a.store.write(.atomic) { transaction in
      for id in ["T1", "T2"] { _ = try transaction.update(Note.self, id: id) { $0.title = "mine" } }
    }
    await pair.a.store.sync()
    let outcomes = try ["T1", "T2"].map { try pair.a.store.journal.entries(of: .note($0)).first?.outcome }
    #expect(outcomes == [.overwritten(version: ""), .overwritten(version: version)])
    #expect(try await pair.isEven())
  }

  @Test("A transaction gives way as a whole to a count that others have cleared")
  func cleared() async throws {
    let schema = StoreSchema(
      types: [
        TypeSchema(
          "Purse",
          fields: [
            FieldSchema("pence", .int, optional: true, merge: .counter),
            FieldSchema("owner", .text, optional: true),
          ])
      ])
    let pair = try Pair(schema: schema, policy: .fieldByField)
    let (one, two) = (RecordID(type: "Purse", id: "1"), RecordID(type: "Purse", id: "2"))
    for id in ["1", "2"] { try pair.b.put(AnyRecord("Purse", id: id, ["pence": .int(100)])) }
    await pair.b.store.sync()
    await pair.a.store.sync()
    try await pair.a.store.write(.atomic) { transaction in
      _ = try transaction.update(one, fields: ["pence": .int(90), "owner": .text("ann")])
      _ = try transaction.update(two, fields: ["pence": .int(110)])
    }
    try pair.b.change { _ = try $0.update(one, fields: ["pence": .null]) }
    await pair.b.store.sync()
    #expect(try await pair.isEven())
    #expect(try await pair.server("1", type: "Purse") == [:])
    #expect(try await pair.server("2", type: "Purse") == ["pence": 100])
    #expect(try pair.a.store.journal.entries(losing: true).count == 2)
  }

  @Test(
    "A deleted parent is recreated for its child, edited alone or together",
    arguments: [WriteGrouping.independent, .atomic])
  func resurrected(grouping: WriteGrouping) async throws {
    let pair = try Pair(schema: .family, rules: .family) { $0.orphans = .resurrect }
    for id in ["P1", "P2"] { try pair.b.put(.parent(id)) }
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.a.put(.child("C1", of: "P1"))
    try await pair.a.store.write(grouping) { transaction in
      for id in ["P1", "P2"] {
        _ = try transaction.update(RecordID(type: "Parent", id: id), fields: ["name": .text("mine")])
      }
    }
    try pair.b.change { _ = try $0.delete(RecordID(type: "Parent", id: "P1")) }
    await pair.b.store.sync()
    for _ in 0..<2 { await pair.a.store.sync() }
    #expect(try await pair.server("P1", type: "Parent")?["name"] == "mine")
    #expect(try await pair.server("C1", type: "Child")?["parent"] == "P1")
    #expect(try await pair.isEven())
  }
}
