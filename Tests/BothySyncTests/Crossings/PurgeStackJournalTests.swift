import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("A purge beneath transactions", .timeLimit(.minutes(5)))
struct PurgeStackJournalTests {
  @Test("The journal has the content that a purge undoes, unchanged")
  func whatAPurgeUndoesIsInTheJournalAsItWas() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    try a.put("Memo", "A", ["title": .text("a")])
    try a.put("Memo", "B", ["title": .text("b")])
    await a.store.sync()
    a.remote.isOffline = true
    let (one, two) = (RecordID(type: "Memo", id: "A"), RecordID(type: "Memo", id: "B"))
    try a.atomic {
      _ = try $0.update(one, fields: ["title": .text("a1")])
      _ = try $0.update(two, fields: ["title": .text("first"), "note": .text("first note")])
    }
    try a.atomic { _ = try $0.update(two, fields: ["title": .text("second")]) }
    // The purge undoes B's first change, which shares a transaction with A's change. B's second change stays pending.
    try a.store.purge(one, includingPending: true)
    let entries = try a.store.journal.entries(of: two, losing: true)
    let lost = try #require(entries.first)
    let title = lost.lostFields.first { $0.name == "title" }
    #expect(title?.local == "first")
    #expect(try lost.lost?.members()["title"] == "first")
  }

  @Test("Deletions that a purge undoes are listed as losses, and can be restored")
  func deletions() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    for id in ["A", "B"] { try a.put("Memo", id, ["title": .text(id)]) }
    await a.store.sync()
    let (one, two) = (RecordID(type: "Memo", id: "A"), RecordID(type: "Memo", id: "B"))
    try a.atomic {
      _ = try $0.delete(one)
      _ = try $0.delete(two)
    }
    // The purge undoes A's deletion, and B's because both were written together.
    try a.store.purge(one, includingPending: true)
    let entries = try a.store.journal.entries(losing: true)
    #expect(Set(entries.map(\.record)) == [one, two])
    #expect(entries.allSatisfy { $0.isRestorable })
    await a.store.sync()
    try await a.store.journal.restore(#require(entries.first))
    await a.store.sync()
    #expect(try await world.serverRecords().isEmpty)
  }
}
