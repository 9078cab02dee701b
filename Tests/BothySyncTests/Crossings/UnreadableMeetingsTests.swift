import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

@Suite("Unreadable records that move or go", .timeLimit(.minutes(5)))
struct UnreadableMeetingsTests {
  private typealias Stories = UnreadableRecordStories

  /// Stores a record without checks, as a newer server may have done.
  private func plant(_ fields: String, in place: String, from former: String?, _ world: SimulatedWorld)
    async throws
  {
    let document = FieldsDocument(canonical: Array(fields.utf8))
    try await world.storage.write(space: "test") { storage in
      let record = ServerRecord(
        id: Stories.page("P1"), container: place, version: String(storage.head + 1), modified: 1,
        fields: document)
      try storage.put([StoredRecord(position: storage.head + 1, record: record, leaves: former)])
    }
  }

  @Test(
    "A record that is unreadable where it moved to stays reported",
    arguments: [["bag", "box"], ["box", "bag"]])
  func moved(scopes: [String]) async throws {
    let world = try SimulatedWorld()
    let device = try world.device("a", Stories.schema) {
      $0.scopes = scopes.map { SyncScope(container: $0) }
    }
    try await plant(#"{"title":"one"}"#, in: "box", from: nil, world)
    await device.store.sync()
    #expect(try device.record("Page", "P1")?["title"] == .text("one"))
    try await plant(#"{"meta":\#(Stories.nested(60)),"title":"deep"}"#, in: "bag", from: "box", world)
    let report = await device.store.sync()
    #expect(report.unreadable.map(\.record) == [Stories.page("P1")])
    #expect(try await device.store.maintenance.unreadableRecords().map(\.record) == [Stories.page("P1")])
    #expect(try device.record("Page", "P1") == nil)
  }

  @Test("A repair removes an unreadable record that the server doesn't have")
  func repaired() async throws {
    let pair = try Pair(schema: Stories.schema)
    try pair.a.put(AnyRecord("Page", id: "P1", ["title": .text("one")]))
    #expect(try await pair.isEven())
    let record = #"{"type":"Page","id":"P2","container":"Page","version":"1","modified":1,"fields":{}}"#
    let sql = "INSERT INTO bothy_unreadable VALUES ('Page', 'P2', '1', 'Page', 'Too deep.', '\(record)')"
    try pair.a.change { try PreparedStatement(sql, in: $0.database).run() }
    let found = try #require(try await pair.a.store.maintenance.repairs().first)
    #expect(found.repaired == [Stories.page("P2")] && found.isEqual)
    #expect(try await pair.a.store.maintenance.unreadableRecords().isEmpty)
    #expect(try pair.a.ids(AnyQuery("Page")) == ["P1"])
  }
}
