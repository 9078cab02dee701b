import BothyStore
import BothySync
import BothyTesting
import Testing

/// The events of each commit, with the record, its change and its author.
@Suite("Events", .timeLimit(.minutes(5)))
struct EventTests {
  private func event(_ id: String, _ kind: RecordChange.Kind, by source: RecordChange.Source) -> RecordChange
  {
    RecordChange(.note(id), kind, by: source)
  }

  /// Promises: N-60
  @Test("Events distinguish the app's writes, others' changes and the decisions of a sync")
  func sources() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"])
    var events = pair.a.store.store.events.makeAsyncIterator()
    try pair.a.change { transaction in
      try transaction.insert(Note(id: "N", "new"))
      _ = try transaction.update(Note.self, id: "T1") { $0.title = "mine" }
      _ = try transaction.delete(Note.self, id: "T2")
      try transaction.insert(Note(id: "gone", "n"))
      _ = try transaction.delete(Note.self, id: "gone")
    }
    #expect(
      await events.next() == [
        event("N", .inserted, by: .local), event("T1", .updated, by: .local),
        event("T2", .removed, by: .local),
      ])
    try pair.b.retitle("T1", "theirs")
    try pair.b.insert("B", "theirs")
    try pair.b.remove("T3")
    await pair.b.store.sync()
    await pair.a.store.sync()
    let reported = try #require(await events.next())
    // The server's version of T1 won a conflict, and the others are new changes.
    #expect(
      Set(reported) == [
        event("T1", .updated, by: .sync), event("B", .inserted, by: .remote),
        event("T3", .removed, by: .remote),
      ])
    #expect(reported.count == 3)
  }

  /// Promises: N-60
  @Test("A rolled-back transaction sends no events, and the stream ends with the store")
  func rollback() async throws {
    struct Broken: Error {}
    let pair = try await Pair.sharing()
    let store = pair.a.store.store
    var events = store.events.makeAsyncIterator()
    #expect(throws: Broken.self) {
      try pair.a.change { transaction in
        try transaction.insert(Note(id: "N", "new"))
        throw Broken()
      }
    }
    try pair.a.insert("M", "new")
    #expect(await events.next() == [event("M", .inserted, by: .local)])
    try store.close()
    #expect(await events.next() == nil)
  }
}
