import BothyStore
import BothySync
import BothyTesting
import Testing

/// A record that is deleted and recreated with its id.
@Suite("Records that are recreated", .faultsStrike, .timeLimit(.minutes(5)))
struct Scenario10Reinsert {
  /// Promises: Scenario-10
  @Test("A record deleted and recreated before a push is sent as one replacement")
  func beforePush() async throws {
    let pair = try await Pair.sharing()
    try pair.a.edit { $0.note = "old" }
    await pair.a.store.sync()
    try pair.a.remove()
    try pair.a.insert("T1", "new")
    try pair.a.restart()
    pair.a.remote.forgetRequests()
    await pair.a.store.sync()
    #expect(pair.a.operations.map(\.kind) == [.update])
    #expect(try await pair.server("T1") == ["title": "new", "score": 0])
    #expect(try await pair.isEven())
    #expect(try pair.b.title() == "new")
  }

  /// Promises: Scenario-10
  @Test("A record recreated after its deletion was pushed is a new record", arguments: [false, true])
  func afterPush(answerIsLost: Bool) async throws {
    let pair = try await Pair.sharing()
    try pair.a.remove()
    if answerIsLost { pair.a.loseAnswer() }
    await pair.a.store.sync()
    try pair.a.insert("T1", "new")
    await pair.a.store.sync()
    #expect(try await pair.server("T1") == ["title": "new", "score": 0])
    #expect(try await pair.isEven())
    #expect(try pair.b.title() == "new")
  }

  /// A deletes and recreates the record, and B edits the old one. `aArrivesFirst` chooses the first to sync.
  private func againstEdit(_ policy: MergePolicy, aArrivesFirst: Bool, isPushedBetween: Bool) async throws
    -> Pair
  {
    let pair = try await Pair.sharing(policy: policy)
    try pair.a.remove()
    if isPushedBetween { await pair.a.store.sync() }
    try pair.a.insert("T1", "new")
    pair.world.time.advance(by: 60_000)
    try pair.b.retitle("edited")
    pair.world.time.advance(by: 60_000)
    for device in aArrivesFirst ? [pair.a, pair.b] : [pair.b, pair.a] { await device.store.sync() }
    return pair
  }

  /// Promises: Scenario-10
  @Test("A record recreated against a remote edit is a conflict for the policy")
  func againstRemoteEdit() async throws {
    for isPushedBetween in [false, true] {
      for aArrivesFirst in [true, false] {
        let story: Comment = "pushed between: \(isPushedBetween), a first: \(aArrivesFirst)"
        for policy in [MergePolicy.remoteWins, .localWins, .latestWins, .fieldByField] {
          let pair = try await againstEdit(
            policy, aArrivesFirst: aArrivesFirst, isPushedBetween: isPushedBetween)
          #expect(try await pair.isEven(), story)
          let title = try await pair.serverTitle()
          switch policy.name {
          case MergePolicy.localWins.name: #expect(title == (aArrivesFirst ? "edited" : "new"), story)
          case MergePolicy.latestWins.name: #expect(title == "edited", story)
          case MergePolicy.remoteWins.name where isPushedBetween:
            // The edit arrives first, meets the deletion and is discarded.
            #expect(title == "new", story)
          default: #expect(title == (aArrivesFirst ? "new" : "edited"), story)
          }
        }
      }
    }
  }
}
