import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

@Suite("Rejections over a migration", .timeLimit(.minutes(5)))
struct RenamedRefusalTests {
  private static func schema(_ version: Int, type: String, field: String) -> StoreSchema {
    StoreSchema(
      version: version,
      types: [
        TypeSchema(
          type, fields: [FieldSchema(field, .text, unique: true), FieldSchema("note", .text, optional: true)])
      ])
  }

  @Test("Rejected changes have the names of the current schema", arguments: ["field", "type"])
  func rejectedChangesNameTheFieldAsItIsCalledNow(renamed: String) async throws {
    let old = Self.schema(1, type: "User", field: "email")
    let world = try SimulatedWorld(rules: AccessRules(schema: old))
    let a = try world.device("a", old)
    let b = try world.device("b", old)
    try b.put("User", "b", ["email": .text("x@y")])
    await b.store.sync()
    try a.put("User", "a", ["email": .text("x@y")])
    await a.store.sync()
    let before = try #require(try a.store.rejectedEntries().first?.reason?.fields.first)
    #expect(before.field == "email" && before.record == RecordID(type: "User", id: "b"))
    let (type, field) = renamed == "type" ? ("Person", "email") : ("User", "mail")
    try a.restart(
      schema: Self.schema(2, type: type, field: field),
      migrations: [
        renamed == "type"
          ? Migration(to: 2, .renameType(from: "User", to: "Person"))
          : Migration(to: 2, .renameField(type: "User", from: "email", to: "mail"))
      ])
    let after = try #require(try a.store.rejectedEntries().first?.reason?.fields.first)
    #expect(after.field == field)
    #expect(after.record == RecordID(type: type, id: "b"))
  }
}

@Suite("Drafts over transactions", .timeLimit(.minutes(5)))
struct DraftOverTransactionTests {
  @Test("A draft on top counts as a draft, and only a single change waits", arguments: [false, true])
  func whatWasPendingIsHeldBackToo(together: Bool) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let one = RecordID(type: "Memo", id: "1")
    try a.put("Memo", "1", ["title": .text("one")])
    await a.store.sync()
    if together {
      try a.atomic { _ = try $0.update(one, fields: ["title": .text("two")]) }
    } else {
      try a.set("Memo", "1", ["title": .text("two")])
    }
    try await a.store.writeDraft { _ = try $0.update(one, fields: ["note": .text("draft")]) }
    #expect(try a.store.state(of: one) == .draft)
    #expect(try a.store.pendingCounts().drafts == 1)
    await a.store.sync()
    #expect(try await world.server("Memo", "1")?["title"] == (together ? "two" : "one"))
  }
}
