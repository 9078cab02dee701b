import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Network-first saves of whole entities, over changes that this device hasn't seen.
@Suite("Online saves over unseen changes", .faultsStrike, .timeLimit(.minutes(5)))
struct OnlineSaveTests {
  private static let online: [WritePolicy] = [.remoteThenLocal, .remote]

  /// Returns a pair on which B has changed T1 since A read it.
  private func pair(
    _ policy: MergePolicy = .fieldByField, _ theirs: (SimulatedDevice) throws -> Void
  ) async throws -> Pair {
    let pair = try await Pair.sharing(policy: policy)
    try theirs(pair.b)
    await pair.b.store.sync()
    return pair
  }

  private func save(
    _ pair: Pair, by policy: WritePolicy = .remoteThenLocal, _ change: (inout Note) -> Void
  ) async throws -> SaveOutcome {
    var note = try #require(try pair.a.note())
    change(&note)
    return try await pair.a.store.save(note, options: .saving(policy)).known
  }

  /// Promises: S-35, H-67, C-7, X-8, C-22
  @Test("A save keeps the changes of others in other fields, under every policy", arguments: online)
  func disjoint(save policy: WritePolicy) async throws {
    for merge in [MergePolicy.fieldByField, .remoteWins, .localWins, .latestWins] {
      let title = try await pair(merge) { try $0.edit { $0.note = "theirs" } }
      _ = try await save(title, by: policy) { $0.title = "mine" }
      #expect(try await title.server("T1") == ["title": "mine", "note": "theirs", "score": 0])
      #expect(try await title.isEven())
      let note = try await pair(merge) { try $0.retitle("theirs") }
      _ = try await save(note, by: policy) { $0.note = "mine" }
      #expect(try await note.server("T1") == ["title": "theirs", "note": "mine", "score": 0])
      #expect(try await note.isEven())
    }
  }

  @Test("A counter that both counted up has both counts", arguments: online)
  func counter(save policy: WritePolicy) async throws {
    let pair = try await pair { try $0.edit { $0.score += 5 } }
    _ = try await save(pair, by: policy) { $0.score += 1 }
    #expect(try await pair.server("T1")?["score"] == 6)
    #expect(try await pair.isEven())
  }

  @Test("A field set to nil is cleared on the server", arguments: online)
  func cleared(save policy: WritePolicy) async throws {
    let pair = try await pair { try $0.edit { $0.note = "text" } }
    await pair.a.store.sync()
    _ = try await save(pair, by: policy) { $0.note = nil }
    #expect(try await pair.server("T1") == ["title": "start", "score": 0])
    #expect(try await pair.isEven())
    #expect(try pair.a.note()?.note == nil)
  }

  @Test("A save of a deleted record recreates it only if the policy says so", arguments: online)
  func deletedThere(save policy: WritePolicy) async throws {
    let server = try await pair(.remoteWins) { try $0.remove() }
    let lost = try await save(server, by: policy) { $0.title = "mine" }
    #expect(try await server.world.serverRecords().isEmpty)
    if case .accepted = lost { Issue.record("accepted what was overwritten") }
    #expect(try await server.isEven())
    #expect(try server.a.note() == nil)
    let merging = try await pair { try $0.remove() }
    _ = try await save(merging, by: policy) { $0.title = "mine" }
    #expect(try await merging.server("T1") == ["title": "mine", "score": 0])
    #expect(try await merging.isEven())
  }

  @Test("The merge policy decides about a deletion over an unseen edit", arguments: online)
  func deletion(save policy: WritePolicy) async throws {
    let kept = try await pair { try $0.edit { $0.note = "unseen" } }
    let state = try await kept.a.store.delete(.note(), options: .saving(policy)).known
    if case .accepted = state { Issue.record("accepted a deletion that was undone") }
    #expect(try await kept.server("T1")?["note"] == "unseen")
    #expect(try await kept.isEven())
    #expect(try kept.a.note()?.note == "unseen")
    let gone = try await pair(.localWins) { try $0.edit { $0.note = "unseen" } }
    try await gone.a.store.delete(.note(), options: .saving(policy))
    #expect(try await gone.world.serverRecords().isEmpty)
    #expect(try await gone.isEven())
  }

  /// Promises: C-7
  @Test("A field that both changed is merged once, and the server has the result")
  func asked() async throws {
    let calls = Calls()
    let pair = try await pair(
      .custom { context in
        calls.add()
        #expect(context.base?["title"] == "start" && context.client?["title"] == "mine")
        return .merged((context.serverFields ?? [:]).merging(["title": "both"]) { $1 })
      }
    ) { try $0.retitle("theirs") }
    _ = try await save(pair) { $0.title = "mine" }
    #expect(calls.count == 1)
    #expect(try await pair.serverTitle() == "both")
    #expect(try pair.a.title() == "both")
    #expect(try await pair.isEven())
  }

  @Test("A policy that throws changes nothing, here or there")
  func throwing() async throws {
    struct Undecided: Error {}
    let pair = try await pair(.custom { _ in throw Undecided() }) { try $0.retitle("theirs") }
    let error = await #expect(throws: BothyError.self) { try await save(pair) { $0.title = "mine" } }
    #expect(error?.code == .conflict)
    #expect(try await pair.serverTitle() == "theirs")
    #expect(try pair.a.title() == "start")
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.isEven())
  }

  @Test("A merged save whose response is lost stays pending, and is made once")
  func lostAnswer() async throws {
    let pair = try await pair { try $0.edit { $0.score += 5 } }
    let calls = Calls()
    pair.a.remote.plan { calls.add() == 2 ? .lostAnswer : .none }
    let state = try await save(pair) { $0.score += 1 }
    #expect(state == .pending)
    #expect(try pair.a.note()?.score == 6)
    try pair.a.restart()
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1")?["score"] == 6)
  }

  @Test("An unqueued save that lost its response is made once when repeated")
  func again() async throws {
    for hasOthers in [false, true] {
      let pair = try await Pair.sharing(policy: .fieldByField)
      var note = try #require(try pair.a.note())
      note.score += 1
      pair.a.remote.plan(.lostAnswer, times: 1)
      await #expect(throws: BothyError.self) {
        try await pair.a.store.save(note, options: .saving(.remote))
      }
      if hasOthers {
        await pair.b.store.sync()
        try pair.b.edit { $0.score += 10 }
        await pair.b.store.sync()
      }
      try pair.a.insert("T2", "sent between")
      await pair.a.store.sync(.push)
      try await pair.a.store.save(note, options: .saving(.remote))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1")?["score"] == (hasOthers ? 11 : 1))
    }
  }
}
