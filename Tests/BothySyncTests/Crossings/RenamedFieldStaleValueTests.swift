import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Values read before a migration", .timeLimit(.minutes(5)))
struct RenamedFieldStaleValueTests {
  /// Keeps a screen's value with its version, updates the app, and then saves the value.
  @Test("A value kept over a migration that renames reverts nothing", arguments: ["field", "type"])
  func aValueKeptOverAnUpdateRevertsNothing(renamed: String) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", memo(1))
    try b.put("Memo", "1", ["title": .text("start"), "note": .text("n")])
    await b.store.sync()
    await a.store.sync()
    let read = try #require(try a.record("Memo", "1"))
    try b.set("Memo", "1", ["title": .text("theirs")])
    await b.store.sync()
    await a.store.sync()
    #expect(try a.record("Memo", "1")?["title"] == .text("theirs"))
    let type = renamed == "type" ? "Page" : "Memo"
    let title = renamed == "field" ? "heading" : "title"
    try a.restart(
      schema: memo(2, name: type, title: title),
      migrations: [
        renamed == "type"
          ? Migration(to: 2, .renameType(from: "Memo", to: "Page"))
          : Migration(to: 2, .renameField(type: "Memo", from: "title", to: "heading"))
      ])
    // "With the version that it was read with, what others changed since is left as it is when the record is saved."
    let kept = AnyRecord(
      type, id: "1", [title: read["title"], "note": .text("mine"), "count": read["count"]],
      version: read.version)
    try await a.store.save(kept)
    await a.store.sync()
    #expect(try await world.server("Memo", "1") == ["title": "theirs", "note": "mine", "count": 0])
  }

  /// Updates the app without a rename.
  @Test("A value kept over an update reverts nothing")
  func withoutARename() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", memo(1))
    try b.put("Memo", "1", ["title": .text("start"), "note": .text("n")])
    await b.store.sync()
    await a.store.sync()
    let read = try #require(try a.record("Memo", "1"))
    try b.set("Memo", "1", ["title": .text("theirs")])
    await b.store.sync()
    await a.store.sync()
    try a.restart()
    let kept = AnyRecord(
      "Memo", id: "1", ["title": read["title"], "note": .text("mine"), "count": read["count"]],
      version: read.version)
    try await a.store.save(kept)
    await a.store.sync()
    #expect(try await world.server("Memo", "1") == ["title": "theirs", "note": "mine", "count": 0])
  }
}
