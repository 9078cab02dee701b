import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// Transactions of which the server rejects a record.
@Suite("Rejected transactions", .faultsStrike, .timeLimit(.minutes(5)))
struct TogetherRefusals {
  /// Returns a pair. A has edited T1 and T2 in one transaction, and T1 is rejected. T3 was edited separately.
  private func refused(_ policy: SyncOptions.RejectionPolicy = .quarantine(after: 1)) async throws -> (
    Pair, SyncReport
  ) {
    let pair = try await Pair.sharing(["T1", "T2", "T3"], rules: .withoutNotes) {
      $0.rejectionPolicy = policy
    }
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.note = "refused" }
      try transaction.update(Note.self, id: "T2") { $0.title = "together" }
    }
    try pair.a.retitle("T3", "alone")
    let report = await pair.a.store.sync()
    #expect(report.pushed == 1)
    #expect(try await pair.serverTitle("T3") == "alone")
    #expect(try await pair.serverTitle("T2") == "start")
    pair.a.remote.forgetRequests()
    return (pair, report)
  }

  @Test(
    "A transaction is rejected as a whole, blocked by one record")
  func wholeTransaction() async throws {
    let (pair, report) = try await refused()
    #expect(report.rejected.map(\.record) == [.note("T1")])
    #expect(report.blocked == [SyncReport.Blocked(record: .note("T2"), by: .note("T1"))])
    for relaunched in [false, true] {
      if relaunched { try pair.a.restart() }
      #expect(try pair.a.store.rejectedEntries().map(\.id) == [.note("T1"), .note("T2")])
      let states = try await pair.a.store.outbox.rejected().map(\.state)
      #expect(states.map(\.name) == ["quarantined", "blocked"] && states.last == .blocked(by: .note("T1")))
      #expect(try pair.a.store.state(of: .note("T1")).name == "quarantined")
      #expect(try pair.a.store.state(of: .note("T2")) == .blocked(by: .note("T1")))
      guard case .rejected = try pair.a.store.receipt(for: .note("T2")).state else {
        Issue.record("The receipt of T2 does not tell.")
        return
      }
    }
    #expect(try pair.a.title("T2") == "together")
  }

  @Test("An edit of any record in a rejected transaction sends all again", arguments: ["T1", "T2"])
  func edit(_ id: String) async throws {
    let (pair, _) = try await refused()
    try pair.a.edit(id) { $0.title = "edited" }
    await pair.a.store.sync()
    #expect(pair.a.operations.map { $0.group?.size } == [2, 2])
    try pair.a.edit("T1") { $0.note = nil }
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle("T2") == (id == "T2" ? "edited" : "together"))
  }

  @Test("A draft on a record of a rejected transaction holds nothing of it back")
  func draft() async throws {
    let (pair, _) = try await refused(.keepPending)
    var note = try #require(try pair.a.note("T1"))
    note.title = "draft"
    try await pair.a.store.save(note, policy: .draft)
    pair.world.setRules(AccessRules())
    pair.world.time.advance(by: 1000)
    await pair.a.store.sync()
    #expect(try await pair.server("T1")?["note"] == "refused")
    #expect(try await pair.serverTitle("T2") == "together")
    #expect(try pair.a.store.state(of: .note("T1")) == .draft)
    try await pair.a.store.outbox.release(.note("T1"))
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle("T1") == "draft")
  }

  @Test("A released draft cures the rejected transaction that it lies on")
  func releasedDraft() async throws {
    let (pair, _) = try await refused()
    var note = try #require(try pair.a.note("T1"))
    note.note = nil
    try await pair.a.store.save(note, policy: .draft)
    try await pair.a.store.outbox.release(.note("T1"))
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle("T2") == "together")
  }

  @Test("Retrying one record sends the whole transaction again")
  func retry() async throws {
    let (pair, _) = try await refused()
    try pair.a.store.resolve(.note("T2"), .retry)
    await pair.a.store.sync()
    #expect(Set(pair.a.operations.map(\.record)) == [.note("T1"), .note("T2")])
  }

  @Test("Reverting, accepting or evicting one record affects its whole transaction", arguments: ["T1", "T2"])
  func decide(_ id: String) async throws {
    for resolution in [Outbox.Decision.revert, .keepLocal, .removeLocal] {
      let (pair, _) = try await refused()
      #expect(try pair.a.store.resolve(.note(id), resolution))
      #expect(try pair.a.store.outboxEntries().isEmpty)
      let titles = try ["T1", "T2"].map { try pair.a.title($0) }
      switch resolution {
      case .revert: #expect(titles == ["start", "start"])
      case .keepLocal: #expect(titles == ["start", "together"])
      case .removeLocal: #expect(titles == [nil, nil])
      case .retry: break
      }
      #expect(try await pair.isEven())
      #expect(try pair.a.title("T2") == "start")
    }
  }

  @Test("Under discard the whole transaction is undone and its content reported")
  func discard() async throws {
    let (pair, report) = try await refused(.discardAndRefetch)
    #expect(Set(report.overwritten.map(\.record)) == [.note("T1"), .note("T2")])
    #expect(Set(report.rejected.map(\.record)) == [.note("T1"), .note("T2")])
    #expect(try pair.a.title("T2") == "start")
    #expect(try pair.a.note("T1")?.note == nil)
    #expect(try await pair.isEven())
  }

  @Test("Purging one record with its pending change reverts the whole transaction")
  func purge() async throws {
    let (pair, _) = try await refused()
    try pair.a.store.purge([.note("T1")], includingPending: true)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try pair.a.title("T2") == "start")
    #expect(try await pair.isEven())
  }

  @Test("A record purged while in doubt does not block the rest forever")
  func purgedInDoubt() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.title = "a" }
      try transaction.update(Note.self, id: "T2") { $0.title = "a" }
    }
    pair.a.loseAnswer()
    await pair.a.store.sync()
    try pair.a.store.purge([.note("T1")], includingPending: true)
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle("T2") == "a")
  }

  @Test("A policy that fails on one record keeps the whole transaction pending")
  func failingPolicy() async throws {
    struct Broken: Error {}
    let calls = Calls()
    let policy = MergePolicy.custom { _ in
      if calls.add() == 1 { throw Broken() }
      return .client
    }
    let pair = try await Pair.sharing(["T1", "T2"], policy: policy)
    try pair.b.retitle("T1", "b")
    await pair.b.store.sync()
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.title = "a" }
      try transaction.update(Note.self, id: "T2") { $0.title = "a" }
    }
    let report = await pair.a.store.sync(.push)
    #expect(report.rejected.map(\.code) == ["mergeFailed"])
    #expect(try await pair.serverTitle("T2") == "start")
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle("T1") == "a")
    #expect(try await pair.serverTitle("T2") == "a")
  }
}
