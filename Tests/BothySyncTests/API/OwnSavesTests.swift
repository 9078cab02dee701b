import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Copies of a record that were read before this device's own online saves and are saved after them, each beside a
/// second mechanism.
@Suite("Copies read before own online saves", .faultsStrike, .timeLimit(.minutes(5)))
struct OwnSavesTests {
  private static let policies: [MergePolicy] = [.remoteWins, .fieldByField, .localWins, .latestWins]
  private static let saves: [WritePolicy] = [.local, .remoteThenLocal]

  /// Returns T1 as A has it now.
  private func copy(_ pair: Pair, _ id: String = "T1") throws -> Note {
    try #require(try pair.a.note(id))
  }

  /// Saves a fresh copy on A, first on the server.
  private func saveOnline(_ pair: Pair, _ id: String = "T1", _ change: (inout Note) -> Void) async throws {
    var note = try copy(pair, id)
    change(&note)
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
  }

  /// Changes a note on B, which has all of A's changes. Then the server has it, and A as well if `isPulled` is true.
  private func others(
    _ pair: Pair, _ id: String = "T1", isPulled: Bool = true, _ change: (inout Note) -> Void
  ) async throws {
    await pair.b.store.sync()
    try pair.b.edit(id, change)
    await pair.b.store.sync()
    if isPulled { await pair.a.store.sync() }
  }

  private func members(_ record: AnyRecord?) throws -> [String: JSONValue]? {
    try record?.fields.mapValues { value in
      var writer = JSONWriter()
      value.write(to: &writer)
      return try JSONValue(parsing: writer.bytes)
    }
  }

  /// Expects these fields on the server and on both devices, nothing pending, and these lost fields in A's journal, by
  /// entry. B loses nothing in any test.
  private func verify(
    _ pair: Pair, _ fields: [String: JSONValue]?, of id: RecordID = .note(), losing: [[String]] = [],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    #expect(try await pair.isEven(), sourceLocation: sourceLocation)
    let server = try await pair.server(id.id, type: id.type)
    #expect(server == fields, sourceLocation: sourceLocation)
    for device in [pair.a, pair.b] {
      let here = try members(device.record(id.type, id.id))
      #expect(here == fields, "on \(device.name)", sourceLocation: sourceLocation)
    }
    let lost = try pair.a.store.journal.entries(losing: true).map { $0.lostFields.map(\.name).sorted() }
      .sorted { $0.lexicographicallyPrecedes($1) }
    #expect(lost == losing, sourceLocation: sourceLocation)
    #expect(try pair.b.store.journal.entries(losing: true).isEmpty, sourceLocation: sourceLocation)
  }

  // An online save is sent against an old base, so A merges B's note into it and sends it again. B's note is a change
  // of others although the answer contains it as sent. A copy that was read before edits the note: both sides changed
  // it, so the policy decides, and what gives way is in the journal. The title is A's own and stays.
  @Test("B's field that an online save merged is still B's", arguments: policies)
  func merged(policy: MergePolicy) async throws {
    let pair = try await Pair.sharing(policy: policy)
    var stale = try copy(pair)
    try await others(pair, isPulled: false) { $0.note = "theirs" }
    try await saveOnline(pair) { $0.title = "mine" }
    try await verify(pair, ["title": "mine", "note": "theirs", "score": 0])
    pair.world.time.advance(by: 60_000)
    stale.note = "stale"
    try await pair.a.store.save(stale, policy: .local)
    let isMine = ["localWins", "latestWins"].contains(policy.name)
    try await verify(
      pair, ["title": "mine", "note": isMine ? "stale" : "theirs", "score": 0],
      losing: isMine ? [] : [["note"]])
  }

