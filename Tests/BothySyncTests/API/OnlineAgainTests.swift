import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// A value that is saved online, edited and saved again, whatever the first verdict.
@Suite("Saving one value online again and again", .faultsStrike, .timeLimit(.minutes(5)))
struct OnlineAgainTests {
  private static let online: [WritePolicy] = [.remoteThenLocal, .remote]
  private static let faults: [FaultyRemote.Fault] = [.lostRequest, .lostAnswer, .none]
  private static let policies: [MergePolicy] = [.remoteWins, .fieldByField, .localWins]

  /// Promises: A-2
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

  /// Promises: A-2
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

  /// Promises: A-41
  @Test("A record without a reading is as it was saved last")
  func twice() async throws {
    for policy in [MergePolicy.remoteWins, .fieldByField, .localWins] {
      let pair = try await Pair.sharing(policy: policy)
      for title in ["five", "start", "six", "start"] {
        let record = AnyRecord("Note", id: "T1", ["title": .text(title)])
        try await pair.a.store.save(record, options: .saving(.remote))
        #expect(try await pair.serverTitle() == title, "\(policy.name)")
      }
      #expect(try await pair.isEven())
      #expect(try pair.a.store.journal.entries(losing: true).isEmpty)
    }
  }

  @Test("A new record without a reading is as it was saved last")
  func twiceNew() async throws {
    for policy in [MergePolicy.remoteWins, .fieldByField, .localWins] {
      let pair = try await Pair.sharing(policy: policy)
      for title in ["five", "six"] {
        let record = AnyRecord("Note", id: "T9", ["title": .text(title)])
        try await pair.a.store.save(record, options: .saving(.remote))
        #expect(try await pair.serverTitle("T9") == title, "\(policy.name)")
      }
      #expect(try await pair.isEven())
    }
  }

  @Test("A field that is saved again doesn't make a conflict of other fields")
  func unchanged() async throws {
    let pair = try await Pair.sharing(policy: .remoteWins)
    let first = AnyRecord("Note", id: "T1", ["title": "five", "score": 8])
    try await pair.a.store.save(first, options: .saving(.remote))
    await pair.b.store.sync()
    try pair.b.edit { ($0.note, $0.score) = ("theirs", $0.score + 12) }
    await pair.b.store.sync()
    let second = AnyRecord("Note", id: "T1", ["title": "five", "score": 8, "a": 3])
    try await pair.a.store.save(second, options: .saving(.remote))
    #expect(try await pair.server("T1") == ["title": "five", "note": "theirs", "score": 20, "a": 3])
    #expect(try await pair.isEven())
  }

  @Test("The result of a save on the server alone is the server's record")
  func result() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try pair.b.edit { ($0.note, $0.score) = ("theirs", 3) }
    await pair.b.store.sync()
    var note = try #require(try pair.a.note())
    (note.title, note.score) = ("mine", 4)
    let saved = try await pair.a.store.save(note, policy: .remote).result()
    #expect(saved.origin == .remote || saved.origin == .merged)
    #expect(saved.record?.title == "mine" && saved.record?.note == "theirs" && saved.record?.score == 7)
    let new = try await pair.a.store.save(Note(id: "T9", "new"), policy: .remote).result()
    #expect(new.record?.title == "new" && new.origin == .remote)
    let gone = try await pair.a.store.delete(.note("T9"), options: .saving(.remote)).result()
    #expect(gone.record == nil && gone.origin == .remote)
    #expect(try await pair.isEven())
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
