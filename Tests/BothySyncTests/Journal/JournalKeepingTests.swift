import BothyLegacy
import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import GRDB
import Testing

@Suite("Limits of the journal", .timeLimit(.minutes(5)))
struct JournalKeepingTests {
  /// Lets an edit made here give way `count` times.
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

  @Test("Entries with lost content expire by their number, and others don't displace them")
  func rows() async throws {
    let pair = try await Pair.sharing { $0.journal = SyncOptions.JournalLimits(rows: 3, acceptedRows: 5) }
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

  @Test("A save whose entry expired hasn't the verdict on a later one")
  func laterVerdict() async throws {
    let pair = try await Pair.sharing { $0.journal = SyncOptions.JournalLimits(acceptedRows: 1) }
    var note = try #require(try pair.a.note())
    note.title = "first"
    let first = try await pair.a.store.save(note, policy: .local)
    let (a, b, calls) = (pair.a.store, pair.b.store, Calls())
    // The save is accepted, and edited before the answer. Then others change what the edit changes.
    pair.a.remote.setDuringExchange {
      guard calls.add() == 1 else { return }
      do {
        try await a.store.write { _ = try $0.update(Note.self, id: "T1") { $0.title = "second" } }
        await b.sync()
        try await b.store.write { _ = try $0.update(Note.self, id: "T1") { $0.title = "theirs" } }
        await b.sync()
      } catch { Issue.record(error) }
    }
    await a.sync()
    #expect(try losses(pair) == 1)
    #expect(try a.journal.entries(of: .note()).map(\.word) == ["overwritten", "accepted"])
    try pair.a.insert("T9", "x")
    await a.sync()
    #expect(try a.journal.entries(of: .note()).map(\.word) == ["overwritten"])
    #expect(try await first.outcome() == .expired)
  }

  @Test("Limits without an end keep every entry", arguments: [Int.max, 1 << 53, 1 << 40])
  func forEver(days: Int) async throws {
    let pair = try await Pair.sharing { $0.journal = SyncOptions.JournalLimits(days: days) }
    try await lose(3, pair)
    #expect(try losses(pair) == 3)
  }

  @Test("Entries expire by their bytes, and the newest stays whatever its size")
  func bytes() async throws {
    let pair = try await Pair.sharing { $0.journal = SyncOptions.JournalLimits(bytes: 4000) }
    let text = String(repeating: "x", count: 1500)
    try await lose(6, pair, text: text)
    #expect((1...3).contains(try losses(pair)))
    try await lose(1, pair, text: String(repeating: "y", count: 9000))
    #expect(try losses(pair) == 1)
  }

  @Test("Entries expire by age, and numbers continue after the expired ones")
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
    try await pair.a.store.maintenance.reset()
    #expect(try pair.a.store.journal.entries().isEmpty)
    #expect(try pair.a.store.journal.lastNumber() == kept.first?.number)
  }

  @Test("A journal in the first format keeps its verdicts and lost content")
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

  @Test("A reader of updates receives each decision once, and continues after a number")
  func updates() async throws {
    let pair = try await Pair.sharing()
    let journal = pair.a.store.journal
    var reader = journal.updates().makeAsyncIterator()
    try pair.a.insert("T2", "a")
    await pair.a.store.sync()
    #expect(try await reader.next()?.record == .note("T2"))
    // This decision touches no record.
    try pair.a.retitle("mine")
    try pair.a.store.resolve(.note(), .keepLocal)
    let second = try #require(try await reader.next())
    #expect(second.cause == .keptLocal)
    try pair.a.restart()
    var again = pair.a.store.journal.updates(after: second.number - 1).makeAsyncIterator()
    #expect(try await again.next() == second)
  }

  @Test("A receipt of a withdrawn save reports so")
  func withdrawn() async throws {
    let pair = try Pair()
    pair.a.remote.isOffline = true
    let receipt = try await pair.a.store.save(Note(id: "T1", "a"))
    try pair.a.remove()
    pair.a.remote.isOffline = false
    #expect(try await receipt.outcome() == .withdrawn)
  }
}

