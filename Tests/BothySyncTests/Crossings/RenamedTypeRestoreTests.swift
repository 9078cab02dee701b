import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Restoring over a renamed type", .timeLimit(.minutes(5)))
struct RenamedTypeRestoreTests {
  @Test("A lost record is restored to the container under its new name")
  func aLostRecordComesBackWhereItWas() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", memo(1), policy: .remoteWins)
    try a.put("Memo", "1", ["title": .text("one")])
    await a.store.sync()
    await b.store.sync()
    try a.change { _ = try $0.delete(RecordID(type: "Memo", id: "1")) }
    await a.store.sync()
    try b.set("Memo", "1", ["title": .text("mine")])
    await b.store.sync()
    let before = try #require(try b.store.journal.entries(losing: true).first)
    #expect(before.isRestorable && before.isGone)
    try b.restart(
      schema: memo(2, name: "Page"), migrations: [Migration(to: 2, .renameType(from: "Memo", to: "Page"))])
    let entry = try #require(try b.store.journal.entries(losing: true).first)
    try await b.store.journal.restore(entry)
    await b.store.sync()
    await a.store.sync()
    #expect(try b.record("Page", "1")?.container == "Page")
    #expect(try a.record("Memo", "1")?.container == "Memo")
    let onServer = try await world.serverRecords()[RecordID(type: "Memo", id: "1")]
    #expect(onServer?.container == "Memo")
    // A read of the type's own container finds it.
    #expect(try b.ids(AnyQuery("Page", container: "Page")) == ["1"])
  }
}
