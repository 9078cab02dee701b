import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

@Suite("Unreadable records that move or go", .timeLimit(.minutes(5)))
struct UnreadableMeetingsTests {
  private typealias Stories = UnreadableRecordStories

  private static let deep = #"{"meta":"# + Stories.nested(60) + #","title":"deep"}"#

  /// Stores a record without checks, as a newer server may have done.
  private static func plant(
    _ fields: String, in place: String = "Page", from former: String? = nil,
    _ storage: any ServerMaintenance
  ) async throws {
    let document = FieldsDocument(canonical: Array(fields.utf8))
    try await storage.write(space: "test") { storage in
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
    try await Self.plant(#"{"title":"one"}"#, in: "box", world.storage)
    await device.store.sync()
    #expect(try device.record("Page", "P1")?["title"] == .text("one"))
    try await Self.plant(Self.deep, in: "bag", from: "box", world.storage)
    let report = await device.store.sync()
    #expect(report.unreadable.map(\.record) == [Stories.page("P1")])
    #expect(try await device.store.maintenance.unreadableRecords().map(\.record) == [Stories.page("P1")])
    #expect(try device.record("Page", "P1") == nil)
  }

  @Test(
    "A record that is unreadable where it moved amid a snapshot stays reported",
    arguments: [["bag", "box"], ["box", "bag"]])
  func movedAmidSnapshot(scopes: [String]) async throws {
    let (_, device) = try await move(to: Self.deep, amidSnapshotOf: scopes, by: Stories.schema)
    #expect(try await device.store.maintenance.unreadableRecords().map(\.record) == [Stories.page("P1")])
    #expect(try device.ids(AnyQuery("Page")) == ["P2"])
  }

  @Test(
    "A record of an unknown type that moves amid a snapshot is kept",
    arguments: [["bag", "box"], ["box", "bag"]])
  func unknownMovedAmidSnapshot(scopes: [String]) async throws {
    let (_, device) = try await move(to: #"{"title":"moved"}"#, amidSnapshotOf: scopes, by: memo(1))
    let kept = try await device.store.store.read { try UnrecognizedRecords.records(of: "Page", in: $0) }
    #expect(kept.map(\.id.id).sorted() == ["P1", "P2"])
    #expect(kept.first { $0.id.id == "P1" }?.container == "bag")
  }

  /// Returns a device that has pulled two containers for the first time, in several pages. A record moved from `box` to
  /// `bag` before the last ones.
  private func move(
    to fields: String, amidSnapshotOf scopes: [String], by schema: StoreSchema
  ) async throws -> (SimulatedWorld, SimulatedDevice) {
    let world = try SimulatedWorld()
    let device = try world.device("a", schema) {
      $0.scopes = scopes.map { SyncScope(container: $0) }
      $0.pageSize = 1
    }
    let other = try world.device("b", Stories.schema)
    let (storage, calls) = (world.storage, Calls())
    try await Self.plant(#"{"title":"one"}"#, in: "box", storage)
    try other.put("Page", "P2", ["title": .text("two")], in: "box")
    await other.store.sync()
    device.remote.setBeforeSending { _ in
      guard calls.add() == 2 else { return }
      do { try await Self.plant(fields, in: "bag", from: "box", storage) } catch { Issue.record(error) }
    }
    #expect(await device.store.sync().obstacle == nil)
    #expect(calls.count > 2)
    return (world, device)
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
  /// Opens a device that has the record as `first`, and reads it from the server as `answered`. A sync brings `later`
  /// while that answer is on its way.
  private func device(
    in world: SimulatedWorld, reading answered: String, after first: String, before later: String
  ) async throws -> SyncedStore {
    let storage = world.storage
    let act = Locked<(@Sendable () async -> Void)?>(nil)
    let remote = InterposedRemote(remote: InProcessRemote(world.service)) { await act.value?() }
    let store = try SyncedStore(
      at: nil, schema: Stories.schema, remote: remote, configuration: .quiet,
      clock: SyncClock(now: world.time.reader()))
    try await Self.plant(first, storage)
    await store.sync()
    try await Self.plant(answered, storage)
    let calls = Calls()
    act.value = {
      guard calls.add() == 1 else { return }
      do { try await Self.plant(later, storage) } catch { Issue.record(error) }
      await store.sync()
    }
    _ = try await store.fetchResult(AnyQuery("Page"), options: RequestOptions(readPolicy: .remote))
    act.value = nil
    #expect(calls.count > 0)
    return store
  }

  @Test("An answer older than an unreadable version doesn't end its quarantine")
  func olderThanUnreadable() async throws {
    let world = try SimulatedWorld()
    let store = try await device(
      in: world, reading: #"{"title":"two"}"#, after: #"{"title":"one"}"#, before: Self.deep)
    await store.sync()
    #expect(try await store.maintenance.unreadableRecords().map(\.version) == ["3"])
    #expect(try store.store.record(Stories.page("P1"))?["title"] == .text("one"))
    #expect(try await world.serverRecords().count == 1)
  }

  @Test("An unreadable answer older than the record isn't quarantined")
  func olderThanMended() async throws {
    let world = try SimulatedWorld()
    let store = try await device(
      in: world, reading: Self.deep, after: #"{"title":"one"}"#, before: #"{"title":"three"}"#)
    #expect(try await store.maintenance.unreadableRecords().isEmpty)
    #expect(try store.store.record(Stories.page("P1"))?["title"] == .text("three"))
    #expect(try await store.maintenance.verify())
    #expect(try await world.serverRecords().count == 1)
  }

  @Test(
    "A malformed record of a snapshot doesn't count as absent beside an edit", arguments: [false, true])
  func malformed(isOtherHistory: Bool) async throws {
    let world = try SimulatedWorld()
    let isMalformed = Locked(false)
    let remote = RewritingRemote(InProcessRemote(world.service)) { request, server throws(RemoteError) in
      var response = try await server.exchange(request)
      guard isMalformed.value else { return response }
      for index in response.pages.indices {
        let found = response.pages[index].changes
        response.pages[index].changes = []
        response.pages[index].unreadable = found.map {
          UnreadableRecord(record: $0.id, version: $0.version, container: $0.container, reason: "malformed")
        }
      }
      return response
    }
    let store = try SyncedStore(
      at: nil, schema: Stories.schema, remote: remote, configuration: .quiet,
      clock: SyncClock(now: world.time.reader()))
    try await Self.plant(#"{"title":"one"}"#, world.storage)
    await store.sync()
    try await store.store.write { _ = try $0.update(Stories.page("P1"), fields: ["title": .text("mine")]) }
    isMalformed.value = true
    if isOtherHistory {
      try await world.storage.startEpoch(space: "test")
    } else {
      try store.resetValidator(of: "Page")
    }
    #expect(await store.sync(.pull).obstacle == nil)
    let entry = try #require(try store.outboxEntries().first)
    #expect(entry.change == .update && entry.remoteVersion == nil)
    #expect(try store.resolve(Stories.page("P1"), .revert))
    #expect(try store.store.record(Stories.page("P1"))?["title"] == .text("one"))
  }

  @Test("A read of a record that is kept aside pulls nothing again")
  func readAgain() async throws {
    let pair = try Pair(schema: Stories.schema)
    try await Self.plant(#"{"title":"one"}"#, pair.world.storage)
    await pair.a.store.sync()
    try await Self.plant(Self.deep, pair.world.storage)
    await pair.a.store.sync()
    pair.a.remote.forgetRequests()
    let found = try await pair.a.store.fetchResult(
      AnyQuery("Page"), options: RequestOptions(readPolicy: .remote))
    #expect(found.records.first?["title"] == .text("one"))
    #expect(pair.a.remote.requests.isEmpty && pair.a.remote.reads == 1)
  }

  @Test("An unreadable conflict doesn't replace a newer unreadable version")
  func olderConflict() async throws {
    let pair = try Pair(schema: Stories.schema)
    try await Self.plant(#"{"title":"one"}"#, pair.world.storage)
    await pair.a.store.sync()
    try await Self.plant(Self.deep, pair.world.storage)
    let (store, calls) = (pair.a.store, Calls())
    let fields = FieldsDocument(canonical: Array(Self.deep.utf8))
    let newer = ServerRecord(id: Stories.page("P1"), version: "3", modified: 1, fields: fields)
    // A live change overtakes the answer.
    pair.a.remote.setDuringExchange {
      guard calls.add() == 1 else { return }
      do { _ = try await store.apply(PushedChange(newer)) } catch { Issue.record(error) }
    }
    let record = AnyRecord("Page", id: "P1", ["title": .text("later")])
    let error = await #expect(throws: BothyError.self) {
      try await store.save(record, options: .saving(.remoteThenLocal))
    }
    #expect(error?.code == .conflict && calls.count > 0)
    #expect(try await store.maintenance.unreadableRecords().map(\.version) == ["3"])
  }

  @Test("A record that is nested deep stops no update of the app", arguments: [false, true])
  func migrated(isConcealed: Bool) async throws {
    let pair = try Pair(schema: Stories.schema)
    try await Self.plant(#"{"meta":"# + Stories.nested(200) + #","title":"deep"}"#, pair.world.storage)
    await pair.a.store.sync()
    var schema = Stories.schema
    schema.version = 2
    schema.types[0].fields[0] =
      isConcealed
      ? FieldSchema("title", .text, optional: true, sensitive: true) : FieldSchema("heading", .text)
    let step: Migration.Step =
      isConcealed
      ? .makeSensitive(type: "Page", field: "title")
      : .renameField(type: "Page", from: "title", to: "heading")
    try pair.a.restart(schema: schema, migrations: [Migration(to: 2, step)])
    #expect(try await pair.a.store.maintenance.unreadableRecords().map(\.record) == [Stories.page("P1")])
    let kept = try await pair.a.store.store.read { transaction in
      let select = try PreparedStatement("SELECT record FROM bothy_unreadable", in: transaction.database)
      defer { select.reset() }
      return try select.step() ? select.text(at: 0) : nil
    }
    let record = try #require(kept)
    #expect(record.contains(#""meta":[["#) && !record.contains(#""title""#))
    #expect(record.contains(#""heading":"deep""#) == !isConcealed)
    #expect(await pair.a.store.sync().obstacle == nil)
  }

  @Test("A live change older than an unreadable version is outdated")
  func olderLiveChange() async throws {
    let pair = try Pair(schema: Stories.schema)
    try await Self.plant(#"{"title":"one"}"#, pair.world.storage)
    await pair.a.store.sync()
    try await Self.plant(#"{"title":"two"}"#, pair.world.storage)
    let second = try #require(try await pair.world.serverRecords()[Stories.page("P1")])
    try await Self.plant(Self.deep, pair.world.storage)
    await pair.a.store.sync()
    #expect(try await pair.a.store.apply(PushedChange(second)) == .outdated)
    #expect(try await pair.a.store.maintenance.unreadableRecords().map(\.version) == ["3"])
    #expect(try pair.a.record("Page", "P1")?["title"] == .text("one"))
  }
}
