import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// The verdict of a write, read after the sync that decided it.
@Suite("Verdicts outlive the sync", .timeLimit(.minutes(5)))
struct VerdictTests {
  /// Returns the receipt's verdict now and after a relaunch.
  private func outcomes<Value>(_ receipt: SaveReceipt<Value>, _ pair: Pair) async throws -> [SaveOutcome] {
    let now = try await receipt.outcome()
    try pair.a.restart()
    return [now, try await pair.a.store.receipt(for: receipt.record).outcome()]
  }

  /// Promises: N-50, S-54
  @Test("A save that gave way to the server's is never accepted")
  func overwritten() async throws {
    let pair = try await Pair.sharing()
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    let receipt = try await pair.a.store.save(Note(id: "T1", "mine"))
    await pair.a.store.sync()
    #expect(try pair.a.title() == "theirs")
    let reported = SaveOutcome.overwritten(version: "2")
    #expect(try await outcomes(receipt, pair) == [reported, reported])
    let entry = try #require(try pair.a.store.journal.entries(of: .note()).first)
    #expect(entry.outcome == reported)
    #expect(try entry.lost?.members()["title"] == "mine")
  }

  /// Promises: N-37, C-4
  @Test("A save that was rejected and undone has its reason")
  func undone() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes) { $0.rejectionPolicy = .discardAndRefetch }
    let receipt = try await pair.a.store.save(Note(id: "T1", "a", note: "refused"))
    await pair.a.store.sync()
    await pair.a.store.sync()
    for outcome in try await outcomes(receipt, pair) {
      guard case .rejected(let reason) = outcome else {
        Issue.record("\(outcome) of what was refused")
        continue
      }
      #expect(reason.code == "invalid")
    }
  }

  @Test("A save undone before it was sent is withdrawn, by both receipts")
  func takenBack() async throws {
    let pair = try Pair()
    let save = try await pair.a.store.save(Note(id: "T1", "mine"))
    let deletion = try await pair.a.store.delete(.note())
    #expect(deletion.known == .withdrawn)
    #expect(try await save.outcome() == .withdrawn)
    #expect(try await outcomes(deletion, pair) == [.withdrawn, .withdrawn])
  }

  @Test("A rejected save that is reverted afterwards stays rejected")
  func reverted() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    let receipt = try await pair.a.store.save(Note(id: "T1", "a", note: "refused"))
    await pair.a.store.sync()
    try pair.a.store.resolve(.note(), .revert)
    for outcome in try await outcomes(receipt, pair) {
      guard case .rejected = outcome else { Issue.record("\(outcome) of what was refused"); continue }
    }
  }

  @Test("A sync run before the receipt is read has left its verdict")
  func loop() async throws {
    let pair = try await Pair.sharing { $0.triggers = [.save] }
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    let store = pair.a.store
    let loop = Task { await store.run(clock: VirtualClock()) }
    try await until { store.status.phase == .idle }
    let receipt = try await store.save(Note(id: "T1", "mine"))
    try await until { try !pair.a.isPending() && store.status.phase == .idle }
    #expect(try await receipt.outcome() == .overwritten(version: "2"))
    loop.cancel()
    await loop.value
  }

  /// Promises: N-53, S-63
  @Test("A pending insert that the server already has is reported and accepted")
  func equal() async throws {
    let pair = try Pair()
    try pair.b.insert("T1", "same")
    await pair.b.store.sync()
    let receipt = try await pair.a.store.save(Note(id: "T1", "same"))
    let report = await pair.a.store.sync()
    #expect(report.synced.map(\.record) == [.note()])
    #expect(try pair.a.store.outboxEntries().isEmpty)
    let outcome = try await receipt.outcome()
    #expect(outcome == .accepted(version: "1"))
  }

  @Test("A merge is reported as such, and an earlier save keeps its verdict")
  func merged() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try pair.b.edit { $0.note = "theirs" }
    await pair.b.store.sync()
    var note = try #require(try pair.a.note())
    note.title = "mine"
    let receipt = try await pair.a.store.save(note)
    await pair.a.store.sync()
    #expect(try await receipt.outcome() == .merged(version: "3"))
    let later = try await pair.a.store.save(Note(id: "T1", "later", note: "theirs"))
    await pair.a.store.sync()
    #expect(try await later.outcome() == .accepted(version: "4"))
    #expect(try await receipt.outcome() == .merged(version: "3"))
    #expect(try pair.a.store.receipt(for: .note()).known == .accepted(version: "4"))
  }

  @Test(
    "A save without changes is accepted, and a foreign record has no verdict"
  )
  func unknown() async throws {
    let pair = try await Pair.sharing()
    #expect(try pair.a.store.receipt(for: .note()).known == .unknown)
    let note = try #require(try pair.a.note())
    #expect(try await pair.a.store.save(note).known == .accepted(version: "1"))
    #expect(try pair.a.store.receipt(for: .note("nobody")).known == .unknown)
  }

  @Test("All records of a transaction that gives way are reported as overwritten")
  func atomic() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    try await pair.a.store.write(.atomic) { transaction in
      for id in ["T1", "T2"] { _ = try transaction.update(Note.self, id: id) { $0.title = "mine" } }
    }
    let receipts = try ["T1", "T2"].map { try pair.a.store.receipt(for: .note($0)) }
    await pair.a.store.sync()
    for receipt in receipts {
      guard case .overwritten = try await receipt.outcome() else {
        Issue.record("\(receipt.record) was not overwritten")
        continue
      }
    }
    #expect(try pair.a.store.journal.entries().count { $0.lost != nil } == 2)
  }

  @Test("An accepted save lost nothing although a later change of its record was undone")
  func beneathUndone() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    var note = try #require(try pair.a.note())
    note.title = "mine"
    let receipt = try await pair.a.store.save(note)
    try await pair.a.store.write(.atomic) { transaction in
      for id in ["T1", "T2"] { _ = try transaction.update(Note.self, id: id) { $0.note = "later" } }
    }
    try pair.a.store.resolve(.note("T2"), .revert)
    await pair.a.store.sync()
    let result = try await receipt.result()
    #expect(result.verdict == .accepted(version: "3") && result.overwritten == nil)
    #expect(try pair.a.store.journal.entries(of: .note(), losing: true).count == 1)
  }

  @Test("The journal keeps the latest accepted writes, and all overwritten content")
  func bounded() async throws {
    let pair = try await Pair.sharing { $0.journal = SyncOptions.JournalLimits(acceptedRows: 1000) }
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    let lost = try await pair.a.store.save(Note(id: "T1", "mine"))
    await pair.a.store.sync()
    try pair.a.change { transaction in
      for number in 0..<1200 { try transaction.insert(Note(id: "N\(1000 + number)", "x")) }
    }
    let first = try pair.a.store.receipt(for: .note("N1000"))
    await pair.a.store.sync()
    #expect(try pair.a.store.journal.entries(limit: 5000).count == 1001)
    #expect(try await first.outcome() == .expired)
    #expect(try await lost.outcome() == .overwritten(version: "2"))
    #expect(try pair.a.store.receipt(for: .note("N2199")).known != .unknown)
  }

  @Test("A purge deletes a record's lost content, and a reset empties the journal")
  func purged() async throws {
    let pair = try await Pair.sharing()
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    try await pair.a.store.save(Note(id: "T1", "mine"))
    await pair.a.store.sync()
    try pair.a.store.purge(.note())
    #expect(try pair.a.store.journal.entries().map(\.lost) == [nil])
    try await pair.a.store.maintenance.reset()
    #expect(try pair.a.store.journal.entries().isEmpty)
  }
}