  // Two online saves of this device, each of a fresh copy, then a copy that was read before both. It did not touch the
  // title, so the later title stays. All three counts are one person's and add up. Nothing is lost to others.
  @Test("A copy read before two own online saves reverts neither", arguments: policies, saves)
  func twice(policy: MergePolicy, save: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: policy)
    var stale = try copy(pair)
    try await saveOnline(pair) { ($0.title, $0.score) = ("one", 1) }
    try await saveOnline(pair) { ($0.title, $0.score) = ("two", $0.score + 2) }
    (stale.note, stale.score) = ("stale", 10)
    try await pair.a.store.save(stale, options: .saving(save))
    try await verify(pair, ["title": "two", "note": "stale", "score": 13])
  }

  // The values are kept over a relaunch with their marks, one as an untyped record and one as a Swift value. Neither
  // touched the title, the count or the note, which online saves changed and cleared. So all of these stay, and the
  // note stays cleared. Of the two edits of `a` the later wins.
  @Test("Copies read before online saves and a relaunch revert nothing")
  func relaunched() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try await others(pair) { $0.note = "n0" }
    var typed = try copy(pair)
    var dynamic = try #require(try pair.a.record("Note", "T1"))
    try await saveOnline(pair) { ($0.note, $0.score) = (nil, 1) }
    try await saveOnline(pair) { $0.title = "mine" }
    try pair.a.restart()
    dynamic["a"] = .int(7)
    try await pair.a.store.save(dynamic, options: .saving(.local))
    try await verify(pair, ["title": "mine", "score": 1, "a": 7])
    (typed.own[0], typed.own[3]) = (8, 9)
    try await pair.a.store.save(typed, options: .saving(.remoteThenLocal))
    try await verify(pair, ["title": "mine", "score": 1, "a": 8, "d": 9])
  }

  // The copy counts up by as much as was counted online since, so that its count equals the row's. It was read with 0,
  // so this is an edit all the same. Its title is as it was read, so it isn't the copy that was saved online.
  @Test("A stale count counts although the record has the same number by now")
  func equal() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var stale = try copy(pair)
    try await saveOnline(pair) { ($0.title, $0.score) = ("mine", 1) }
    (stale.note, stale.score) = ("stale", 1)
    try await pair.a.store.save(stale, policy: .local)
    try await verify(pair, ["title": "mine", "note": "stale", "score": 2])
  }

  // B counted 100, which A has not received. A's online save counts 5 and is merged with that. The same copy counts 2
  // more, here or first on the server. After two online saves a copy from before counts 10. All of that adds up.
  @Test("Counts after an online save that was merged with others' add up", arguments: saves)
  func mergedCounts(save: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var (note, stale) = (try copy(pair), try copy(pair))
    try await others(pair, isPulled: false) { $0.score += 100 }
    (note.title, note.score) = ("mine", 5)
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    (note.note, note.score) = ("x", 7)
    try await pair.a.store.save(note, options: .saving(save))
    await pair.a.store.sync()
    #expect(try await pair.server("T1") == ["title": "mine", "note": "x", "score": 107])
    guard save == .remoteThenLocal else { return }
    stale.score = 10
    try await pair.a.store.save(stale, policy: .local)
    await pair.a.store.sync()
    #expect(try await pair.server("T1") == ["title": "mine", "note": "x", "score": 117])
  }

  // Two closures count up at once, first on the server. The second reads the record while the first is on its way. Each
  // is an edit of its own, made on the same state. Counters add up: 1 + 1 and 1 + 2.
  @Test("Two closures that count up online at once both count", arguments: [1, 2])
  func closures(more: Int) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    let (request, store, calls) = (HeldRequest(of: pair.a), pair.a.store, Calls())
    let one = Task {
      try await store.update(Note.self, id: "T1", policy: .remoteThenLocal) { $0.score += 1 }
    }
    await request.waitUntilSent()
    let two = Task {
      try await store.update(Note.self, id: "T1", policy: .remoteThenLocal) { note in
        calls.add()
        note.score += more
      }
    }
    try await until { calls.count == 1 }
    request.release()
    _ = try await (one.value, two.value)
    try await verify(pair, ["title": "start", "score": .int(Int64(1 + more))])
  }

  // One copy is saved three times: online, locally, online. It counts 5, then 2 more, then 1 more. It keeps the title
  // that it was saved with, so each save continues the one before. The first 5 count once (as in OnlineAgainTests), and
  // the sum is 8.
  @Test("A copy saved online, then locally, then online again counts each addition once")
  func thrice() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var note = try copy(pair)
    (note.title, note.score) = ("mine", 5)
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    (note.note, note.score) = ("x", 7)
    try await pair.a.store.save(note, options: .saving(.local))
    #expect(try copy(pair).score == 7)
    note.score = 8
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    try await verify(pair, ["title": "mine", "note": "x", "score": 8])
  }

  // One copy sets `a` online and clears it again later. It keeps the title that it was saved with, so it isn't a copy
  // from before. Of two edits of one field the later wins, here the one that clears it.
  @Test("A copy that clears what it set online clears it", arguments: saves)
  func cleared(save: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var note = try copy(pair)
    (note.title, note.own[0]) = ("mine", 1)
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    (note.own[0], note.own[1]) = (nil, 2)
    try await pair.a.store.save(note, options: .saving(save))
    try await verify(pair, ["title": "mine", "b": 2, "score": 0])
  }

  // One atomic write has two copies of T1 and one of T2, all read before own online saves. The later edit of T1's note
  // wins, the counts add up, the titles of the online saves stay. If T2's note is in conflict with B's, both policies
  // give B the field, so all of the write gives way, and the journal has what it lost of both records.
  @Test(
    "An atomic write of stale copies keeps own saves and gives way whole",
    arguments: [MergePolicy.remoteWins, .fieldByField], [true, false])
  func together(policy: MergePolicy, isInConflict: Bool) async throws {
    let pair = try await Pair.sharing(["T1", "T2"], policy: policy)
    var (first, second, other) = (try copy(pair), try copy(pair), try copy(pair, "T2"))
    try await saveOnline(pair) { ($0.title, $0.score) = ("mine", 1) }
    try await saveOnline(pair, "T2") { $0.title = "mine" }
    try await others(pair, "T2") { $0.note = "theirs" }
    first.note = "x"
    (second.note, second.score) = ("y", 10)
    if isInConflict { other.note = "stale" } else { other.own[0] = 1 }
    let copies = [first, second, other]
    try await pair.a.store.write(.atomic) { transaction in
      for copy in copies { try transaction.save(copy) }
    }
    let losing = isInConflict ? [["note"], ["note", "score"]] : []
    try await verify(
      pair,
      isInConflict ? ["title": "mine", "score": 1] : ["title": "mine", "note": "y", "score": 11],
      losing: losing)
    try await verify(
      pair,
      isInConflict
        ? ["title": "mine", "note": "theirs", "score": 0]
        : ["title": "mine", "note": "theirs", "a": 1, "score": 0], of: .note("T2"), losing: losing)
  }

  // The server refuses an online save. While it is sent, B sets `a` to the very value that
  // it has, and A receives that. The save was undone, so the value is B's alone. A copy read before edits `a`: that is
  // in conflict with B, the policy keeps B's value, and the journal has the edit beside the refused note.
  @Test(
    "An undone online save doesn't make a change of others its own")
  func undone() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes, policy: .fieldByField)
    var stale = try copy(pair)
    let b = pair.b.store
    OnlineMeanwhileTests.meanwhile(pair.a) { a in
      try await b.store.write {
        _ = try $0.update(Note.self, id: "T1") { ($0.title, $0.own[0]) = ("theirs", 1) }
      }
      await b.sync()
      await a.sync(.pull)
    }
    try? await saveOnline(pair) { ($0.note, $0.own[0]) = ("refused", 1) }
    try await verify(pair, ["title": "theirs", "a": 1, "score": 0], losing: [["note"]])
    stale.own[0] = 2
    try await pair.a.store.save(stale, policy: .local)
    try await verify(pair, ["title": "theirs", "a": 1, "score": 0], losing: [["a"], ["note"]])
  }
}
