import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Values that were read before others' changes, saved while an online save of the same record is under way.
@Suite("Stale values beside an online save in flight", .faultsStrike, .timeLimit(.minutes(5)))
struct StaleBesideOnlineTests {
  private static let policies: [MergePolicy] = [.remoteWins, .fieldByField, .localWins]
  private static let online: [WritePolicy] = [.remoteThenLocal, .remote]

  /// Returns a pair on which A has read T1, and B's change of its title and count has arrived since.
  private func pair(_ policy: MergePolicy) async throws -> (Pair, Note) {
    let pair = try await Pair.sharing(policy: policy)
    let stale = try #require(try pair.a.note())
    try pair.b.edit { ($0.title, $0.score) = ("theirs", 5) }
    await pair.b.store.sync()
    await pair.a.store.sync()
    return (pair, stale)
  }

  private func saveOnline(_ pair: Pair, _ save: WritePolicy, _ change: (inout Note) -> Void) async throws {
    var note = try #require(try pair.a.note())
    change(&note)
    try await pair.a.store.save(note, options: .saving(save))
  }

  @Test("The merge policy decides about the stale edit", arguments: policies, online)
  func decided(policy: MergePolicy, save: WritePolicy) async throws {
    for fault in [FaultyRemote.Fault.none, .lostAnswer, .lostRequest] {
      for grouping in [WriteGrouping.independent, .atomic] {
        var (pair, stale) = try await pair(policy)
        if fault != .none { pair.a.remote.plan(fault, on: .operations, times: 1) }
        (stale.title, stale.score) = ("mine", 1)
        let value = stale
        OnlineMeanwhileTests.meanwhile(pair.a) { try await $0.write(grouping) { try $0.save(value) } }
        try await saveOnline(pair, save) { $0.note = "online" }
        #expect(try pair.a.note()?.note == "online")
        #expect(try await pair.isEven(), "\(fault), \(grouping)")
        let isMine = policy.name == "localWins"
        #expect(
          try await pair.server("T1") == [
            "title": isMine ? "mine" : "theirs", "note": "online",
            "score": policy.name == "fieldByField" && grouping == .independent || isMine ? 6 : 5,
          ], "\(fault), \(grouping)")
        let lost = try pair.a.store.journal.entries(losing: true).flatMap { $0.lostFields.map(\.name) }
        #expect(lost.contains("title") != isMine)
      }
    }
  }

  @Test("Of the online save's title and the stale one the later wins", arguments: policies)
  func own(policy: MergePolicy) async throws {
    var (pair, stale) = try await pair(policy)
    (stale.title, stale.score) = ("mine", 1)
    let value = stale
    OnlineMeanwhileTests.meanwhile(pair.a) { try await $0.store.write { try $0.save(value) } }
    try await saveOnline(pair, .remoteThenLocal) { ($0.title, $0.score) = ("online", $0.score + 10) }
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "mine", "score": 16])
    #expect(try pair.a.store.journal.entries(losing: true).isEmpty)
  }

  // The online save is merged with B's title and sent again. The value edits the title as A's row still has it.
  @Test("An edit beside a merged save doesn't revert what the merge brought", arguments: policies, online)
  func merged(policy: MergePolicy, save: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: policy)
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    var late = try #require(try pair.a.note())
    late.title = "late"
    let (calls, store, value) = (Calls(), pair.a.store.store, late)
    pair.a.remote.setBeforeSending { _ in
      guard calls.add() == 2 else { return }
      do { try await store.write { try $0.save(value) } } catch { Issue.record(error) }
    }
    try await saveOnline(pair, save) { $0.note = "online" }
    #expect(calls.count >= 2)
    #expect(try await pair.isEven())
    let title: JSONValue = policy.name == "localWins" ? "late" : "theirs"
    #expect(try await pair.server("T1") == ["title": title, "note": "online", "score": 0])
  }

  @Test("A stale value reverts nothing after an online save was cut off")
  func cutOff() async throws {
    for step in 1... {
      var (pair, stale) = try await pair(.remoteWins)
      pair.a.failPoints.crash(at: step)
      _ = try? await saveOnline(pair, .remoteThenLocal) { $0.note = "online" }
      let hasCrashed = pair.a.failPoints.hasCrashed
      try pair.a.restart()
      stale.title = "mine"
      try await pair.a.store.save(stale)
      #expect(try await pair.isEven(), "step \(step)")
      #expect(try await pair.serverTitle() == "theirs", "step \(step)")
      if !hasCrashed { break }
    }
  }
}
