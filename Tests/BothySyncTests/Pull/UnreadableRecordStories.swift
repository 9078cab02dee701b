import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Records on the server that a device can't read. They stop no other record.
@Suite("Unreadable records", .timeLimit(.minutes(5)))
struct UnreadableRecordStories {
  static let schema = StoreSchema(
    types: [
      TypeSchema(
        "Page",
        fields: [
          FieldSchema("title", .text), FieldSchema("meta", .json, optional: true),
          FieldSchema("links", .references(to: "Page", onDelete: .nullify), optional: true),
        ])
    ])

  private func pair(_ policy: MergePolicy = .remoteWins) throws -> Pair {
    try Pair(schema: Self.schema, policy: policy)
  }

  static func page(_ id: String) -> RecordID { RecordID(type: "Page", id: id) }

  static func nested(_ depth: Int) -> String {
    String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
  }

  /// Stores a record without checks, as an older server or another tool may have done.
  private func plant(_ id: String, _ fields: String, in pair: Pair) async throws {
    let document = FieldsDocument(canonical: Array(fields.utf8))
    try await pair.world.storage.write(space: "test") { storage in
      let record = ServerRecord(
        id: Self.page(id), version: String(storage.head + 1), modified: 1, fields: document)
      try storage.put([StoredRecord(position: storage.head + 1, record: record)])
    }
  }

  private func ids(_ device: SimulatedDevice) throws -> [String] {
    try device.store.store.fetch(AnyQuery("Page")).map(\.id).sorted()
  }

