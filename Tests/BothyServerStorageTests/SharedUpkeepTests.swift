import BothyPostgres
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Synchronization
import Testing

/// Upkeep by several processes, and its cost for spaces without changes.
@Suite("Upkeep by several processes", .timeLimit(.minutes(5)))
struct SharedUpkeepTests {
  private static let start: Int64 = 1_767_225_600_000

  private static func fill(_ storage: any ServerMaintenance, _ count: Int) async throws {
    for number in 0..<count {
      try await storage.write(space: "s\(number)") { try $0.put([ServerStorageConformance.entry(1, "a")]) }
    }
  }

  /// Takes spaces in small batches until none is due.
  private static func takeAll(_ storage: any ServerMaintenance) async throws -> [String] {
    var taken: [String] = []
    while try await storage.dueCount(at: start, limit: 1) > 0 {
      taken += try await storage.takeDue(at: start, limit: 3, lease: 1000).map(\.space)
    }
    return taken
  }

  private static func share(_ first: any ServerMaintenance, _ second: any ServerMaintenance) async throws {
    try await fill(first, 40)
    let taken = try await withThrowingTaskGroup(of: [String].self) { tasks in
      for storage in [first, second] { for _ in 0..<3 { tasks.addTask { try await takeAll(storage) } } }
      return try await tasks.reduce(into: []) { $0 += $1 }
    }
    #expect(taken.count == 40)
    #expect(Set(taken).count == 40)
  }

  @Test("Processes on one file take each due space once")
  func sqlite() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/ledger.sqlite"
    func open() throws -> SQLiteServerStorage {
      try SQLiteServerStorage(at: path, lanes: WriteQueues(), patience: 100)
    }
    let (first, second) = (try open(), try open())
    try await Self.share(first, second)
    try second.close()
    try first.close()
  }

  @Test(
    "Processes on PostgreSQL take each due space once",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func postgres() async throws {
    let schema = RealPostgres.newSchema()
    let (first, second) = (try await RealPostgres.open(schema), try await RealPostgres.open(schema))
    defer {
      first.close()
      second.close()
    }
    try await Self.share(first, second)
  }

  @Test("A look at a file of idle spaces writes nothing")
  func idleFile() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/ledger.sqlite"
    let storage = try SQLiteServerStorage(at: path)
    try await Self.fill(storage, 30)
    for number in 0..<30 { try await storage.turn("s\(number)", at: Self.start) }
    let log = URL(fileURLWithPath: path + "-wal")
    let before = try Data(contentsOf: log)
    let found = try await storage.takeDue(at: Self.start + 80 * RetentionPolicy.day, limit: 9, lease: 1000)
    #expect(found.isEmpty)
    #expect(try Data(contentsOf: log) == before)
    try storage.close()
  }

  @Test(
    "A look costs PostgreSQL one statement, whatever the number of idle spaces",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func idlePostgres() async throws {
    let seen = Mutex<[String]>([])
    var configuration = RealPostgres.configuration(connections: 1)
    configuration.trace = { sql in seen.withLock { $0.append(sql) } }
    let storage = try await PostgresServerStorage.open(RealPostgres.url ?? "", configuration: configuration)
    defer { storage.close() }
    try await Self.fill(storage, 30)
    for number in 0..<30 { try await storage.turn("s\(number)", at: Self.start) }
    // The first look opens a session.
    _ = try await storage.takeDue(at: Self.start + 80 * RetentionPolicy.day, limit: 9, lease: 1000)
    seen.withLock { $0 = [] }
    let found = try await storage.takeDue(at: Self.start + 80 * RetentionPolicy.day, limit: 9, lease: 1000)
    #expect(found.isEmpty)
    let statements = seen.withLock { $0 }
    #expect(statements.count == 1, "\(statements)")
  }

  @Test(
    "Writes need no statement for the list, and 50 scopes need one commit",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func statements() async throws {
    let seen = Mutex<[String]>([])
    var configuration = RealPostgres.configuration(connections: 1)
    configuration.trace = { sql in seen.withLock { $0.append(sql) } }
    let storage = try await PostgresServerStorage.open(RealPostgres.url ?? "", configuration: configuration)
    defer { storage.close() }
    try await Self.fill(storage, 1)
    try await storage.turn("s0", at: Self.start)
    seen.withLock { $0 = [] }
    try await storage.write(space: "s0") { storage in
      try storage.put([ServerStorageConformance.entry(2, "b")])
      try storage.remember([Outcome(operation: "o", .waiting(on: "x"))], device: "d", at: Self.start)
    }
    #expect(seen.withLock { $0.filter { $0.hasPrefix("UPDATE space") }.count } == 1)
    #expect(try await storage.isDue(at: Self.start + RetentionPolicy.hour))
    let epoch = try await storage.read(space: "s0") { $0.epoch }
    seen.withLock { $0 = [] }
    let progress = (1...50).map { DeviceProgress(scope: "x\($0)", position: 1, epoch: epoch) }
    #expect(try await storage.acknowledge(space: "s0", device: "d", progress, at: Self.start))
    #expect(seen.withLock { $0.filter { $0 == "COMMIT" }.count } == 1)
  }

  @Test(
    "Spaces of an older form in PostgreSQL become due spread over an hour",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func olderForm() async throws {
    let (url, schema) = (RealPostgres.url ?? "", RealPostgres.newSchema())
    let inSchema = "\(url)?options=-csearch_path%3D\(schema)"
    _ = try PostgresCatalogue.rows(url, "CREATE SCHEMA \(schema)")
    let older = StorageTables.steps.map(\.sql).prefix { !$0.contains("space_due") }
    for step in older {
      for sql in step.split(separator: ";") where sql.contains(/\S/) {
        _ = try PostgresCatalogue.rows(inSchema, String(sql))
      }
    }
    for number in 0..<50 {
      _ = try PostgresCatalogue.rows(
        inSchema, "INSERT INTO space VALUES ('s\(number)', '\(UUIDv7.make())', 0, 0)")
    }
    _ = try PostgresCatalogue.rows(inSchema, "CREATE TABLE bothy_version (version bigint NOT NULL)")
    _ = try PostgresCatalogue.rows(inSchema, "INSERT INTO bothy_version VALUES (\(older.count))")
    let storage = try await RealPostgres.open(schema)
    defer { storage.close() }
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    #expect(try await storage.dueCount(at: now - RetentionPolicy.hour, limit: 99) == 0)
    #expect(try await storage.dueCount(at: now + RetentionPolicy.hour, limit: 99) == 50)
    let half = try await storage.dueCount(at: now + RetentionPolicy.hour / 2, limit: 99)
    #expect((1..<50).contains(half))
  }
}
