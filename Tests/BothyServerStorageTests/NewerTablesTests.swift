import BothyPostgres
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Foundation
import GRDB
import Testing

/// A server that runs while a newer one changes the form of its storage.
@Suite("Storages that a newer server changes meanwhile", .timeLimit(.minutes(5)))
struct NewerTablesTests {
  /// Checks that no call writes or gives out anything.
  private func checkRefused(_ storage: any ServerMaintenance) async throws {
    let write = await #expect(throws: BothyError.self) {
      try await put("late", in: storage)
    }
    let other = await #expect(throws: BothyError.self) {
      try await storage.write(space: "new") { try $0.put([ServerStorageConformance.entry(1, "late")]) }
    }
    let read = await #expect(throws: BothyError.self) { try await storage.read(space: "s") { $0.head } }
    let search = await #expect(throws: BothyError.self) {
      try await storage.search(space: "s", within: .seconds(60)) { $0.head }
    }
    let check = await #expect(throws: BothyError.self) { try await storage.check() }
    let upkeep = await #expect(throws: BothyError.self) { try await storage.startEpoch(space: "s") }
    let compaction = await #expect(throws: BothyError.self) { try await storage.compact(space: "s", upTo: 1) }
    let due = await #expect(throws: BothyError.self) { try await storage.makeDue(space: "s") }
    for error in [write, other, read, search, check, upkeep, compaction, due] {
      #expect(error?.code == .newerFile, "\(String(describing: error))")
    }
  }

  private func put(_ name: String, in storage: any ServerStorage) async throws {
    try await storage.write(space: "s") { try $0.put([ServerStorageConformance.entry($0.head + 1, name)]) }
  }

  private func heads(_ storage: any ServerStorage) async throws -> [Int64] {
    [try await storage.read(space: "s") { $0.head }, try await storage.read(space: "new") { $0.head }]
  }

  @Test("A running server refuses its file once a newer server has changed it")
  func file() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/ledger.sqlite"
    let storage = try SQLiteServerStorage(at: path)
    try await put("a", in: storage)
    let newer = try DatabaseQueue(path: path)
    let version = try await newer.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } ?? 0
    try await newer.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = \(version + 1)") }
    try await checkRefused(storage)
    try await newer.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = \(version)") }
    #expect(try await heads(storage) == [1, 0])
    try newer.close()
    try storage.close()
  }

  @Test(
    "A running server refuses tables once a newer server has changed them",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func tables() async throws {
    let schema = RealPostgres.newSchema()
    let storage = try await RealPostgres.open(schema)
    defer { storage.close() }
    try await put("a", in: storage)
    var newer = RealPostgres.configuration(schema)
    newer.steps.append(.additive("ALTER TABLE writer ADD COLUMN expanded text;"))
    _ = try await PostgresServerStorage.migrate(RealPostgres.url ?? "", configuration: newer)
    try await put("b", in: storage)
    newer.steps.append("ALTER TABLE writer DROP COLUMN expanded;")
    _ = try await PostgresServerStorage.migrate(RealPostgres.url ?? "", configuration: newer)
    try await checkRefused(storage)
    let hook = await #expect(throws: BothyError.self) {
      try await storage.place("h", in: "s", at: FeedPosition(epoch: "e", position: 1))
    }
    #expect(hook?.code == .newerFile)
    let heads = try PostgresCatalogue.rows(
      RealPostgres.url ?? "", "SELECT space, head::text FROM \(schema).space")
    #expect(heads == [["s", "2"]])
  }

  @Test(
    "A step that ends the use by older servers waits for their running writes",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func runningWrite() async throws {
    let schema = RealPostgres.newSchema()
    let url = RealPostgres.url ?? ""
    let storage = try await RealPostgres.open(schema)
    defer { storage.close() }
    try await put("a", in: storage)
    var newer = RealPostgres.configuration(schema)
    newer.steps.append("UPDATE server SET identity = identity;")
    let count = newer.steps.count
    let (starts, starting) = AsyncStream.makeStream(of: Void.self)
    async let isAwaited = storage.write(space: "s") { transaction in
      starting.yield()
      try transaction.put([ServerStorageConformance.entry(2, "b")])
      while true {
        let waits = try PostgresCatalogue.rows(
          url, "SELECT 'waits' FROM pg_locks WHERE NOT granted AND relation = '\(schema).space'::regclass")
        if !waits.isEmpty { return true }
        let version = try PostgresCatalogue.rows(url, "SELECT version::text FROM \(schema).bothy_version")
        if version == [["\(count)"]] { return false }
        // PostgreSQL ends a session that idles in its transaction for ten seconds.
        _ = try transaction.changes(after: 0, in: .everything, limit: 1)
      }
    }
    for await _ in starts { break }
    let (_, after) = try await PostgresServerStorage.migrate(url, configuration: newer)
    #expect(after == count)
    #expect(try await isAwaited)
    try await checkRefused(storage)
  }
}
