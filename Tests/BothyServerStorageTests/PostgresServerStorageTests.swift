import BothyPostgres
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Foundation
import Synchronization
import Testing

/// The PostgreSQL that `scripts/with-postgres` has started.
enum RealPostgres {
  static let url = ProcessInfo.processInfo.environment["BOTHY_POSTGRES"]
  static let hint: Comment =
    "BOTHY_POSTGRES is not set: run the tests by scripts/with-postgres swift test --filter BothyServerStorageTests"

  /// Returns the name of a new schema, so that every test has new spaces.
  static func newSchema() -> String { "t" + UUID().uuidString.lowercased().replacing("-", with: "") }

  /// True in `scripts/test-citus`: the tables of each schema are distributed by the space before their first use.
  private static let isDistributed =
    ProcessInfo.processInfo.environment["BOTHY_POSTGRES_DISTRIBUTED"] != nil

  /// Returns a configuration whose calls may take as long as a busy machine takes.
  static func configuration(
    _ schema: String = newSchema(), connections: Int = 4
  ) -> PostgresServerStorage.Configuration {
    var configuration = PostgresServerStorage.Configuration(
      schema: schema, connections: connections, patience: .seconds(100))
    configuration.checkTime = .seconds(100)
    return configuration
  }

  static func open(_ schema: String = newSchema(), connections: Int = 4) async throws -> PostgresServerStorage
  {
    let configuration = configuration(schema, connections: connections)
    if isDistributed,
      try await PostgresServerStorage.migrate(url ?? "", configuration: configuration).before == 0
    {
      try distribute(schema)
    }
    return try await PostgresServerStorage.open(url ?? "", configuration: configuration)
  }

  private static func distribute(_ schema: String) throws {
    let tables = try PostgresCatalogue.rows(
      url ?? "",
      """
      SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = '\(schema)'::regnamespace AND c.relkind = 'r' AND a.attname = 'space'
      ORDER BY c.relname <> 'space', c.relname
      """)
    for table in tables.compactMap(\.first) {
      let beside = table == "space" ? "" : ", colocate_with => '\(schema).space'"
      _ = try PostgresCatalogue.rows(
        url ?? "",
        "SELECT create_distributed_table('\(schema).\(table)', 'space'\(beside))::text")
    }
  }

  static func with(_ body: (PostgresServerStorage) async throws -> Void) async throws {
    let storage = try await open()
    defer { storage.close() }
    try await body(storage)
  }

  /// Repeats a call that can be repeated while a busy machine is slower than a short patience.
  static func patiently<Result>(_ body: () async throws -> Result) async throws -> Result {
    for _ in 0..<20 {
      do { return try await body() } catch is StorageUnavailable {}
    }
    return try await body()
  }
}

@Suite(
  "A storage in PostgreSQL", .enabled(if: RealPostgres.url != nil, RealPostgres.hint),
  .timeLimit(.minutes(5))
)
struct PostgresServerStorageTests {
  /// Promises: A-4, A-5
  @Test("A PostgreSQL storage conforms", arguments: ServerStorageConformance.checks)
  func conformance(check: ServerStorageConformance.Check) async throws {
    try await RealPostgres.with(check.run)
  }

  /// Promises: A-3
  @Test("A PostgreSQL storage answers queries as the reference does", arguments: RandomQueries.seeds(3))
  func queries(seed: UInt64) async throws {
    try await RealPostgres.with { try await QueryConformance(seed: seed).run($0) }
  }

  @Test("A storage keeps its content for another process, and when it is opened again")
  func reopening() async throws {
    let schema = RealPostgres.newSchema()
    let first = try await RealPostgres.open(schema)
    let second = try await RealPostgres.open(schema)
    let epoch = try await first.write(space: "s") { storage in
      try storage.put([ServerStorageConformance.entry(1, "a")])
      return storage.epoch
    }
    first.close()
    let found = try await second.write(space: "s") { ($0.head, $0.epoch, try $0.records([.note("a")]).count) }
    #expect(!first.identity.isEmpty && first.identity == second.identity)
    #expect(found == (1, epoch, 1))
    second.close()
  }

