import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Awaited saves that the server has made, and whose answer the device's disk doesn't take.
@Suite("Answers that the disk has no room for", .timeLimit(.minutes(5)))
struct AnswerOnFullDiskTests {
  /// Fails the commit that stores the answer to A's next request.
  private func failAnswer(to pair: Pair) {
    let points = pair.a.failPoints
    OnlineMeanwhileTests.meanwhile(pair.a) { _ in points.fail(at: 2) }
  }

  /// Promises
  @Test(
    "A save that was sent first is in doubt, and is made once",
    arguments: [WritePolicy.remoteThenLocal, .remote])
  func sentFirst(policy: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    failAnswer(to: pair)
    var note = try #require(try pair.a.note())
    note.score = 5
    let first = note
    let error = await #expect(throws: BothyError.self) {
      try await pair.a.store.save(first, options: .saving(policy))
    }
    #expect(error?.code == .database)
    #expect(error?.message.contains("may have made the change of Note/T1") == true)
    #expect(try await pair.server("T1")?["score"] == 5)
    #expect(try pair.a.store.unansweredSaves().map(\.id) == [.note()])
    let entry = try #require(try pair.a.store.journal.entries(of: .note(), limit: 1).first)
    #expect(entry.outcome == .unknown)
    note.title = "later"
    try await pair.a.store.save(note, options: .saving(policy))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "later", "score": 5])
  }

  @Test("A receipt reports the failure of the disk, not a rejection")
  func awaited() async throws {
    let pair = try await Pair.sharing()
    failAnswer(to: pair)
    var note = try #require(try pair.a.note())
    note.title = "mine"
    let receipt = try await pair.a.store.save(note, policy: .local)
    let error = await #expect(throws: BothyError.self) { _ = try await receipt.result() }
    #expect(error?.code == .database)
    #expect(try pair.a.isPending())
    if case .accepted = try await receipt.result().verdict {} else { Issue.record("It isn't accepted.") }
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "mine")
  }
}
