import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Circles of changes and transactions", .timeLimit(.minutes(5)))
struct WaitingInACircleTests {
  private static let schema = StoreSchema(
    version: 1,
    types: [
      TypeSchema("Tag", fields: [FieldSchema("name", .text)]),
      TypeSchema(
        "Memo",
        fields: [
          FieldSchema("title", .text),
          FieldSchema("tag", .reference(to: "Tag", onDelete: .nullify), optional: true),
        ]),
    ])
  private let tag = RecordID(type: "Tag", id: "g")
  private let note = RecordID(type: "Memo", id: "m")

  private func settled(_ world: SimulatedWorld, _ a: SimulatedDevice) async throws {
    for _ in 0..<5 {
      world.time.advance(by: 3_600_000)
      await a.store.sync()
    }
    #expect(try a.store.outboxEntries().map(\.id) == [])
    #expect(try await world.server("Tag", "g") != nil)
    #expect(try await world.server("Memo", "m")?["title"] == "two")
    #expect(try await world.server("Memo", "m")?["tag"] == "g")
  }

  /// Uses a tag in a transaction after the tag was kept here alone.
  @Test("A tag kept here and then used again is sent")
  func keptHereAndUsedAgain() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema)
    await a.store.sync()
    try a.put("Tag", "g", ["name": .text("g")])
    try a.store.resolve(tag, .keepLocal)
    try a.put("Memo", "m", ["title": .text("one"), "tag": .text("g")])
    try a.atomic {
      _ = try $0.update(tag, fields: ["name": .text("new")])
      _ = try $0.update(note, fields: ["title": .text("two")])
    }
    try await settled(world, a)
  }

  /// Saves the memo before its tag.
  @Test("A record saved before the transaction that makes its tag is sent")
  func savedBeforeItsTag() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema)
    await a.store.sync()
    try a.put("Memo", "m", ["title": .text("one"), "tag": .text("g")])
    try a.atomic {
      try $0.insert(AnyRecord("Tag", id: "g", ["name": .text("new")]))
      _ = try $0.update(note, fields: ["title": .text("two")])
    }
    try await settled(world, a)
  }

  /// Deletes the tag and creates it again in its transaction.
  @Test("A tag recreated by its transaction is sent")
  func deletedAndMadeAgain() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema)
    await a.store.sync()
    try a.put("Tag", "g", ["name": .text("g")])
    try a.put("Memo", "m", ["title": .text("one"), "tag": .text("g")])
    try a.atomic {
      _ = try $0.delete(tag)
      try $0.insert(AnyRecord("Tag", id: "g", ["name": .text("new")]))
      _ = try $0.update(note, fields: ["title": .text("two"), "tag": .text("g")])
    }
    try await settled(world, a)
  }

  /// Undoes the creation of the tag, and creates it again in a transaction.
  @Test("A tag that was undone and recreated is sent")
  func undoneAndMadeAgain() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema)
    await a.store.sync()
    try a.put("Tag", "g", ["name": .text("g")])
    try a.put("Memo", "m", ["title": .text("one"), "tag": .text("g")])
    try a.store.resolve(tag, .revert)
    try a.atomic {
      try $0.insert(AnyRecord("Tag", id: "g", ["name": .text("new")]))
      _ = try $0.update(note, fields: ["title": .text("two")])
    }
    try await settled(world, a)
  }
}
