import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Saves without an answer that the server merged with others' changes, and the next save of the same record by an app
/// that has seen nothing of these.
@Suite("The save after an unanswered one, beside others' changes", .faultsStrike, .timeLimit(.minutes(5)))
struct UnansweredMeetsOthersTests {
  private static let later: [WritePolicy] = [.localThenRemote, .remoteThenLocal, .remote]

  /// Saves a value on the server alone, without an answer.
  private func fail(_ note: Note, _ pair: Pair) async throws {
    pair.a.remote.plan(.lostAnswer, on: .operations, times: 1)
    await #expect(throws: BothyError.self) {
      try await pair.a.store.save(note, options: .saving(.remote))
    }
  }

  @Test("A new record clears no field that its writer never saw", arguments: later, [false, true])
  func new(save: WritePolicy, isRelaunched: Bool) async throws {
    let pair = try await Pair.sharing([], policy: .fieldByField)
    try pair.b.insert("T9", "theirs", note: "kept")
    await pair.b.store.sync()
    try await fail(Note(id: "T9", "first"), pair)
    if isRelaunched { try pair.a.restart() }
    try await pair.a.store.save(Note(id: "T9", "second"), options: .saving(save))
    #expect(try await pair.isEven())
    let found = try await pair.server("T9")
    #expect(found?["note"] == "kept", "\(found ?? [:])")
  }

  @Test("The merge policy decides about a field that others wrote first", arguments: later, [false, true])
  func field(save: WritePolicy, isRelaunched: Bool) async throws {
    for (policy, title) in [(MergePolicy.remoteWins, "theirs"), (.localWins, "second")] {
      let pair = try await Pair.sharing(policy: policy)
      try pair.b.retitle("theirs")
      await pair.b.store.sync()
      var note = try #require(try pair.a.note())
      note.own[0] = 3
      try await fail(note, pair)
      if isRelaunched { try pair.a.restart() }
      var fresh = try #require(try pair.a.note())
      fresh.title = "second"
      try await pair.a.store.save(fresh, options: .saving(save))
      #expect(try await pair.isEven())
      #expect(try await pair.serverTitle() == title, "\(policy.name) \(save)")
    }
  }
}
