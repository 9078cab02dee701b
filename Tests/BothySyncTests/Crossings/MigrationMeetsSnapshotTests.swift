import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

@Suite("Updates of the app amid a snapshot", .faultsStrike, .timeLimit(.minutes(5)))
struct MigrationMeetsSnapshotTests {
  @Test("No record goes if the server continues the former cursor after a rename")
  func renamed() async throws {
    var whole = memo(1)
    whole.types.append(
      TypeSchema("Diary", fields: [FieldSchema("text", .text)], permissions: Permissions(read: .owner)))
    let world = try SimulatedWorld(rules: AccessRules(schema: whole))
    let a = try world.device("a", memo(1))
    let b = try world.device("b", memo(1)) { $0.pageSize = 1 }
    for id in ["1", "2", "3"] { try a.put("Memo", id, ["title": .text("one")]) }
    await a.store.sync()
    await b.store.sync()
    // A server without a restricted type of the cursor begins a snapshot, of which the first page arrives.
    world.setRules(AccessRules(schema: memo(1)))
    b.loseConnection(after: 1)
    #expect(await b.store.sync().obstacle != nil)
    world.setRules(AccessRules(schema: whole))
    b.remote.setScript { .none }
    try b.restart(
      schema: memo(2, name: "Page"), migrations: [Migration(to: 2, .renameType(from: "Memo", to: "Page"))])
    #expect(await b.store.sync().obstacle == nil)
    #expect(try b.ids(AnyQuery("Page")) == ["1", "2", "3"])
  }
}
