import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import GRDB
import Testing

/// A server that was restored from a backup, with a pending transaction of the device.
@Suite("A restored server and a pending transaction", .timeLimit(.minutes(5)))
struct RestoredTogetherTests {
  private struct Parts {
    let folder: TemporaryFolder
    let store: SyncedStore
    let restored: SQLiteServerStorage
  }

  /// Returns a device whose acknowledged title the restored server has lost, with notes of two records in one
  /// transaction.
  private func parts(_ policy: MergePolicy, _ restore: SyncOptions.RestorePolicy = .request) async throws
    -> Parts
  {
    let folder = try TemporaryFolder()
    let time = VirtualTime()
    let remote = SwitchedRemote()
    let storage = try SQLiteServerStorage(at: folder.path + "/server.sqlite")
    remote.target = InProcessRemote(SyncService(storage: storage, now: time.reader()))
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: policy)
    configuration.restored = restore
    let store = try SyncedStore(
      at: folder.path + "/device.sqlite", schema: .notes, remote: remote, configuration: configuration,
      options: StoreOptions(durability: .normal, processes: .single, readers: 1),
      clock: SyncClock(now: time.reader()))
    try await store.store.write { for n in 0..<3 { try $0.insert(Note(id: "T\(n)", "old")) } }
    await store.sync()
    let backup = folder.path + "/backup.sqlite"
    try await storage.backup(to: backup)
    try await store.store.write { _ = try $0.update(Note.self, id: "T1") { $0.title = "acknowledged" } }
    await store.sync()
    try await store.write(.atomic) {
      for n in 1...2 { _ = try $0.update(Note.self, id: "T\(n)") { $0.note = "pending" } }
    }
    let restored = try SQLiteServerStorage(at: backup)
    try await restored.startEpoch(space: "test")
    remote.target = InProcessRemote(SyncService(storage: restored, now: time.reader()))
    return Parts(folder: folder, store: store, restored: restored)
  }

  @Test(
    "The app is asked about records that the server lost, and they are restored",
    arguments: [MergePolicy.remoteWins, .fieldByField, .localWins, .latestWins])
  func asked(policy: MergePolicy) async throws {
    let parts = try await parts(policy)
    #expect(await parts.store.sync().stop?.name == "otherServer")
    #expect(try await parts.store.store.fetch(Note.self, id: "T1")?.title == "acknowledged")
    _ = try await parts.store.maintenance.uploadMine()
    await parts.store.sync()
    #expect(try parts.store.outboxEntries().isEmpty)
    let server = try await parts.restored.read(space: "test") { try $0.records([.note("T1"), .note("T2")]) }
    #expect(try server[.note("T1")]?.record.fields.members()["title"] == "acknowledged")
    #expect(try server[.note("T1")]?.record.fields.members()["note"] == "pending")
    #expect(try server[.note("T2")]?.record.fields.members()["note"] == "pending")
  }

  @Test("Syncs that wait for the answer stage no further pages")
  func waiting() async throws {
    let parts = try await parts(.fieldByField)
    var pages: [Int?] = []
    for _ in 0..<3 {
      #expect(await parts.store.sync().stop?.name == "otherServer")
      let count = try await parts.store.store.read {
        try Int.fetchOne($0.database, sql: "SELECT count(*) FROM bothy_stage")
      }
      pages.append(count)
    }
    #expect(pages == [pages[0], pages[0], pages[0]])
  }

  @Test("A policy restores them without a question")
  func givenBack() async throws {
    let parts = try await parts(.fieldByField, .giveBack)
    let report = await parts.store.sync()
    #expect(report.givenBack.contains(.note("T1")))
    await parts.store.sync()
    let server = try await parts.restored.read(space: "test") { try $0.records([.note("T1")]) }
    #expect(try server[.note("T1")]?.record.fields.members()["title"] == "acknowledged")
  }
}
