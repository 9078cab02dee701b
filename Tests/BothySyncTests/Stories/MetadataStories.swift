import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation
import Testing

/// The creation and modification times of records, and their owners.
@Suite("Dates and owners of records", .faultsStrike, .timeLimit(.minutes(5)))
struct MetadataStories {
  /// Promises: S-6, X-4
  @Test("A record has offline times, and all devices have equal times after a sync")
  func times() async throws {
    let pair = try Pair()
    let start = pair.world.time.now
    try pair.a.insert("T1", "new")
    #expect(try pair.a.metadata() == RecordMetadata(created: start, modified: start))
    pair.world.time.advance(by: 5000)
    try pair.a.retitle("edited")
    #expect(try pair.a.metadata()?.modified == Timestamp(milliseconds: start + 5000).date)
    #expect(try pair.a.metadata()?.created == Timestamp(milliseconds: start).date)
    pair.world.time.advance(by: 5000)
    #expect(try await pair.isEven())
    let made = try #require(try pair.b.metadata())
    // The server receives one insert, whose last edit was five seconds after its creation.
    #expect(made == RecordMetadata(created: start + 5000, modified: start + 5000, owner: made.owner))
    #expect(made.owner != nil)
    pair.world.time.advance(by: 5000)
    try pair.b.retitle("again")
    #expect(try await pair.isEven())
    let both = try [pair.a, pair.b].map { try $0.metadata() }
    #expect(both[0] == both[1])
    #expect(both[0] == RecordMetadata(created: start + 5000, modified: start + 15_000, owner: made.owner))
  }

  @Test("A reverted change restores the times and owner of the server", arguments: [false, true])
  func undone(_ isDeletion: Bool) async throws {
    let pair = try await Pair.sharing()
    let before = try #require(try pair.a.metadata())
    pair.world.time.advance(by: 5000)
    if isDeletion { try pair.a.remove() } else { try pair.a.retitle("mine") }
    #expect(try pair.a.metadata() != before)
    try pair.a.store.resolve(.note("T1"), .revert)
    #expect(try pair.a.metadata() == before)
    #expect(before.created != nil && before.modified != nil && before.owner != nil)
  }

  @Test("A move counts as an edit, sharing does not")
  func moves() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    let before = try #require(try pair.a.metadata())
    pair.world.time.advance(by: 5000)
    try pair.a.change { _ = try $0.move(.note("T1"), to: "box") }
    try await pair.a.store.sharing.share(.note("T2"), with: Audience.users("guest"))
    #expect(try await pair.isEven())
    #expect(try pair.b.metadata()?.modifiedTime == pair.world.time.now)
    #expect(try pair.b.metadata()?.createdTime == before.createdTime)
    #expect(try pair.b.metadata("T2")?.modifiedTime == before.modifiedTime)
  }

  @Test("A save that waits for the server ends with the server's times", arguments: [false, true])
  func awaited(_ isNew: Bool) async throws {
    let pair = try await Pair.sharing()
    let before = try #require(try pair.a.metadata())
    pair.world.time.advance(by: 5000)
    let note = Note(id: isNew ? "T2" : "T1", "mine")
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    let now = pair.world.time.now
    #expect(try pair.a.metadata(note.id)?.modifiedTime == now)
    #expect(try pair.a.metadata(note.id)?.createdTime == (isNew ? now : before.createdTime))
    #expect(try await pair.isEven())
    #expect(try pair.b.metadata(note.id)?.createdTime == pair.a.metadata(note.id)?.createdTime)
  }

  /// Promises: S-31
  @Test("Queries filter and sort by times and owners", arguments: [false, true])
  func queries(_ hasSchema: Bool) async throws {
    let pair = try Pair(rules: hasSchema ? AccessRules(schema: .notes) : AccessRules())
    for (number, id) in ["T3", "T1", "T2"].enumerated() {
      if number > 0 { pair.world.time.advance(by: 1000) }
      try pair.b.insert(id, "made \(number)")
    }
    let made = pair.world.time.now
    await pair.b.store.sync()
    pair.world.time.advance(by: 1000)
    try pair.b.retitle("T3", "edited")
    await pair.b.store.sync()
    let owner = try #require(try pair.b.metadata()?.owner)
    let since = Timestamp(milliseconds: made).date
    let asked: [(RecordQuery<Note>, [String])] = [
      (RecordQuery<Note>().order(Field<Date?>("created").descending), ["T2", "T1", "T3"]),
      (
        RecordQuery<Note>().order(Field<Date?>("modified").descending, Field<String>("id").ascending),
        ["T3", "T2", "T1"]
      ),
      (RecordQuery<Note>().where(Field<Date?>("modified") > since), ["T3"]),
      (RecordQuery<Note>().where(Field<Date?>("created") >= since), ["T2"]),
      (RecordQuery<Note>().where(Field<String?>("owner") == owner), ["T1", "T2", "T3"]),
      (
        RecordQuery<Note>().where(Field<String?>("owner") == "nobody").order(
          Field<String>("title").ascending), []
      ),
    ]
    for (query, ids) in asked {
      #expect(try await pair.b.store.store.fetch(query).map(\.id) == ids)
      #expect(
        try await pair.a.store.fetchResult(query, options: .reading(.remote)).records.map(\.id) == ids)
    }
    let texts = try await pair.b.store.store.fetch(
      AnyQuery(
        "Note", where: WhereParser.parse("modified > 2020-01-01"), order: SortKey.parse("-modified")))
    #expect(texts.map(\.id) == ["T3", "T2", "T1"])
    #expect(texts.map { $0.metadata.modifiedTime } == [made + 1000, made, made - 1000])
  }

  @Test("An observer by owner sees a record once the server has sent its owner")
  func watched() async throws {
    let pair = try await Pair.sharing()
    let owner = try #require(try pair.a.metadata()?.owner)
    var seen = pair.a.store.store.values(of: RecordQuery<Note>().where(Field<String?>("owner") == owner))
      .makeAsyncIterator()
    #expect(try await seen.next()?.map(\.id) == ["T1"])
    try pair.a.insert("T2", "mine")
    await pair.a.store.sync()
    #expect(try await seen.next()?.map(\.id) == ["T1", "T2"])
  }

  @Test("A type's own field has precedence over the metadata of that name")
  func hidden() async throws {
    let schema = StoreSchema(types: [
      TypeSchema("Pet", fields: [FieldSchema("owner", .text), FieldSchema("created", .int)])
    ])
    let pair = try Pair(schema: schema)
    for (number, owner) in ["Ann", "Bob"].enumerated() {
      try pair.a.put(
        AnyRecord("Pet", id: "P\(number)", ["owner": .text(owner), "created": .int(Int64(9 - number))]))
    }
    await pair.a.store.sync()
    let query = AnyQuery(
      "Pet", where: .compare(field: "owner", .notEqual, .text("Cid")), order: [SortKey("created")])
    for policy in [ReadPolicy.local, .remote] {
      let found = try await pair.b.store.fetchResult(query, options: .reading(policy))
      #expect(found.records.map(\.id) == (policy == .local ? [] : ["P1", "P0"]))
    }
  }
}

extension SimulatedDevice {
  fileprivate func metadata(_ id: String = "T1") throws -> RecordMetadata? {
    try store.store.metadata(of: .note(id))
  }
}
