import BothyStore
import BothySync
import BothyTesting
import Foundation
import Testing

/// Values that were read before the changes of others arrived, and are saved afterwards.
@Suite("Saving a value read before a remote change", .timeLimit(.minutes(5)))
struct StaleValueTests {
  private static let policies: [MergePolicy] = [
    .remoteWins, .fieldByField, .localWins, .latestWins,
  ]
  private static let saves: [WritePolicy] = [.localThenRemote, .local, .remoteThenLocal, .remote]

  /// Returns a pair on which A has read T1, and B's change of it has arrived since.
  private func pair(
    _ policy: MergePolicy, _ news: (SimulatedDevice) throws -> Void
  ) async throws -> (Pair, Note, AnyRecord) {
    let pair = try await Pair.sharing(policy: policy)
    let note = try #require(try pair.a.note())
    let record = try #require(try pair.a.store.store.record(.note()))
    try news(pair.b)
    await pair.b.store.sync()
    await pair.a.store.sync()
    pair.world.time.advance(by: 60_000)
    return (pair, note, record)
  }

  /// Promises: A-1
  @Test("An edit of a value ten minutes old reverts no other field", arguments: saves)
  func typed(save: WritePolicy) async throws {
    for policy in Self.policies {
      var (pair, note, _) = try await pair(policy) { try $0.edit { ($0.note, $0.score) = ("theirs", 3) } }
      note.title = "mine"
      try await pair.a.store.save(note, options: .saving(save))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "mine", "note": "theirs", "score": 3])
    }
  }

  @Test("An edit of an untyped record reverts no other field, cleared ones included", arguments: saves)
  func dynamic(save: WritePolicy) async throws {
    for policy in Self.policies {
      var (pair, _, record) = try await pair(policy) { try $0.edit { ($0.note, $0.own[0]) = ("theirs", 7) } }
      record["title"] = .text("mine")
      try await pair.a.store.save(record, options: .saving(save))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "mine", "note": "theirs", "a": 7, "score": 0])
      var fresh = try #require(try pair.a.store.store.record(.note()))
      fresh["note"] = .null
      try await pair.a.store.save(fresh, options: .saving(save))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "mine", "a": 7, "score": 0])
    }
  }

  @Test("A value that was not edited changes nothing")
  func untouched() async throws {
    for policy in Self.policies {
      let (pair, note, record) = try await pair(policy) {
        try $0.edit { ($0.title, $0.note) = ("theirs", "x") }
      }
      try await pair.a.store.save(note)
      try await pair.a.store.save(record)
      try await pair.a.store.write { try $0.update(note) }
      #expect(try pair.a.store.outboxEntries().isEmpty)
      #expect(try pair.a.title() == "theirs")
      #expect(try await pair.isEven())
    }
  }

  @Test("The save after a caught refusal has all edits of the value", arguments: [true, false])
  func refused(isTogether: Bool) async throws {
    let badge = TypeSchema(
      "Badge", fields: [FieldSchema("name", .text), FieldSchema("code", .text, unique: true)])
    let device = try SimulatedWorld().addDevice(schema: StoreSchema(types: [badge]))
    try device.put(AnyRecord("Badge", id: "B1", ["name": "one", "code": "x"]))
    try device.put(AnyRecord("Badge", id: "B2", ["name": "old", "code": "y"]))
    await device.store.sync()
    var edited = try #require(try device.record("Badge", "B2"))
    (edited["name"], edited["code"]) = ("new", "x")
    let refused = edited
    edited["code"] = "z"
    let accepted = edited
    try device.change { transaction in
      #expect(throws: BothyError.self) { try transaction.save(refused) }
      if isTogether { try transaction.save(accepted) }
    }
    if !isTogether { try device.change { try $0.save(accepted) } }
    #expect(try device.record("Badge", "B2")?.fields == ["name": "new", "code": "z"])
  }

  @Test("Batches and transactions keep remote changes too")
  func transactions() async throws {
    for delivery in [WriteGrouping.independent, .atomic] {
      let (typed, read, _) = try await pair(.localWins) { try $0.edit { $0.note = "theirs" } }
      var edited = read
      edited.title = "mine"
      let saved = edited
      try await typed.a.store.write(delivery) { try $0.save(saved) }
      #expect(try await typed.isEven())
      #expect(try await typed.server("T1") == ["title": "mine", "note": "theirs", "score": 0])
      let (dynamic, _, found) = try await pair(.localWins) { try $0.edit { $0.note = "theirs" } }
      var record = found
      record["a"] = .int(1)
      let untyped = record
      try await dynamic.a.store.write(delivery) { try $0.save(untyped) }
      #expect(try await dynamic.isEven())
      #expect(try await dynamic.server("T1") == ["title": "start", "note": "theirs", "a": 1, "score": 0])
    }
  }

  @Test("A value created here reverts nothing that others edited meanwhile")
  func made() async throws {
    let pair = try Pair(policy: .localWins)
    var note = Note(id: "T1", "start", note: "n1")
    try await pair.a.store.save(note)
    await pair.a.store.sync()
    await pair.b.store.sync()
    try pair.b.edit { $0.note = "theirs" }
    await pair.b.store.sync()
    await pair.a.store.sync()
    note.title = "mine"
    try await pair.a.store.save(note)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "mine", "note": "theirs", "score": 0])
    // A value created now is whole.
    try await pair.a.store.save(Note(id: "T1", "whole", note: "n1"))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "whole", "note": "n1", "score": 0])
  }

  /// Promises: A-1
  @Test("A value saved again and again reverts no remote change in between")
  func autosave() async throws {
    var (pair, note, _) = try await pair(.localWins) { _ in }
    note.title = "one"
    try await pair.a.store.save(note)
    await pair.a.store.sync()
    await pair.b.store.sync()
    try pair.b.edit { $0.title = "theirs" }
    await pair.b.store.sync()
    await pair.a.store.sync()
    note.note = "two"
    try await pair.a.store.save(note)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "theirs", "note": "two", "score": 0])
    // Each change counts as an edit, even back to an earlier value.
    for flag in [1, nil, 1, nil] as [Int?] {
      note.own[0] = flag
      try await pair.a.store.save(note)
      #expect(try pair.a.note()?.own[0] == flag)
      await pair.a.store.sync()
    }
    #expect(try await pair.isEven())
  }

  @Test("A field that both changed is a conflict for the merge policy")
  func both() async throws {
    for policy in Self.policies {
      var (pair, note, _) = try await pair(policy) { try $0.edit { ($0.title, $0.note) = ("theirs", "x") } }
      note.title = "mine"
      let receipt = try await pair.a.store.save(note)
      #expect(try await pair.isEven())
      let server = try await pair.server("T1")
      #expect(server?["note"] == "x")
      if ["localWins", "latestWins"].contains(policy.name) {
        #expect(server?["title"] == "mine")
      } else {
        #expect(server?["title"] == "theirs")
        let entries = try pair.a.store.journal.entries(of: .note())
        #expect(try entries.contains { try $0.lost?.members()["title"] == "mine" })
        if case .accepted = try await receipt.outcome() { Issue.record("accepted what gave way") }
      }
      // The user continues from there, so a later edit of the same value is a later edit.
      note.title = "again"
      note.own[1] = 1
      try await pair.a.store.save(note)
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1")?["note"] == "x")
    }
  }

  @Test("Counters that both counted up have both counts")
  func counter() async throws {
    var (pair, note, _) = try await pair(.fieldByField) { try $0.edit { $0.score += 5 } }
    note.score += 1
    try await pair.a.store.save(note)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1")?["score"] == 6)
  }

  @Test("The merge policy decides about an edit of a deleted record")
  func deleted() async throws {
    var (lost, note, _) = try await pair(.remoteWins) { try $0.remove() }
    try await lost.a.store.save(note)
    #expect(try lost.a.note() == nil)
    #expect(try lost.a.store.outboxEntries().isEmpty)
    note.title = "mine"
    try await lost.a.store.save(note)
    #expect(try await lost.isEven())
    #expect(try await lost.server("T1") == nil)
    #expect(try lost.a.store.journal.entries(of: .note()).contains { $0.lost != nil })
    var (kept, other, _) = try await pair(.fieldByField) { try $0.remove() }
    other.title = "mine"
    try await kept.a.store.save(other)
    #expect(try await kept.isEven())
    #expect(try await kept.server("T1")?["title"] == "mine")
  }

  @Test("A value that the app kept over a relaunch reverts nothing")
  func relaunch() async throws {
    let pair = try await Pair.sharing(policy: .localWins)
    let note = try #require(try pair.a.note())
    let mark = try JSONEncoder().encode([note.readMark])
    let record = try #require(try pair.a.store.store.record(.note()))
    try pair.b.edit { $0.note = "theirs" }
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.a.restart()
    var back = Note(id: "T1", "mine", note: note.note)
    back.readMark = try #require(try JSONDecoder().decode([ReadMark].self, from: mark).first)
    try await pair.a.store.save(back)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "mine", "note": "theirs", "score": 0])
    try pair.a.restart()
    // Builds the value by hand, from the fields and the version of the read.
    var fields = record.fields
    fields["note"] = .null
    fields["b"] = .int(2)
    fields["title"] = .text("start")
    try await pair.a.store.save(
      AnyRecord("Note", id: "T1", fields, version: record.version))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1")?["note"] == "theirs")
    #expect(try await pair.server("T1")?["b"] == 2)
  }
}
