import BothyStore
import BothySync
import BothyTesting
import Testing

/// A value that is saved online, edited and saved again, whatever the first verdict.
@Suite("Saving one value online again and again", .faultsStrike, .timeLimit(.minutes(5)))
struct OnlineAgainTests {
  private static let online: [WritePolicy] = [.remoteThenLocal, .remote]
  private static let faults: [FaultyRemote.Fault] = [.lostRequest, .lostAnswer, .none]
  private static let policies: [MergePolicy] = [.remoteWins, .fieldByField, .localWins]

  @Test("A further edit of a value counts the earlier one once", arguments: online, faults)
  func again(save: WritePolicy, fault: FaultyRemote.Fault) async throws {
    for policy in Self.policies {
      let pair = try await Pair.sharing(policy: policy)
      pair.a.remote.plan(fault, on: .operations, times: 1)
      var note = try #require(try pair.a.note())
      note.score += 5
      _ = try? await pair.a.store.save(note, options: .saving(save))
      note.title = "more"
      try await pair.a.store.save(note, options: .saving(save))
      #expect(try await pair.server("T1") == ["title": "more", "score": 5])
      note.score += 2
      try await pair.a.store.save(note, options: .saving(save))
      #expect(try await pair.server("T1") == ["title": "more", "score": 7])
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "more", "score": 7])
    }
  }

  @Test("A value counted up twice has both counts and those of others", arguments: online, faults)
  func counter(save: WritePolicy, fault: FaultyRemote.Fault) async throws {
    // The counts of others before a save in doubt are part of it.
    for isBetween in save == .remoteThenLocal && fault != .none ? [true] : [false, true] {
      let pair = try await Pair.sharing(policy: .fieldByField)
      if !isBetween { try pair.b.edit { ($0.score, $0.note) = (10, "theirs") } }
      await pair.b.store.sync()
      let requests = Calls()
      if fault != .none { pair.a.remote.plan { requests.add() == (isBetween ? 1 : 2) ? fault : .none } }
      var note = try #require(try pair.a.note())
      note.score += 5
      _ = try? await pair.a.store.save(note, options: .saving(save))
      if isBetween {
        await pair.b.store.sync()
        try pair.b.edit { ($0.score, $0.note) = ($0.score + 10, "theirs") }
        await pair.b.store.sync()
      }
      note.score += 2
      _ = try await pair.a.store.save(note, options: .saving(save))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "start", "note": "theirs", "score": 17])
    }
  }

  @Test("A record created without a response is created once, with the later edit", arguments: online)
  func made(save: WritePolicy) async throws {
    for fault in Self.faults {
      let pair = try await Pair.sharing([], policy: .fieldByField)
      pair.a.remote.plan(fault, on: .operations, times: 1)
      var note = Note(id: "T1", "new", note: "gone")
      note.score = 5
      _ = try? await pair.a.store.save(note, options: .saving(save))
      (note.title, note.note) = ("more", nil)
      try await pair.a.store.save(note, options: .saving(save))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "more", "score": 5])
    }
  }

  @Test("A value read here after an unanswered save reverts nothing of it")
  func fresh() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    pair.a.remote.plan(.lostAnswer, on: .operations, times: 1)
    var note = try #require(try pair.a.note())
    note.score += 5
    _ = try? await pair.a.store.save(note, options: .saving(.remote))
    var fresh = try #require(try pair.a.note())
    fresh.title = "fresh"
    try await pair.a.store.save(fresh, options: .saving(.remote))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "fresh", "score": 5])
  }

  @Test("A value that counts as a whole replaces what others wrote since")
  func whole() async throws {
    let pair = try await Pair.sharing(policy: .localWins)
    let whole = AnyRecord("Note", id: "T1", ["title": "mine"])
    try await pair.a.store.save(whole, options: .saving(.remote))
    await pair.b.store.sync()
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    try await pair.a.store.save(whole, options: .saving(.remote))
    #expect(try await pair.serverTitle() == "mine")
    #expect(try await pair.isEven())
  }

  @Test("A deletion after an unanswered save deletes the record")
  func deleted() async throws {
    for fault in Self.faults {
      let pair = try await Pair.sharing(policy: .remoteWins)
      pair.a.remote.plan(fault, on: .operations, times: 1)
      var note = try #require(try pair.a.note())
      note.score += 5
      _ = try? await pair.a.store.save(note, options: .saving(.remote))
      try await pair.a.store.delete(.note(), options: .saving(.remote))
      #expect(try await pair.server("T1") == nil)
      #expect(try await pair.isEven())
    }
  }
}
