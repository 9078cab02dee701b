import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("Giving back what others own", .timeLimit(.minutes(5)))
struct GivenBackByAnotherTests {
  private static let schema: StoreSchema = {
    var schema = memo(1)
    schema.types[0].permissions = Permissions(read: .shared, update: .shared, delete: .owner)
    return schema
  }()

  /// Ann shares a record with Bob, and the server is restored to a time before that. Then Ann's device syncs.
  @Test("A restored server gets a record back from its owner")
  func annsRecordStaysHers() async throws {
    let folder = try TemporaryFolder()
    let time = VirtualTime()
    let rules = AccessRules(schema: Self.schema)
    let storage = try SQLiteServerStorage(at: folder.file("server.sqlite"))
    let service = Locked(SyncService(storage: storage, rules: rules, now: time.reader()))
    func device(_ name: String) throws -> SyncedStore {
      var configuration = SyncOptions.quiet
      configuration.restored = .giveBack
      return try SyncedStore(
        at: folder.file("\(name).sqlite"), schema: Self.schema,
        remote: InProcessRemote(space: "test", user: Caller(name)) { service.value },
        configuration: configuration,
        options: StoreOptions(durability: .normal, processes: .single, readers: 2),
        clock: SyncClock(now: time.reader()))
    }
    let (ann, bob) = (try device("ann"), try device("bob"))
    try await ann.store.write { try $0.insert(AnyRecord("Memo", id: "0", ["title": .text("before")])) }
    await ann.sync()
    await bob.sync()
    try await storage.backup(to: folder.file("backup.sqlite"))
    let one = RecordID(type: "Memo", id: "1")
    try await ann.store.write { try $0.insert(AnyRecord("Memo", id: "1", ["title": .text("ann's")])) }
    try await ann.sharing.share(one, with: .users("bob"))
    await ann.sync()
    await bob.sync()
    #expect(try bob.store.record(one)?.metadata.owner == "ann")
    let restored = try SQLiteServerStorage(at: folder.file("backup.sqlite"))
    try await restored.startEpoch(space: "test")
    service.value = SyncService(storage: restored, rules: rules, now: time.reader())
    for _ in 0..<2 {
      await ann.sync()
    }
    #expect(try ann.store.record(one)?["title"] == .text("ann's"))
    #expect(try ann.store.record(one)?.metadata.owner == "ann")
    let server = try await restored.read(space: "test") { storage in
      var owner: [String: String?] = [:]
      try storage.forEachRecord(in: .everything) { owner[$0.record.id.id] = $0.record.owner }
      return owner
    }
    #expect(server["1"] == "ann")
    #expect(try ann.outboxEntries().isEmpty)
    try await ann.delete(one)
    #expect(await ann.sync().rejected.isEmpty)
  }
}
