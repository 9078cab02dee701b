import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Content accepted as synced", .timeLimit(.minutes(5)))
struct AcceptedThenEditedTests {
  private let one = RecordID(type: "Memo", id: "1")

  /// Accepts local content, edits the record and pulls the whole scope.
  @Test(
    "Content accepted as synced and then edited equals the server's after a pull",
    arguments: ["follow", "purge", "sync"])
  func theNextPullBringsTheServers(how: String) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1)) { $0.scopes = [SyncScope(container: "Memo")] }
    try a.put("Memo", "1", ["title": .text("one"), "note": .text("server's")])
    await a.store.sync()
    try a.set("Memo", "1", ["note": .text("kept here")])
    // "Keep the local content and stop trying: the record counts as synced, until the next pull brings the server's."
    try a.store.resolve(one, .keepLocal)
    try a.set("Memo", "1", ["title": .text("two")])
    switch how {
    case "follow": try await a.store.follow([.everything])
    case "purge": try a.store.purge(container: "Memo")
    default: break
    }
    for _ in 0..<4 {
      world.time.advance(by: 60_000)
      #expect(await a.store.sync().obstacle == nil)
    }
    #expect(try a.store.outboxEntries().isEmpty)
    #expect(try await world.snapshot().unevenness == [])
  }
}