  @Test("Many processes that start at once create the tables once")
  func starting() async throws {
    let schema = RealPostgres.newSchema()
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for _ in 0..<8 {
        tasks.addTask {
          let storage = try await RealPostgres.open(schema)
          try await storage.write(space: "s") { storage in
            try storage.put([ServerStorageConformance.entry(storage.head + 1, UUIDv7.make())])
          }
          storage.close()
        }
      }
      try await tasks.waitForAll()
    }
    let storage = try await RealPostgres.open(schema)
    #expect(try await storage.read(space: "s") { $0.head } == 8)
    storage.close()
  }

  @Test("Texts with a zero character are kept, and queries answer like the reference")
  func zeroCharacters() async throws {
    try await RealPostgres.with { storage in
      let titles = ["a", "a\u{0}b", "a\\u0000", "", "b"]
      let entries = titles.enumerated().map { index, title in
        ServerStorageConformance.entry(Int64(index + 1), "n\(index)", title: title)
      }
      try await storage.write(space: "s") { try $0.put(entries) }
      let queries = [
        AnyQuery("Note", where: .compare(field: "title", .equal, .text("a\u{0}b"))),
        AnyQuery(
          "Note", where: .contains(field: "title", "A", ignoringCase: true), order: [SortKey("title")]),
        AnyQuery(
          "Note", where: .compare(field: "title", .greater, .text("a")), order: [SortKey("title")]),
      ]
      let found = try await storage.read(space: "s") { storage in
        try queries.map { try storage.query($0, schema: .notes).map(\.record.id.id) }
      }
      #expect(found == [["n1"], ["n0", "n1", "n2"], ["n1", "n2", "n4"]])
      #expect(
        try await storage.read(space: "s") { try $0.changes(after: 0, in: .everything, limit: 9) } == entries)
    }
  }

  @Test("Ids that only look alike are different records beside a zero character")
  func equivalentIds() async throws {
    try await RealPostgres.with { storage in
      let ids = ["\u{E9}", "e\u{301}"]
      let entries = ids.enumerated().map { index, id in
        ServerStorageConformance.entry(Int64(index + 1), id, title: "a\u{0}")
      }
      try await storage.write(space: "s") { try $0.put(entries) }
      let found = try await storage.read(space: "s") { storage in
        try storage.query(AnyQuery("Note"), schema: .notes).map(\.record.id)
      }
      #expect(Set(found) == Set(ids.map { RecordID(type: "Note", id: $0) }))
    }
  }

  /// Promises: Scenario-16
  @Test("A paused transaction holds back later ones on other nodes and all cursors")
  func pausedTransaction() async throws {
    let (schema, node) = (RealPostgres.newSchema(), RealPostgres.newSchema())
    let first = try await RealPostgres.open(schema)
    let second = try await PostgresServerStorage.open(
      "\(RealPostgres.url ?? "")?application_name=\(node)",
      configuration: RealPostgres.configuration(schema, connections: 2))
    try await first.write(space: "s") { try $0.put([ServerStorageConformance.entry(1, "before")]) }
    let (pauses, pausing) = AsyncStream.makeStream(of: Void.self)
    let end = DispatchSemaphore(value: 0)
    async let slow: Void = first.write(space: "s") { storage in
      try storage.put([ServerStorageConformance.entry(storage.head + 1, "slow")])
      pausing.yield()
      // PostgreSQL ends a session that idles in its transaction for ten seconds.
      while end.wait(timeout: .now() + 2) == .timedOut {
        _ = try storage.changes(after: 0, in: .everything, limit: 1)
      }
    }
    for await _ in pauses { break }
    async let quick: Void = second.write(space: "s") { storage in
      try storage.put([ServerStorageConformance.entry(storage.head + 1, "quick")])
    }
    let waiting =
      "SELECT pid::text FROM pg_stat_activity WHERE application_name = '\(node)' AND wait_event_type = 'Lock'"
    // The other node waits for the space's lock.
    repeat {
      for node in [first, second] {
        let seen = try await node.read(space: "s") { try $0.changes(after: 1, in: .everything, limit: 9) }
        #expect(seen.isEmpty, "nothing after the transaction that is not committed")
      }
    } while try PostgresCatalogue.rows(RealPostgres.url ?? "", waiting).isEmpty
    end.signal()
    _ = try await (slow, quick)
    let all = try await second.read(space: "s") { try $0.changes(after: 1, in: .everything, limit: 9) }
    #expect(all.map(\.record.id.id) == ["slow", "quick"])
    #expect(all.map(\.position) == [2, 3])
    first.close()
    second.close()
  }

  @Test("Writes that come while another process has the space share one transaction")
  func joinedWhileWaiting() async throws {
    let schema = RealPostgres.newSchema()
    let first = try await RealPostgres.open(schema)
    let locks = Atomic(0)
    var configuration = RealPostgres.configuration(schema, connections: 2)
    configuration.trace = { sql in
      guard sql.hasSuffix(" FOR UPDATE") else { return }
      locks.add(1, ordering: .relaxed)
    }
    let second = try await PostgresServerStorage.open(RealPostgres.url ?? "", configuration: configuration)
    try await first.write(space: "s") { try $0.put([ServerStorageConformance.entry(1, "before")]) }
    let before = locks.load(ordering: .relaxed)
    let (pauses, pausing) = AsyncStream.makeStream(of: Void.self)
    let end = DispatchSemaphore(value: 0)
    async let slow: Void = first.write(space: "s") { storage in
      pausing.yield()
      // PostgreSQL ends a session that idles in its transaction for ten seconds.
      while end.wait(timeout: .now() + 2) == .timedOut {
        _ = try storage.changes(after: 0, in: .everything, limit: 1)
      }
    }
    for await _ in pauses { break }
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for number in 0..<5 {
        // The first one waits for the lock before the others come.
        while number > 0, locks.load(ordering: .relaxed) == before { await Task.yield() }
        tasks.addTask {
          try await second.write(space: "s") { storage in
            try storage.put([ServerStorageConformance.entry(storage.head + 1, "n\(number)")])
          }
        }
      }
      // All but the first one, which was taken.
      while second.waitingWrites(in: "s") < 4 { await Task.yield() }
      end.signal()
      try await tasks.waitForAll()
    }
    try await slow
    #expect(locks.load(ordering: .relaxed) == before + 1)
    #expect(try await second.read(space: "s") { $0.head } == 6)
    first.close()
    second.close()
  }

  @Test("News of a space reach the other processes, and not their author")
  func news() async throws {
    let schema = RealPostgres.newSchema()
    let first = try await RealPostgres.open(schema)
    let second = try await RealPostgres.open(schema)
    try await first.write(space: "s") { _ in }
    let (heard, hearing) = AsyncStream.makeStream(of: String.self)
    let (ownHeard, ownHearing) = AsyncStream.makeStream(of: String.self)
    second.passNews(of: { ["s"] }, to: { hearing.yield($0) })
    first.passNews(of: { [] }, to: { ownHearing.yield($0) })
    var names = heard.makeAsyncIterator()
    #expect(await names.next() == "s", "a look at the beginning")
    try await first.write(space: "s") { try $0.put([ServerStorageConformance.entry(1, "a")]) }
    #expect(await names.next() == "s")
    first.close()
    second.close()
    ownHearing.finish()
    #expect(await ownHeard.reduce(0) { count, _ in count + 1 } == 0)
  }

  @Test("A check reports an unreachable database at once, with a reason")
  func unreachable() async throws {
    let configuration = PostgresServerStorage.Configuration(patience: .milliseconds(1))
    let error = await #expect(throws: StorageUnavailable.self) {
      _ = try await PostgresServerStorage.open(
        "postgres://bothy@127.0.0.1:1/none", configuration: configuration)
    }
    #expect(error?.reason == .unreachable)
  }
}

