import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// What the journal says about saves that were sent first, got no answer and were undone here.
@Suite("Verdicts on unanswered saves", .faultsStrike, .timeLimit(.minutes(5)))
struct UnansweredVerdictTests {
  /// Returns a pair on which A's save of a title got no answer.
  private func unanswered(_ fault: FaultyRemote.Fault) async throws -> Pair {
    let pair = try await Pair.sharing(policy: .fieldByField)
    pair.a.remote.plan(fault, on: .operations, times: 1)
    var note = try #require(try pair.a.note())
    note.title = "two"
    let value = note
    let error = await #expect(throws: BothyError.self) {
      try await pair.a.store.save(value, options: .saving(.remote))
    }
    #expect(error?.code == .unreachable)
    #expect(error?.message.contains("may have made the change of Note/T1") == true)
    return pair
  }

  private func newest(_ pair: Pair) throws -> JournalEntry {
    try #require(try pair.a.store.journal.entries(of: .note(), limit: 1).first)
  }

  @Test("A save without an answer is unknown, not withdrawn", arguments: [false, true])
  func unknown(isRelaunched: Bool) async throws {
    let pair = try await unanswered(.lostAnswer)
    if isRelaunched { try pair.a.restart() }
    let entry = try newest(pair)
    #expect(entry.outcome == .unknown && entry.word == "unknown")
    #expect(!entry.isFinal && !entry.isRestorable)
    #expect(entry.sentence == "No answer came; the server may have made it.")
    #expect(try pair.a.store.unansweredSaves().map(\.id) == [.note()])
    #expect(try pair.a.store.pendingCounts().total == 0)
  }

  @Test("A pull that shows the save makes it accepted", arguments: [false, true])
  func shown(isRelaunched: Bool) async throws {
    let pair = try await unanswered(.lostAnswer)
    if isRelaunched { try pair.a.restart() }
    await pair.a.store.sync()
    #expect(try pair.a.title() == "two")
    let entry = try newest(pair)
    #expect(entry.word == "accepted" && entry.isFinal)
    #expect(try pair.a.store.unansweredSaves().isEmpty)
  }

  @Test("A pull of another version makes the save withdrawn")
  func other() async throws {
    let pair = try await unanswered(.lostRequest)
    await pair.a.store.sync()
    #expect(try newest(pair).word == "unknown")
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    await pair.a.store.sync()
    let entry = try newest(pair)
    #expect(entry.word == "withdrawn" && entry.isFinal)
    #expect(entry.sentence == "The server was asked at once, and has not made it.")
  }

  /// Promises: A-41
  @Test("A later change of the record settles the save before it")
  func later() async throws {
    for fault in [FaultyRemote.Fault.lostAnswer, .lostRequest] {
      let pair = try await unanswered(fault)
      try pair.a.edit { $0.note = "later" }
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "two", "note": "later", "score": 0])
      #expect(try newest(pair).word == "accepted")
      #expect(try pair.a.store.unansweredSaves().isEmpty)
      #expect(try pair.a.store.receipt(for: .note()).known.isAccepted)
    }
  }

  @Test("A save that a policy has merged at once says so")
  func merged() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var note = try #require(try pair.a.note())
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    (note.title, note.note) = ("mine", "kept")
    let receipt = try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    guard case .merged = receipt.known else {
      Issue.record("\(receipt.known)")
      return
    }
    let entry = try #require(try pair.a.store.journal.entries(losing: true).first)
    #expect(entry.lostFields.map(\.name) == ["title"])
    #expect(entry.sentence == "Another device had changed it too, and the policy fieldByField decided.")
  }
}

extension SaveOutcome {
  fileprivate var isAccepted: Bool { if case .accepted = self { true } else { false } }
}
