import BothyStore
import BothySync
import BothyTesting
import GRDB
import Synchronization
import Testing

@Suite("How long the journal keeps what", .timeLimit(.minutes(2)))
struct JournalKeepingTests {
  /// Lets an edit made here give way, so many times, and returns the bytes of each loss.
  private func lose(_ count: Int, _ pair: Pair, text: String = "mine") async throws {
    for _ in 0..<count {
      try pair.b.edit { $0.score += 1 }
      await pair.b.store.sync()
      try pair.a.retitle(text)
      await pair.a.store.sync()
    }
  }

  private func losses(_ pair: Pair) throws -> Int {
    try pair.a.store.journal.entries(losing: true, limit: 100).count
  }

  @Test("Entries that lost something go by their number, and the others do not drive them out")
  func rows() async throws {
    let pair = try await Pair.sharing { $0.journal = JournalLimits(rows: 3, acceptedRows: 5) }
    try await lose(5, pair)
    #expect(try losses(pair) == 3)
    try pair.a.change { transaction in
      for number in 0..<20 { try transaction.insert(Note(id: "N\(number)", "x")) }
    }
    let receipt = try pair.a.store.receipt(for: .note("N0"))
    await pair.a.store.sync()
    #expect(try losses(pair) == 3)
    let kept = try pair.a.store.journal.entries(limit: 100)
    #expect(kept.count { $0.cause == .acknowledged } == 5)
    #expect(try await receipt.outcome() == .expired)
    let last = try pair.a.store.journal.lastNumber()
    #expect(kept.first?.number == last)
  }

  @Test("Entries go by the bytes that they take; the newest stays whatever its size")
  func bytes() async throws {
    let pair = try await Pair.sharing { $0.journal = JournalLimits(bytes: 4000) }
    let text = String(repeating: "x", count: 1500)
    try await lose(6, pair, text: text)
    #expect((1...3).contains(try losses(pair)))
    try await lose(1, pair, text: String(repeating: "y", count: 9000))
    #expect(try losses(pair) == 1)
  }

  @Test("Entries go by their age, and numbers go on behind those that went")
  func days() async throws {
    let pair = try await Pair.sharing()
    try await lose(2, pair)
    let last = try pair.a.store.journal.lastNumber()
    pair.world.time.advance(by: 31 * 86_400_000)
    try pair.a.insert("T9", "x")
    await pair.a.store.sync()
    let kept = try pair.a.store.journal.entries()
    #expect(kept.map(\.record) == [.note("T9")])
    #expect(kept.allSatisfy { $0.number > last })
    try await pair.a.store.reset()
    #expect(try pair.a.store.journal.entries().isEmpty)
    #expect(try pair.a.store.journal.lastNumber() == kept.first?.number)
  }

  @Test("A journal of the first form is kept, with its verdicts and its lost content")
  func oldFile() async throws {
    let pair = try await Pair.sharing()
    try await pair.a.store.store.write(origin: .remote) { transaction in
      try transaction.database.execute(
        sql: """
          DROP TABLE bothy_journal;
          CREATE TABLE bothy_journal (
            number INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER,
            verdict INTEGER NOT NULL, at INTEGER NOT NULL, version TEXT, reason TEXT, lost TEXT) STRICT;
          INSERT INTO bothy_journal VALUES (7, 'Note', 'T1', 5, 2, 1767225600000, '2', NULL, '{"title":"old"}');
          INSERT INTO bothy_journal VALUES (8, 'Note', 'T1', 9, 0, 1767225600000, '3', NULL, NULL);
          """)
    }
    try pair.a.restart(configuration: pair.a.store.configuration)
    let entries = try pair.a.store.journal.entries()
    #expect(entries.map(\.number) == [8, 7])
    #expect(entries.map(\.outcome) == [.accepted(version: "3"), .overwritten(version: "2")])
    #expect(try entries.last?.lost?.members() == ["title": "old"])
    try pair.a.retitle("new")
    await pair.a.store.sync()
    #expect(try pair.a.store.journal.entries().first?.number == 9)
  }

  @Test("A reader of updates hears of each decision once, and goes on behind a number")
  func updates() async throws {
    let pair = try await Pair.sharing()
    let journal = pair.a.store.journal
    var reader = journal.updates().makeAsyncIterator()
    try pair.a.insert("T2", "a")
    await pair.a.store.sync()
    #expect(try await reader.next()?.record == .note("T2"))
    // A decision that touches no record.
    try pair.a.retitle("mine")
    try pair.a.store.resolve(.note(), .acceptLocal)
    let second = try #require(try await reader.next())
    #expect(second.cause == .keptLocal)
    try pair.a.restart()
    var again = pair.a.store.journal.updates(after: second.number - 1).makeAsyncIterator()
    #expect(try await again.next() == second)
  }

  @Test("A receipt of what was taken back says so")
  func withdrawn() async throws {
    let pair = try Pair()
    pair.a.remote.isOffline = true
    let receipt = try await pair.a.store.save(Note(id: "T1", "a"))
    try pair.a.remove()
    pair.a.remote.isOffline = false
    #expect(try await receipt.outcome() == .withdrawn)
  }
}

@Suite("Callbacks that go on after a relaunch", .timeLimit(.minutes(2)))
struct ReportReaderTests {
  /// Tells callbacks until something was told or nothing more comes, and returns what was synced and refused.
  private func told(_ store: SyncedStore, as name: String, until count: Int) async throws -> [String] {
    let lines = Journal()
    let task = Task {
      await store.tellReports(
        to: SyncCallbacks(
          failedInserts: { for failure in $0 { lines.note("!" + failure.record.id) } },
          failedUpdates: { for failure in $0 { lines.note("!" + failure.record.id) } },
          completion: { objects in
            for object in objects { lines.note(object.objectID.id) }
            lines.note(".")
          }), as: name)
    }
    try await until { lines.lines.count { $0 == "." } >= count }
    task.cancel()
    await task.value
    return lines.lines.filter { $0 != "." }
  }

  private func until(_ condition: () throws -> Bool) async throws {
    try await BothySyncTests.until(condition)
  }

  @Test("What was decided while no callbacks were there is told after a relaunch, and nothing twice")
  func relaunch() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    try pair.a.insert("T2", "a")
    await pair.a.store.sync()
    #expect(try await told(pair.a.store, as: "app", until: 2) == ["T2"])
    // Ends with nobody there.
    try pair.a.insert("T3", "a")
    try pair.a.insert("T4", "a", note: "refused")
    await pair.a.store.sync()
    try pair.a.restart()
    #expect(try await told(pair.a.store, as: "app", until: 1) == ["!T4", "T3"])
    try pair.a.restart()
    try pair.a.insert("T5", "a")
    await pair.a.store.sync()
    #expect(try await told(pair.a.store, as: "app", until: 1).filter { $0 != "!T4" } == ["T5"])
  }

  @Test("Two names are told of all, each for itself")
  func names() async throws {
    let pair = try Pair()
    let store = pair.a.store
    try pair.a.insert("T1", "a")
    await store.sync()
    #expect(try await told(store, as: "one", until: 1) == ["T1"])
    try pair.a.insert("T2", "a")
    await store.sync()
    #expect(try await told(store, as: "two", until: 1) == ["T1", "T2"])
    #expect(try await told(store, as: "one", until: 1) == ["T2"])
  }
}
