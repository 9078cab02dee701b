import BothyStore
import BothySync
import BothyTesting
import Testing

/// Values of one record that were read apart on one device, edited and saved one after another, with no other device
/// in between: two views of an app.
@Suite("Values of one record on one device", .faultsStrike, .timeLimit(.minutes(5)))
struct CopiesTests {
  private static let saves: [WritePolicy] = [.local, .localThenRemote, .remoteThenLocal, .remote]

  /// Syncs, because a save of the server alone needs a record without pending changes, and its result arrives by a pull.
  private func settle(_ pair: Pair, _ saves: WritePolicy...) async throws {
    if saves.contains(.remote) { await pair.a.store.sync() }
  }

  private func read(_ pair: Pair) throws -> Note { try #require(try pair.a.note()) }

  @Test("A value read before an edit of this device reverts none of its fields", arguments: saves, saves)
  func apart(first: WritePolicy, second: WritePolicy) async throws {
    for policy in [MergePolicy.remoteWins, .fieldByField, .localWins] {
      let pair = try await Pair.sharing(policy: policy)
      var (list, form) = (try read(pair), try read(pair))
      (list.title, list.own[0]) = ("listed", 1)
      try await pair.a.store.save(list, options: .saving(first))
      try await settle(pair, first, second)
      form.note = "formed"
      try await pair.a.store.save(form, options: .saving(second))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "listed", "note": "formed", "a": 1, "score": 0])
    }
  }

  @Test("The later of two edits of a field on one device is kept", arguments: saves, saves)
  func later(first: WritePolicy, second: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var (list, form) = (try read(pair), try read(pair))
    (list.title, list.score) = ("one", 1)
    try await pair.a.store.save(list, options: .saving(first))
    try await settle(pair, first, second)
    (form.title, form.score) = ("two", 10)
    try await pair.a.store.save(form, options: .saving(second))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "two", "score": 11])
    #expect(try pair.a.store.journal.entries(losing: true).isEmpty)
  }

  @Test("A value that is set back after its save is set back", arguments: saves, saves)
  func undone(first: WritePolicy, second: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var note = try read(pair)
    (note.title, note.own[0]) = ("mistake", 1)
    try await pair.a.store.save(note, options: .saving(first))
    try await settle(pair, first)
    (note.own[0], note.note) = (nil, "kept")
    try await settle(pair, second)
    try await pair.a.store.save(note, options: .saving(second))
    #expect(try pair.a.note()?.own[0] == nil || second == .remote)
    (note.title, note.note) = ("start", nil)
    try await settle(pair, second)
    try await pair.a.store.save(note, options: .saving(second))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "start", "score": 0])
  }

  @Test("A value saved twice counts once, whatever else it has", arguments: saves, saves)
  func counted(first: WritePolicy, second: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var (note, other) = (try read(pair), try read(pair))
    note.score = 5
    try await pair.a.store.save(note, options: .saving(first))
    try await settle(pair, first, second)
    note.score = 7
    try await pair.a.store.save(note, options: .saving(second))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "start", "score": 7])
    other.score = 1
    try await pair.a.store.save(other, options: .saving(first))
    try await settle(pair, first, second)
    note.score = 8
    try await pair.a.store.save(note, options: .saving(second))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "start", "score": 9])
  }

  @Test("An edit between two saves of a value outlives the second", arguments: saves, saves)
  func between(first: WritePolicy, second: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var (form, list) = (try read(pair), try read(pair))
    form.title = "one"
    try await pair.a.store.save(form, options: .saving(first))
    try await settle(pair, first, second)
    (list.title, list.own[1]) = ("two", 2)
    try await pair.a.store.save(list, options: .saving(second))
    try await settle(pair, first, second)
    form.note = "more"
    try await pair.a.store.save(form, options: .saving(first))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "two", "note": "more", "b": 2, "score": 0])
  }

  @Test(
    "An online save without an answer is this device's own",
    arguments: [FaultyRemote.Fault.lostRequest, .lostAnswer])
  func unanswered(fault: FaultyRemote.Fault) async throws {
    let pair = try await Pair.sharing(policy: .remoteWins)
    var (note, form) = (try read(pair), try read(pair))
    pair.a.remote.plan(fault, on: .operations, times: 1)
    (note.title, note.score) = ("mine", 1)
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    (form.note, form.score) = ("formed", 10)
    try await pair.a.store.save(form, options: .saving(.local))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "mine", "note": "formed", "score": 11])
    #expect(try pair.a.store.journal.entries(losing: true).isEmpty)
  }

  @Test("Copies of one value keep each other's edits", arguments: saves, saves)
  func copies(first: WritePolicy, second: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: .remoteWins)
    var list = try read(pair)
    var (form, panel) = (list, list)
    (list.title, list.score) = ("listed", 1)
    try await pair.a.store.save(list, options: .saving(first))
    try await settle(pair, first, second)
    (form.note, form.score) = ("formed", 10)
    try await pair.a.store.save(form, options: .saving(second))
    try await settle(pair, first, second)
    (panel.own[2], panel.score) = (3, 100)
    try await pair.a.store.save(panel, options: .saving(first))
    try await settle(pair, first, second)
    (list.own[0], list.score) = (1, 2)
    try await pair.a.store.save(list, options: .saving(second))
    #expect(try await pair.isEven())
    #expect(
      try await pair.server("T1") == [
        "title": "listed", "note": "formed", "a": 1, "c": 3, "score": 112,
      ])
    #expect(try pair.a.store.journal.entries(losing: true).isEmpty)
  }

  @Test("A value set back but for its count counts as another copy")
  func countAlone() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var list = try read(pair)
    var other = list
    (list.title, list.score, other.score) = ("listed", 5, 5)
    try await pair.a.store.save(list, options: .saving(.local))
    list.title = "start"
    #expect(list == other)
    try await pair.a.store.save(other, options: .saving(.local))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "listed", "score": 10])
  }

  @Test("A value saved after this device deleted its record creates it again", arguments: saves, saves)
  func deleted(first: WritePolicy, second: WritePolicy) async throws {
    for policy in [MergePolicy.remoteWins, .fieldByField, .localWins] {
      let pair = try await Pair.sharing(policy: policy)
      var form = try read(pair)
      try await pair.a.store.delete(.note(), options: .saving(first))
      try await settle(pair, first, second)
      (form.note, form.score) = ("formed", 2)
      try await pair.a.store.save(form, options: .saving(second))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "start", "note": "formed", "score": 2])
      #expect(try pair.a.store.journal.entries(losing: true).isEmpty)
    }
  }

  @Test("Values of one transaction keep each other's edits")
  func transaction() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    let (list, form) = (try read(pair), try read(pair))
    let returned = try await pair.a.store.write { transaction -> Note in
      var (list, form) = (list, form)
      (list.title, list.score) = ("listed", 1)
      try transaction.save(list)
      (form.note, form.score) = ("formed", 10)
      try transaction.save(form)
      return try #require(try transaction.fetch(Note.self, id: "T1"))
    }
    #expect((returned.title, returned.note, returned.score) == ("listed", "formed", 11))
    var next = returned
    next.score += 1
    try await pair.a.store.save(next)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "listed", "note": "formed", "score": 12])
  }

  @Test("A value whose transaction failed is a first edit when it is saved again")
  func failed() async throws {
    struct Refused: Error {}
    let pair = try await Pair.sharing(policy: .fieldByField)
    var note = try read(pair)
    (note.title, note.score) = ("mine", 3)
    let tried = note
    await #expect(throws: Refused.self) {
      try await pair.a.store.write { transaction in
        try transaction.save(tried)
        throw Refused()
      }
    }
    try await pair.a.store.save(note)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "mine", "score": 3])
  }

  @Test("Untyped records are compared with what they were read as")
  func untyped() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var (list, form) = (
      try #require(try pair.a.record("Note", "T1")), try #require(try pair.a.record("Note", "T1"))
    )
    list["title"] = .text("listed")
    try await pair.a.store.save(list)
    (form["a"], form["c"]) = (.int(1), .int(3))
    try await pair.a.store.save(form)
    form["a"] = .null
    form["b"] = .int(2)
    try await pair.a.store.save(form)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "listed", "b": 2, "c": 3, "score": 0])
  }
}