/// The conditions for distributing tables and statements by space.
@Suite(
  "The distribution key", .enabled(if: RealPostgres.url != nil, RealPostgres.hint), .timeLimit(.minutes(15)))
struct DistributionKeyTests {
  @Test("Keys, constraints and all indexes but one begin with the space")
  func catalogue() async throws {
    let schema = RealPostgres.newSchema()
    try await RealPostgres.open(schema).close()
    let indexes = try PostgresCatalogue.rows(
      RealPostgres.url ?? "",
      """
      SELECT t.relname, i.relname, (SELECT attname FROM pg_attribute
        WHERE attrelid = t.oid AND attnum = x.indkey[0])
      FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
      WHERE t.relnamespace = '\(schema)'::regnamespace
      """)
    #expect(indexes.count >= 16)
    for index in indexes where index[1] != "space_due" && index[0] != "bothy_version" {
      #expect(index[2] == "space", "\(index[0]).\(index[1])")
    }
    let tables = try PostgresCatalogue.rows(
      RealPostgres.url ?? "",
      """
      SELECT t.relname, (SELECT attname FROM pg_attribute a JOIN pg_constraint c
        ON c.conrelid = t.oid AND c.contype = 'p' AND a.attrelid = t.oid AND a.attnum = c.conkey[1])
      FROM pg_class t WHERE t.relnamespace = '\(schema)'::regnamespace AND t.relkind = 'r'
      """)
    #expect(tables.count == 19)
    for table in tables where !["bothy_version", "server"].contains(table[0]) {
      #expect(table[1] == "space", "\(table[0])")
    }
    let others = try PostgresCatalogue.rows(
      RealPostgres.url ?? "",
      """
      SELECT conname FROM pg_constraint
      WHERE connamespace = '\(schema)'::regnamespace AND contype NOT IN ('p', 'u')
      """)
    #expect(others.isEmpty, "no foreign key, no exclusion, no check across rows")
  }

