import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// Old apps, new schemas, and updates with a full outbox.
@Suite("Schema skew", .faultsStrike, .timeLimit(.minutes(5)))
struct SchemaSkewScenario {
  private static func memo(_ version: Int, _ fields: FieldSchema..., and types: [TypeSchema] = [])
    -> StoreSchema
  {
    StoreSchema(version: version, types: [TypeSchema("Memo", fields: fields)] + types)
  }

  private static let old = memo(1, FieldSchema("title", .text), FieldSchema("count", .text))
  private static let card = TypeSchema("Card", fields: [FieldSchema("face", .text)])
  private static let new = memo(
    2, FieldSchema("heading", .text), FieldSchema("count", .int), FieldSchema("stars", .int, default: 3),
    FieldSchema("colour", .text, optional: true), and: [card])
  private static let steps = [
    Migration(to: 2, .renameField(type: "Memo", from: "title", to: "heading")),
    Migration(
      to: 2,
      .convertField(type: "Memo", field: "count", from: String.self) { value in
        if case .text(let text) = value { .int(Int64(text) ?? 0) } else { .int(0) }
      }),
  ]

  private func id(_ name: String) -> RecordID { RecordID(type: "Memo", id: name) }

  /// Promises: Scenario-21, H-56, S-7
  @Test(
    "A full outbox survives an app update that renames, converts and adds fields")
  func fullOutbox() async throws {
    let pair = try Pair(schema: Self.old)
    for name in ["edited", "deleted", "doubt"] {
      try pair.a.put(AnyRecord("Memo", id: name, ["title": "start", "count": "1"]))
    }
    await pair.a.store.sync()
    pair.a.remote.plan(.lostAnswer, on: .operation(on: "doubt"))
    try pair.a.change { try $0.update(id("doubt"), fields: ["count": "2"]) }
    await pair.a.store.sync()
    pair.a.remote.setScript { .none }
    try pair.a.change { transaction in
      try transaction.insert(AnyRecord("Memo", id: "made", ["title": "new", "count": "7"]))
      try transaction.update(id("edited"), fields: ["title": "mine", "count": "5"])
      try transaction.delete(id("deleted"))
    }
    let before = try pair.a.store.pendingCounts()
    try pair.a.restart(schema: Self.new, migrations: Self.steps)
    #expect(try pair.a.store.pendingCounts() == before && before.total == 4)
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil && report.rejected.isEmpty)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.server("made", type: "Memo") == ["title": "new", "count": 7, "stars": 3])
    let edited = try await pair.server("edited", type: "Memo")
    #expect(edited?["title"] == "mine" && edited?["count"] == 5)
    #expect(try await pair.server("deleted", type: "Memo") == nil)
    #expect(try pair.a.store.diagnose().findings.isEmpty)
  }

  /// Promises: Scenario-21
  @Test("A field that the old app does not know survives its edit")
  func unknownField() async throws {
    let narrow = Self.memo(1, FieldSchema("title", .text))
    let wide = Self.memo(2, FieldSchema("title", .text), FieldSchema("colour", .text, optional: true))
    let world = try SimulatedWorld()
    let newer = try world.addDevice("newer", schema: wide)
    let older = try world.addDevice("older", schema: narrow)
    try newer.put(AnyRecord("Memo", id: "M1", ["title": "one", "colour": "red"]))
    await newer.store.sync()
    await older.store.sync()
    try older.change { _ = try $0.update(id("M1"), fields: ["title": "two"]) }
    await older.store.sync()
    await newer.store.sync()
    #expect(try newer.record("Memo", "M1")?.fields == ["title": "two", "colour": "red"])
    // The old app itself is updated. The field was stored here from the beginning.
    older.remote.forgetRequests()
    try older.restart(schema: wide)
    #expect(try older.record("Memo", "M1")?["colour"] == "red")
    #expect(older.remote.requests.isEmpty && older.remote.reads == 0)
    #expect(try await world.serverDigest().digest == older.store.digest().digest)
  }

  /// Promises: Scenario-21
  @Test(
    "Records of an unknown type are stored, and appear after the app's update"
  )
  func unknownType() async throws {
    let narrow = Self.memo(1, FieldSchema("title", .text))
    let wide = Self.memo(2, FieldSchema("title", .text), and: [Self.card])
    let world = try SimulatedWorld()
    let newer = try world.addDevice("newer", schema: wide)
    let older = try world.addDevice("older", schema: narrow)
    try newer.put(AnyRecord("Card", id: "C1", ["face": "ace"]))
    await newer.store.sync()
    await older.store.sync()
    older.remote.forgetRequests()
    try older.restart(schema: wide)
    #expect(try older.record("Card", "C1")?["face"] == "ace")
    #expect(older.remote.requests.isEmpty && older.remote.reads == 0)
    #expect(try await world.serverDigest().digest == older.store.digest().digest)
  }

  /// Promises: Scenario-21
  @Test(
    "If the server requires a newer app, the outbox waits for the update"
  )
  func parked() async throws {
    let pair = try Pair(schema: Self.old, rules: AccessRules(minimumSchemaVersion: 2)) {
      $0.triggers = [.save]
    }
    try pair.a.put(AnyRecord("Memo", id: "M1", ["title": "one", "count": "1"]))
    let first = await pair.a.store.sync()
    #expect(first.stop?.name == "updateRequired")
    #expect(pair.a.remote.requests.count == 1)
    for _ in 0..<2 {
      #expect(await pair.a.store.sync().stop?.name == "updateRequired")
      #expect(pair.a.store.status.lastStop?.name == "updateRequired")
      let error = await #expect(throws: BothyError.self) { try await pair.a.store.syncCompletely() }
      #expect(error?.code == .updateRequired)
      try pair.a.restart()
    }
    let store = pair.a.store
    let run = Task { await store.run(clock: VirtualClock()) }
    try await until { store.status.phase == .idle || store.status.phase == .paused }
    try await store.save(AnyRecord("Memo", id: "M2", ["title": "two", "count": "2"]))
    try await until { store.status.phase == .paused }
    run.cancel()
    await run.value
    #expect(pair.a.remote.requests.count == 1)
    #expect(try store.pendingCounts().insert == 2)
    // A forced sync sends a request again, and the response loses nothing.
    #expect(await store.sync(forced: true).stop?.name == "updateRequired")
    #expect(pair.a.remote.requests.count == 2)
    try pair.a.restart(schema: Self.new, migrations: Self.steps)
    #expect(pair.a.store.status.obstacle == nil)
    #expect(await pair.a.store.sync().pushed == 2)
    #expect(try await pair.server("M2", type: "Memo") == ["title": "two", "count": 2, "stars": 3])
    #expect(try await pair.world.serverDigest().digest == pair.a.store.digest().digest)
  }

  /// Promises: S-72
  @Test(
    "A file that does not fit the schema is refused, or recreated after export"
  )
  func mismatch() async throws {
    let pair = try Pair(schema: Self.old)
    try pair.a.put(AnyRecord("Memo", id: "M1", ["title": "one", "count": "1"]))
    let other = Self.memo(2, FieldSchema("title", .text))
    let refused = #expect(throws: BothyError.self) { try pair.a.restart(schema: other) }
    #expect(refused?.code == .schemaMismatch)
    try pair.a.restart(schema: Self.old)
    #expect(try pair.a.store.pendingCounts().total == 1)
    var configuration = SyncOptions.quiet
    configuration.schemaMismatch = .resetCache
    try pair.a.restart(schema: other, configuration: configuration)
    #expect(try pair.a.store.pendingCounts().total == 0)
    let document = try #require(pair.a.store.setAside)
    let text = try String(contentsOfFile: document, encoding: .utf8)
    #expect(text.contains("M1") && text.contains("\"title\":\"one\""))
    #expect(await pair.a.store.sync().obstacle == nil)
    // Without pending changes, no document is written.
    try pair.a.restart(schema: Self.memo(3, FieldSchema("other", .text)))
    #expect(pair.a.store.setAside == nil)
  }

  /// Promises: S-7, S-8
  @Test(
    "A file of an earlier version is upgraded, and its pending changes are sent"
  )
  func earlierBookkeeping() async throws {
    let pair = try Pair(schema: .notes)
    try pair.a.insert("T1", "kept")
    try pair.a.tamper("ALTER TABLE bothy_outbox DROP COLUMN edited_unsure")
    try pair.a.tamper("ALTER TABLE bothy_outbox DROP COLUMN last")
    try pair.a.restart()
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(try await pair.isEven())
    try pair.a.tamper("ALTER TABLE bothy_outbox ADD COLUMN tomorrow TEXT")
    let error = #expect(throws: BothyError.self) { try pair.a.restart() }
    #expect(error?.code == .newerFile && error?.message.contains("tomorrow") == true)
  }

  /// Returns a pair whose first device has pulled a newer version under its pending change.
  private func behind() async throws -> Pair {
    let pair = try await Pair.sharing()
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    try pair.a.retitle("mine")
    await pair.a.store.sync(.pull)
    return pair
  }

  /// Promises: S-7
  @Test("A file with the former name of a column keeps the server's versions")
  func formerColumn() async throws {
    let pair = try await behind()
    for table in ["bothy_outbox", "bothy_later", "bothy_doubt"] {
      try pair.a.tamper("ALTER TABLE \(table) RENAME COLUMN remote_version TO shadow")
    }
    try pair.a.restart()
    #expect(try pair.a.store.resolve(.note(), .revert))
    #expect(try pair.a.title() == "theirs")
    #expect(try await pair.isEven())
  }

  @Test("A document with the former name of a column restores the server's versions, once")
  func formerColumnInDocument() async throws {
    let pair = try await behind()
    let document = pair.a.path + ".pending"
    try await pair.a.store.signOut(.export(to: document))
    let text = try String(contentsOfFile: document, encoding: .utf8)
    let former = text.replacing("\"remote_version\":", with: "\"shadow\":")
    #expect(former != text)
    try former.write(toFile: document, atomically: true, encoding: .utf8)
    let path = pair.a.path + "-again"
    #expect(try SyncedStore.restorePending(from: document, into: path, schema: .notes))
    #expect(try !SyncedStore.restorePending(from: document, into: path, schema: .notes))
    let again = try SyncedStore(at: path, schema: .notes, remote: pair.a.remote, configuration: .quiet)
    #expect(try again.resolve(.note(), .revert))
    #expect(try await again.store.fetch(Note.self, id: "T1")?.title == "theirs")
  }
}

extension SimulatedDevice {
  /// Changes the file in a way that no version of the app does.
  fileprivate func tamper(_ sql: String) throws {
    try store.store.write(origin: .remote) { try PreparedStatement(sql, in: $0.database).run() }
  }
}
