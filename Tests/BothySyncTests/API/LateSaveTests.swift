import BothyStore
import BothySync
import BothyTesting
import Testing

/// Values that are saved after two other things happened to their record since they were read.
@Suite("Values saved after two changes of their record", .faultsStrike, .timeLimit(.minutes(5)))
struct LateSaveTests {
  private func read(_ pair: Pair) throws -> Note { try #require(try pair.a.note()) }

  /// Changes T1 on B, which has all of A's changes. Then the server has it, and A as well.
  private func others(_ pair: Pair, _ change: (inout Note) -> Void) async throws {
    await pair.b.store.sync()
    try pair.b.edit("T1", change)
    await pair.b.store.sync()
    await pair.a.store.sync()
  }

  private func save(_ note: Note, _ pair: Pair, _ policy: WritePolicy = .local) async throws {
    try await pair.a.store.save(note, options: .saving(policy))
  }

  private func verify(
    _ pair: Pair, _ fields: [String: JSONValue]?, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    #expect(try await pair.isEven(), sourceLocation: sourceLocation)
    #expect(try await pair.server("T1") == fields, sourceLocation: sourceLocation)
  }

  // B changes the record and deletes it, both pulled. The value is from before.
  @Test(
    "An edit of a record that others deleted reverts nothing that they changed before",
    arguments: ["edited", "moved", "untouched"])
  func deletedByOthers(kind: String) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var form = try read(pair)
    try await others(pair) { ($0.note, $0.score) = ("theirs", 5) }
    try pair.b.remove()
    await pair.b.store.sync()
    await pair.a.store.sync()
    #expect(try pair.a.note() == nil)
    if kind == "untouched" {
      try await save(form, pair)
      #expect(try pair.a.note() == nil)
      #expect(try pair.a.store.outboxEntries().isEmpty)
      return try await verify(pair, nil)
    }
    form.title = "mine"
    let place = kind == "moved" ? "work" : nil
    try await pair.a.store.save(form, in: place, options: .saving(.local))
    try await verify(pair, ["title": "mine", "note": "theirs", "score": 5])
    #expect(try await pair.world.serverRecords()[.note()]?.container == place ?? "Note")
  }

  // The record is deleted here and made again, by a view or by B. The value is from before.
  @Test(
    "A value read before a deletion reverts nothing of the recreated record",
    arguments: ["by a view", "by a view, synced", "by others"])
  func recreated(again: String) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var (list, form) = (try read(pair), try read(pair))
    try pair.a.remove()
    if again == "by others" {
      await pair.a.store.sync()
      await pair.b.store.sync()
      try pair.b.insert("T1", "again")
      await pair.b.store.sync()
      await pair.a.store.sync()
    } else {
      list.title = "again"
      try await save(list, pair)
      if again == "by a view, synced" { await pair.a.store.sync() }
    }
    form.note = "formed"
    try await save(form, pair)
    try await verify(pair, ["title": "again", "note": "formed", "score": 0])
  }

  // B sets back what A had changed. The value is from before both.
  @Test("A value reverts nothing after others have set an edit of this device back")
  func setBack() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var (list, form) = (try read(pair), try read(pair))
    (list.title, list.score) = ("listed", 5)
    try await save(list, pair)
    await pair.a.store.sync()
    try await others(pair) { ($0.title, $0.score) = ("start", 0) }
    var fresh = try read(pair)
    fresh.title = "fresh"
    try await save(fresh, pair)
    form.note = "formed"
    try await save(form, pair)
    try await verify(pair, ["title": "fresh", "note": "formed", "score": 0])
  }

  // The value was read with pending edits, which are then reverted.
  @Test("A value read before a change was reverted doesn't make it again")
  func reverted() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var list = try read(pair)
    (list.title, list.score) = ("mistake", 5)
    try await save(list, pair)
    var form = try read(pair)
    try pair.a.store.resolve(.note(), .revert)
    #expect(try pair.a.title() == "start")
    (form.note, form.score) = ("formed", form.score + 1)
    try await save(form, pair)
    try await verify(pair, ["title": "start", "note": "formed", "score": 1])
  }

  // B's line is pulled into a text that merges by lines. The value is saved once without it, and then with an edit.
  @Test("The second save of a stale value keeps the line of others", arguments: [true, false])
  func line(isTwice: Bool) async throws {
    let schema = StoreSchema(types: [
      TypeSchema(
        "Page", fields: [FieldSchema("title", .text), FieldSchema("text", .text, merge: .keepBoth)])
    ])
    let world = try SimulatedWorld()
    let (a, b) = (try world.device("a", schema), try world.device("b", schema))
    try a.put("Page", "1", ["title": .text("one"), "text": .text("first")])
    for device in [a, b] { await device.store.sync() }
    var form = try #require(try a.record("Page", "1"))
    try b.set("Page", "1", ["text": .text("first\ntheirs")])
    for device in [b, a] { await device.store.sync() }
    form["title"] = .text("two")
    if isTwice { try await a.store.save(form, options: .saving(.local)) }
    form["text"] = .text("mine\nfirst")
    try await a.store.save(form, options: .saving(.local))
    for device in [a, b, a] { await device.store.sync() }
    #expect(try await world.server("Page", "1") == ["title": "two", "text": "mine\nfirst\ntheirs"])
  }

  // B sets a field to another value and back. The value sets it to the one in between.
  @Test("An edit to a value that others had between is an edit", arguments: ["localWins", "fieldByField"])
  func between(policy: String) async throws {
    let pair = try await Pair.sharing(policy: policy == "localWins" ? .localWins : .fieldByField)
    var form = try read(pair)
    for title in ["closed", "start"] { try await others(pair) { $0.title = title } }
    form.title = "closed"
    try await save(form, pair)
    #expect(try await pair.isEven())
    let isKept = try await pair.serverTitle() == "closed"
    let isReported = try !pair.a.store.journal.entries(losing: true).isEmpty
    #expect(isKept || policy == "fieldByField" && isReported)
  }

  // B counted since. The untyped record has the version of the read, and no count.
  @Test("A record without a count adds nothing to it")
  func partial() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try await others(pair) { $0.score = 3 }
    let version = try #require(try pair.a.record("Note", "T1")).version
    try await others(pair) { $0.score += 5 }
    let record = AnyRecord("Note", id: "T1", ["note": .text("mine")], version: version)
    try await pair.a.store.save(record, options: .saving(.local))
    try await verify(pair, ["title": "start", "note": "mine", "score": 8])
  }
}