  @Test("Every statement that a storage runs names the space, except three lists of spaces")
  func statements() async throws {
    let seen = Mutex<Set<String>>([])
    var configuration = RealPostgres.configuration()
    configuration.trace = { sql in seen.withLock { _ = $0.insert(sql) } }
    for check in ServerStorageConformance.checks {
      configuration.schema = RealPostgres.newSchema()
      let storage = try await PostgresServerStorage.open(RealPostgres.url ?? "", configuration: configuration)
      try await check.run(storage)
      storage.close()
    }
    for check in UpkeepConformance.checks {
      configuration.schema = RealPostgres.newSchema()
      let storage = try await PostgresServerStorage.open(RealPostgres.url ?? "", configuration: configuration)
      try await check.run(storage)
      storage.close()
    }
    let tables =
      "(space|record|departure|history|operation|member|shared|notice|writer|mark|device|audience|seen|field_value)"
    let reads = try Regex("FROM \(tables)\\b")
    let writes = try Regex("(INSERT INTO|UPDATE|DELETE FROM) \(tables)\\b")
    var count = 0
    for sql in seen.withLock({ $0 }) where sql.contains(reads) || sql.contains(writes) {
      count += 1
      // The list of all, for administration, and of those that are due, for upkeep.
      if sql == "SELECT space FROM space ORDER BY space" || sql.contains("FROM space WHERE due <= $1") {
        continue
      }
      let namesSpace =
        sql.contains("space = $1") || sql.contains("space = ANY($1")
        || sql.contains(/\(space,[^)]*\)\s+SELECT \$1,/)
        || sql.contains(/\(space,[^)]*\)\s+VALUES \(\$1,/)
      #expect(namesSpace, "\(sql)")
    }
    #expect(count >= 30, "the statements of a storage")
  }
}
