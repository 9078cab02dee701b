import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Restoring sets", .timeLimit(.minutes(5)))
struct SetUnionRestoreTests {
  private static let schema = StoreSchema(
    version: 1,
    types: [
      TypeSchema(
        "Tag", fields: [FieldSchema("name", .text)]),
      TypeSchema(
        "Memo",
        fields: [
          FieldSchema("title", .text),
          FieldSchema("tags", .references(to: "Tag", onDelete: .nullify), optional: true, merge: .setUnion),
        ]),
    ])

  @Test("Restoring a tag removes no tag of others")
  func restoringATagTakesNoneOfOthersAway() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema)
    let b = try world.device("b", Self.schema, policy: .remoteWins)
    for tag in ["x", "y", "z"] { try a.put("Tag", tag, ["name": .text(tag)]) }
    try a.put("Memo", "1", ["title": .text("one")])
    await a.store.sync()
    await b.store.sync()
    try a.set("Memo", "1", ["tags": .list(["x"])])
    await a.store.sync()
    try b.set("Memo", "1", ["tags": .list(["y"])])
    await b.store.sync()
    #expect(try b.record("Memo", "1")?["tags"] == .list(["x"]))
    let entry = try #require(try b.store.journal.entries(losing: true).first)
    try await b.store.journal.restore(entry)
    await b.store.sync()
    #expect(try await world.server("Memo", "1")?["tags"]?.arrayValue?.count == 2)
  }
}

@Suite("Restoring a count", .timeLimit(.minutes(5)))
struct CountRestoreTests {
  @Test("Restoring a count keeps what others counted", arguments: [ValueKind.int, .double])
  func restoringACountRevertsNoOther(kind: ValueKind) async throws {
    func value(_ n: Int) -> FieldValue { kind == .int ? .int(Int64(n)) : .double(Double(n) + 0.5) }
    let zero: FieldValue = kind == .int ? .int(0) : .double(0)
    let schema = StoreSchema(
      version: 1,
      types: [TypeSchema("Memo", fields: [FieldSchema("weight", kind, default: zero, merge: .counter)])])
    let world = try SimulatedWorld()
    let a = try world.device("a", schema)
    let b = try world.device("b", schema, policy: .remoteWins)
    try a.put("Memo", "1", [:])
    await a.store.sync()
    await b.store.sync()
    try a.set("Memo", "1", ["weight": value(20)])
    await a.store.sync()
    try b.set("Memo", "1", ["weight": value(3)])
    await b.store.sync()
    #expect(try b.record("Memo", "1")?["weight"] == value(20))
    try await b.store.journal.restore(#require(try b.store.journal.entries(losing: true).first))
    #expect(try b.record("Memo", "1")?["weight"] == (kind == .int ? .int(23) : .double(24)))
  }
}