  @Test("A record that is nested too deep stops no pull and no push", arguments: [33, 59, 62, 200])
  func deep(_ depth: Int) async throws {
    let pair = try pair()
    try await plant("P1", #"{"title":"one"}"#, in: pair)
    try await plant("deep", #"{"meta":\#(Self.nested(depth)),"title":"deep"}"#, in: pair)
    try await plant("P2", #"{"title":"two"}"#, in: pair)
    try pair.a.put(AnyRecord("Page", id: "mine", ["title": .text("mine")]))
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil && report.pushed == 1)
    #expect(try ids(pair.a) == ["P1", "P2", "mine"])
    #expect(try await pair.server("mine", type: "Page") != nil)
    #expect(await pair.a.store.sync().obstacle == nil)
  }

  @Test("A field that holds another kind than references stops no pull and no push")
  func wrongKind() async throws {
    let pair = try pair()
    try await plant("P1", #"{"links":[{"id":"t1"}],"title":"one"}"#, in: pair)
    try await plant("P2", #"{"links":["P1"],"title":"two"}"#, in: pair)
    try pair.a.put(AnyRecord("Page", id: "mine", ["title": .text("mine")]))
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil && report.pushed == 1)
    #expect(try ids(pair.a).suffix(2) == ["P2", "mine"])
  }

  @Test("An edit against a record that became unreadable is refused alone")
  func edited() async throws {
    let pair = try pair()
    try pair.a.put(AnyRecord("Page", id: "P1", ["title": .text("one")]))
    await pair.a.store.sync()
    try await plant("P1", #"{"meta":\#(Self.nested(60)),"title":"deep"}"#, in: pair)
    try pair.a.change { _ = try $0.update(Self.page("P1"), fields: ["title": .text("mine")]) }
    try pair.a.put(AnyRecord("Page", id: "P2", ["title": .text("two")]))
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil && report.pushed == 1)
    #expect(try pair.a.store.rejectedEntries().map(\.id) == [Self.page("P1")])
    #expect(try await pair.server("P2", type: "Page") != nil)
  }

  @Test("An online save against an unreadable record is a conflict", arguments: [false, true])
  func saved(isPending: Bool) async throws {
    let pair = try pair()
    try pair.a.put(AnyRecord("Page", id: "P1", ["title": .text("one")]))
    await pair.a.store.sync()
    try await plant("P1", #"{"meta":\#(Self.nested(60)),"title":"deep"}"#, in: pair)
    if isPending {
      try pair.a.change { _ = try $0.update(Self.page("P1"), fields: ["title": .text("mine")]) }
    }
    let record = AnyRecord("Page", id: "P1", ["title": .text("later")])
    let error = await #expect(throws: BothyError.self) {
      try await pair.a.store.save(record, options: .saving(.remoteThenLocal))
    }
    #expect(error?.code == .conflict)
    #expect(try pair.a.store.rejectedEntries().map(\.id) == (isPending ? [Self.page("P1")] : []))
    #expect(try pair.a.record("Page", "P1")?["title"] == .text(isPending ? "later" : "one"))
  }

  @Test(
    "An unreadable record is quarantined and reported until a readable version arrives")
  func reported() async throws {
    let pair = try pair()
    try pair.b.put(AnyRecord("Page", id: "P1", ["title": .text("one")]))
    await pair.b.store.sync()
    await pair.a.store.sync()
    try await plant("P1", #"{"meta":\#(Self.nested(60)),"title":"deep"}"#, in: pair)
    let report = await pair.a.store.sync()
    #expect(report.unreadable.map(\.record) == [Self.page("P1")])
    #expect(try await pair.a.store.maintenance.unreadableRecords() == report.unreadable)
    #expect(report.unreadable.map(\.version) == ["2"])
    #expect(try pair.a.store.diagnose().findings.map(\.severity) == [.warning])
    // The quarantine survives a relaunch and a snapshot, and the local version stays.
    try pair.a.restart()
    try await pair.world.storage.startEpoch(space: "test")
    #expect(await pair.a.store.sync().obstacle == nil)
    #expect(try await pair.a.store.maintenance.unreadableRecords().map(\.record) == [Self.page("P1")])
    #expect(try pair.a.record("Page", "P1")?["title"] == .text("one"))
    try await plant("P1", #"{"meta":[1],"title":"mended"}"#, in: pair)
    #expect(await pair.a.store.sync().unreadable.isEmpty)
    #expect(try await pair.a.store.maintenance.unreadableRecords().isEmpty)
    #expect(try pair.a.record("Page", "P1")?["title"] == .text("mended"))
    #expect(try await pair.isEven())
  }

  @Test("A malformed record in a page is quarantined, and the others are stored")
  func malformed() throws {
    let text =
      #"{"serverTime":1,"outcomes":[],"pages":[{"container":"","children":true,"cursor":"e.2.m","changes":["#
      + #"{"type":"Page","id":"P1","version":7,"fields":{}},"#
      + #"{"type":"Page","id":"P2","container":"Page","version":"2","fields":{"title":"two"}}]}]}"#
    let page = try #require(try SyncResponse(decoding: Array(text.utf8)).pages.first)
    #expect(page.changes.map(\.id) == [Self.page("P2")])
    #expect(page.unreadable.map(\.record) == [Self.page("P1")])
    var writer = JSONWriter()
    page.write(to: &writer)
    #expect(try JSONReader.read(writer.bytes) { try SyncResponse.Page(from: &$0) } == page)
  }

  @Test("Saving a value nested too deep fails with its field and a remedy")
  func saved() throws {
    let pair = try pair()
    let deepest = AnyRecord("Page", id: "P1", ["title": .text("t"), "meta": .json(Self.nested(32))])
    try pair.a.put(deepest)
    let error = #expect(throws: BothyError.self) {
      try pair.a.put(AnyRecord("Page", id: "P2", ["title": .text("t"), "meta": .json(Self.nested(33))]))
    }
    #expect(error?.code == .invalidValue)
    #expect(error?.message.hasPrefix("Page.meta is nested deeper than 32 levels.") ?? false)
    #expect(throws: BothyError.self) {
      try pair.a.change { _ = try $0.update(Self.page("P1"), fields: ["meta": .json(Self.nested(33))]) }
    }
  }

  @Test("A value that can be saved is accepted by the server and read everywhere")
  func deepest() async throws {
    let pair = try pair()
    try pair.a.put(AnyRecord("Page", id: "P1", ["title": .text("t"), "meta": .json(Self.nested(32))]))
    #expect(await pair.a.store.sync().pushed == 1)
    await pair.b.store.sync()
    #expect(try pair.b.record("Page", "P1")?["meta"] == .json(Self.nested(32)))
    #expect(try await pair.isEven())
  }

  @Test("The server refuses a value that is nested too deep, with its field", arguments: [33, 57])
  func judged(_ depth: Int) async throws {
    let pair = try pair()
    let meta = try JSONValue(parsing: Self.nested(depth))
    let operation = SyncOperation(
      id: "a", kind: .insert, record: Self.page("P1"), fields: ["title": "t", "meta": meta])
    let answer = try await pair.world.service.sync(
      space: "test", user: Caller("tester"), SyncRequest(device: "d", operations: [operation]))
    guard case .rejected(let rejection)? = answer.outcomes.first?.verdict else {
      Issue.record("It was not refused.")
      return
    }
    #expect(rejection.kind == .invalid && rejection.fields.map(\.field) == ["meta"])
    #expect(rejection.fields.map(\.kind) == [BothyError.Code("tooDeep")])
    let record = ServerRecord(
      id: Self.page("P1"), version: "", modified: 1, fields: FieldsDocument(["meta": meta]))
    let done = try await pair.world.service.restore([record], into: "test")
    #expect(done.inserted == 0 && done.refused.keys.map(\.id) == ["P1"])
  }

  @Test("A pending value of an older version that is nested too deep waits alone", arguments: [33, 60, 63])
  func oldPending(_ depth: Int) async throws {
    let pair = try pair()
    try pair.a.put(AnyRecord("Page", id: "P1", ["title": .text("one"), "meta": .json("1")]))
    try pair.a.put(AnyRecord("Page", id: "P2", ["title": .text("two")]))
    let sql = "UPDATE Page SET meta = '\(Self.nested(depth))' WHERE _id = 'P1'"
    try pair.a.change { try PreparedStatement(sql, in: $0.database).run() }
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil && report.pushed == 1)
    #expect(report.rejected.map(\.record) == [Self.page("P1")])
    #expect(report.rejected.first?.rejection.fields.map(\.field) == ["meta"])
    #expect(try pair.a.store.rejectedEntries().map(\.id) == [Self.page("P1")])
    try pair.a.change { _ = try $0.update(Self.page("P1"), fields: ["meta": .json("[1]")]) }
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(try await pair.isEven())
  }
}
