import BothyStore
import BothySync
import BothyTesting
import GRDB
import Testing

/// Purges of records that stay because they have pending changes.
@Suite("A purge that a pending change refuses", .timeLimit(.minutes(5)))
struct PurgeKeptTests {
  enum Extent: CaseIterable { case record, type, container, everything }

  /// Returns a pair on which A has lost a title, has saved a note on the server alone, and has a pending count.
  private func pair() async throws -> Pair {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    try pair.a.retitle("mine")
    await pair.a.store.sync()
    var note = try #require(try pair.a.note())
    note.note = "online"
    try await pair.a.store.save(note, options: .saving(.remote))
    try pair.a.edit { $0.score = 3 }
    return pair
  }

  private func purge(_ extent: Extent, _ store: SyncedStore) throws -> [RecordID] {
    switch extent {
    case .record: try store.purge(.note()).kept
    case .type: try store.purge(type: "Note").kept
    case .container: try store.purge(container: "Note").kept
    case .everything: try store.purge().kept
    }
  }

  /// Returns the lost titles, and what the file keeps about results that no row shows.
  private func memory(_ store: SyncedStore) throws -> [String] {
    let lost = try store.journal.entries(losing: true).compactMap {
      try $0.lost?.members()["title"]?.stringValue
    }
    let rows = try store.store.read { transaction in
      try Row.fetchAll(transaction.database, sql: "SELECT * FROM bothy_stale").map { "\($0)" }
        + Row.fetchAll(transaction.database, sql: "SELECT * FROM bothy_doubt").map { "\($0)" }
    }
    return lost + rows
  }

  /// Promises: S-25
  @Test("It forgets nothing of the record", arguments: Extent.allCases)
  func forgetsNothing(extent: Extent) async throws {
    let pair = try await pair()
    let before = try memory(pair.a.store)
    #expect(before.first == "mine")
    #expect(try purge(extent, pair.a.store) == [.note()])
    #expect(try memory(pair.a.store) == before)
    #expect(try pair.a.note()?.score == 3)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "theirs", "note": "online", "score": 3])
    let entry = try #require(try pair.a.store.journal.entries(losing: true).first)
    #expect(entry.isRestorable)
    try await pair.a.store.journal.restore(entry)
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "mine")
  }

  @Test("A purge with the pending change removes the content from the journal")
  func includingPending() async throws {
    let pair = try await pair()
    try pair.a.store.purge(.note(), includingPending: true)
    #expect(try pair.a.store.journal.entries(losing: true).allSatisfy { $0.lost == nil })
    #expect(try await pair.isEven())
  }
}