@Suite("Callbacks that continue after a relaunch", .timeLimit(.minutes(5)))
struct ReportReaderTests {
  /// Sends reports to callbacks until `count` of these have completed, and returns the ids of synced and failed
  /// records.
  private func reported(_ store: SyncedStore, as name: String, until count: Int) async throws -> [String] {
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

  /// Reads reports until `count` have come, and returns the titles of the content that was replaced.
  private func replaced(_ store: SyncedStore, until count: Int) async throws -> [String] {
    let lines = Journal()
    let task = Task {
      await store.tellReports(as: "screen") { report in
        for item in report.overwritten {
          // Content without a title is not expected.
          lines.note((try? item.fields?.members()["title"]?.stringValue) ?? "none")
        }
        lines.note(".")
      }
    }
    try await until { lines.lines.count { $0 == "." } >= count }
    task.cancel()
    await task.value
    return lines.lines.filter { $0 != "." }
  }

  /// Promises: S-54, N-37, C-1
  @Test("A reader that was away learns what was replaced")
  func replacedMeanwhile() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes) { $0.rejectionPolicy = .discardAndRefetch }
    #expect(try await replaced(pair.a.store, until: 1).isEmpty)
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    try pair.a.retitle("mine")
    await pair.a.store.sync()
    try pair.a.edit { $0.note = "refused" }
    await pair.a.store.sync()
    try pair.a.restart()
    #expect(try await replaced(pair.a.store, until: 1) == ["mine", "theirs"])
    #expect(try pair.a.store.journal.entries(losing: true).count == 2)
  }

  /// Promises: S-48, S-63, S-66
  @Test("Decisions without callbacks are reported after a relaunch, and none twice")
  func relaunch() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    try pair.a.insert("T2", "a")
    await pair.a.store.sync()
    #expect(try await reported(pair.a.store, as: "app", until: 2) == ["T2"])
    // These writes end while no callbacks exist.
    try pair.a.insert("T3", "a")
    try pair.a.insert("T4", "a", note: "refused")
    await pair.a.store.sync()
    try pair.a.restart()
    #expect(try await reported(pair.a.store, as: "app", until: 1) == ["!T4", "T3"])
    try pair.a.restart()
    try pair.a.insert("T5", "a")
    await pair.a.store.sync()
    #expect(try await reported(pair.a.store, as: "app", until: 1).filter { $0 != "!T4" } == ["T5"])
  }

  @Test("Two named readers each receive all reports")
  func names() async throws {
    let pair = try Pair()
    let store = pair.a.store
    try pair.a.insert("T1", "a")
    await store.sync()
    #expect(try await reported(store, as: "one", until: 1) == ["T1"])
    try pair.a.insert("T2", "a")
    await store.sync()
    #expect(try await reported(store, as: "two", until: 1) == ["T1", "T2"])
    #expect(try await reported(store, as: "one", until: 1) == ["T2"])
  }

  @Test("A purge costs the same for each record, however many transactions it cuts")
  func purgeOfTransactions() async throws {
    let pair = try Pair(schema: .bank)
    let store = pair.a.store
    let names = (0..<200).map { "x\($0)" }
    try pair.a.open(Dictionary(uniqueKeysWithValues: names.map { ($0, 100) }))
    await store.sync()
    for index in stride(from: 0, to: 200, by: 2) {
      try pair.a.transfer(10, from: names[index], to: names[index + 1])
      try store.resolve(.account(names[index]), .revert)
    }
    #expect(try store.journal.entries(losing: true, limit: 500).count == 200)
    let before = try await store.store.write { $0.database.totalChangesCount }
    try store.purge(names.map { RecordID.account($0) })
    let after = try await store.store.write { $0.database.totalChangesCount }
    // If each record marked all that were cut before, it would be 20,000.
    #expect(after - before < 8000)
  }
}
