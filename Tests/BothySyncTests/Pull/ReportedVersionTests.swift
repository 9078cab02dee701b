import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// The server's last version of a record outlives the pending changes, however they end.
@Suite("Server versions under pending changes", .timeLimit(.minutes(10)))
struct ReportedVersionTests {
  private static func memo(_ fields: FieldSchema...) -> StoreSchema {
    StoreSchema(version: 1, types: [TypeSchema("Memo", fields: fields)])
  }

  private static let newer = memo(FieldSchema("title", .text), FieldSchema("prio", .text))
  private static let older = memo(
    FieldSchema("title", .text), FieldSchema("prio", .int), FieldSchema("due", .int))

  @Test("Values that an older app can't read survive its edits and its conflicts")
  func skew() async throws {
    let world = try SimulatedWorld()
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: .fieldByField)
    let newer = try world.addDevice("newer", schema: Self.newer, configuration: configuration)
    let older = try world.addDevice("older", schema: Self.older, configuration: configuration)
    let id = RecordID(type: "Memo", id: "M1")
    func server() async throws -> [String: JSONValue]? {
      try await world.serverRecords()[id]?.fields.members()
    }
    try newer.put(AnyRecord("Memo", id: "M1", ["title": "a", "prio": "high"]))
    await newer.store.sync()
    await older.store.sync()
    #expect(try older.record("Memo", "M1")?["prio"] == 0)
    #expect(try await world.serverDigest().digest == older.store.digest().digest)
    try newer.change { _ = try $0.update(id, fields: ["prio": "higher"]) }
    await newer.store.sync()
    try older.change { _ = try $0.update(id, fields: ["title": "c"]) }
    await older.store.sync()
    #expect(try await server() == ["title": "c", "prio": "higher"])
    // A value that the old app sets on purpose counts, even a zero.
    for number in [5, 0] {
      try older.change { _ = try $0.update(id, fields: ["prio": .int(Int64(number))]) }
      await older.store.sync()
      #expect(try await server() == ["title": "c", "prio": .int(Int64(number))])
    }
    #expect(try await world.serverDigest().digest == older.store.digest().digest)
  }

  @Test("A discarded change leaves the server's version, and no whole pull follows")
  func discarded() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes) {
      $0.rejectionPolicy = .discardAndRefetch
    }
    try pair.a.edit { $0.note = "refused" }
    #expect(await pair.a.store.sync().overwritten.count == 1)
    #expect(try pair.a.note()?.note == nil && pair.a.note()?.title == "start")
    #expect(try !pair.a.isPending())
    await pair.a.store.sync()
    #expect(pair.a.remote.requests.flatMap(\.pulls).allSatisfy { $0.cursor != nil })
    #expect(try await pair.isEven())
  }

  @Test("A group that gives way leaves no record that the server doesn't know")
  func unknown() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    try pair.b.remove("T1")
    await pair.b.store.sync()
    let head = try await pair.world.storage.read(space: "test") { $0.head }
    try await pair.world.storage.compact(space: "test", upTo: head)
    try await pair.a.store.write(.atomic) { transaction in
      for id in ["T1", "T2"] { _ = try transaction.update(Note.self, id: id) { $0.title = "mine" } }
    }
    await pair.a.store.sync(.push)
    #expect(try pair.a.title("T1") == nil && pair.a.title("T2") == "start")
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.isEven())
  }

  @Test("A record that became invisible disappears when its edit is reverted")
  func takenBack() async throws {
    let pair = try await Pair.sharing {
      $0.scopes = [SyncScope(container: "Note", includesChildren: true)]
    }
    try pair.a.retitle("mine")
    try pair.b.change { try $0.move(.note(), to: "elsewhere") }
    await pair.b.store.sync()
    await pair.a.store.sync(.pull)
    #expect(try pair.a.store.outboxEntries().first?.isLeaving == true)
    try pair.a.retitle("start")
    await pair.a.store.sync()
    #expect(try pair.a.note() == nil && pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.serverTitle() == "start")
  }
}
