import BothyPostgres
import BothyStore
import BothySync
import BothySyncService
import Foundation
import Testing

@Suite("The version of the tables", .timeLimit(.minutes(5)))
struct TableVersionTests {
  @Test("Newer tables are usable for servers that know the oldest allowed version")
  func verdicts() {
    let cases: [(version: Int, oldest: Int, known: Int, verdict: TableVersion.Verdict)] = [
      (0, 0, 5, .incomplete), (4, 4, 5, .incomplete), (5, 5, 5, .usable), (5, 3, 5, .usable),
      (6, 6, 5, .tooNew), (7, 6, 5, .tooNew), (7, 5, 5, .usable), (7, 1, 5, .usable),
    ]
    for (version, oldest, known, verdict) in cases {
      let found = TableVersion(version: version, oldest: oldest).verdict(knowing: known)
      #expect(found == verdict, "version \(version) from \(oldest), known \(known)")
    }
  }

  @Test("Only a step that isn't additive ends the use by older servers")
  func steps() {
    let first = TableVersion(version: 0, oldest: 0).next(isAdditive: false)
    #expect(first == TableVersion(version: 1, oldest: 1))
    let second = first.next(isAdditive: true)
    #expect(second == TableVersion(version: 2, oldest: 1))
    #expect(second.next(isAdditive: false) == TableVersion(version: 3, oldest: 3))
  }
}

@Suite("Inserts of rows", .timeLimit(.minutes(5)))
struct RowInsertTests {
  @Test("Any number of rows is divided into few kinds of statements")
  func parts() {
    #expect(RowInsert.parts(of: 0).isEmpty)
    #expect(RowInsert.parts(of: 1) == [1])
    #expect(RowInsert.parts(of: 25) == [16, 8, 1])
    #expect(RowInsert.parts(of: 200) == [64, 64, 64, 8])
    for count in 0...300 {
      let parts = RowInsert.parts(of: count)
      #expect(parts.reduce(0, +) == count)
      #expect(parts.allSatisfy(RowInsert.sizes.contains))
    }
  }

  @Test("Each row has its own parameters after the common ones")
  func text() {
    let insert = RowInsert(into: "t", common: ["list"], ["a", "b"], onConflict: "(space, a) DO NOTHING")
    #expect(
      insert.statements[2]
        == """
        INSERT INTO t (space, list, a, b) VALUES ($1, $2, $3, $4), ($1, $2, $5, $6)
        ON CONFLICT (space, a) DO NOTHING
        """)
    #expect(Set(insert.statements.keys) == Set(RowInsert.sizes))
  }
}

/// Servers of several versions on one database.
@Suite(
  "Steps of the tables", .enabled(if: RealPostgres.url != nil, RealPostgres.hint), .timeLimit(.minutes(5)))
struct PostgresTablesTests {
  private let schema = RealPostgres.newSchema()
  private var url: String { RealPostgres.url ?? "" }

  private func configuration(known: Int? = nil, migrates: Bool = true) -> PostgresServerStorage.Configuration
  {
    var configuration = RealPostgres.configuration(schema, connections: 2)
    if let known { configuration.steps = Array(StorageTables.steps.prefix(known)) }
    configuration.migrates = migrates
    return configuration
  }

  @discardableResult
  private func sql(_ text: String) throws -> [[String]] { try PostgresCatalogue.rows(url, text) }

  private func version() throws -> [String] {
    try sql("SELECT version::text, oldest::text FROM \(schema).bothy_version").first ?? []
  }

  /// Returns the code of the error of opening, or `nil` if the storage opens and takes a write.
  private func refusal(_ configuration: PostgresServerStorage.Configuration) async throws -> BothyError.Code?
  {
    do {
      let storage = try await PostgresServerStorage.open(url, configuration: configuration)
      defer { storage.close() }
      try await storage.write(space: "s") { try $0.put([ServerStorageConformance.entry($0.head + 1, "a")]) }
      return nil
    } catch let error as BothyError {
      return error.code
    }
  }

  @Test("A server that may not change tables refuses those that miss steps")
  func refusal() async throws {
    #expect(try await refusal(configuration(migrates: false)) == .schemaMismatch)
    #expect(try sql("SELECT nspname FROM pg_namespace WHERE nspname = '\(schema)'").isEmpty)
    try await PostgresServerStorage.open(url, configuration: configuration(known: 3)).close()
    #expect(try await refusal(configuration(migrates: false)) == .schemaMismatch)
    #expect(try version() == ["3", "3"])
    _ = try await PostgresServerStorage.migrate(url, configuration: configuration())
    #expect(try await refusal(configuration(migrates: false)) == nil)
  }

  @Test("Tables of a version without the oldest server get the missing steps")
  func migration() async throws {
    try await PostgresServerStorage.open(url, configuration: configuration(known: 3)).close()
    try sql("ALTER TABLE \(schema).bothy_version DROP COLUMN id, DROP COLUMN oldest")
    let (before, after) = try await PostgresServerStorage.migrate(url, configuration: configuration())
    #expect(before == 3 && after > 3)
    #expect(try version().first == "\(after)")
    #expect(try await refusal(configuration()) == nil)
    let again = try await PostgresServerStorage.migrate(url, configuration: configuration())
    #expect(again == (after, after))
  }

  @Test("Tables of an older form get the indexes of visibility from the records")
  func visibility() async throws {
    let known = StorageTables.steps.prefix { !$0.sql.contains("audience") }.count
    try await PostgresServerStorage.open(url, configuration: configuration(known: known)).close()
    try sql("INSERT INTO \(schema).space (space, epoch, head, floor) VALUES ('s', 'e', 5, 0)")
    let wide = "[" + (0...VisibilityKey.indexedAudience).map { "\"u\($0)\"" }.joined(separator: ",") + "]"
    let records = [
      (1, "own", "bob", "NULL"), (2, "hidden", "ann", "NULL"),
      (3, "shared", "ann", #"'{"principals":["bob"],"lists":["L"]}'"#),
      (4, "wide", "ann", #"'{"principals":\#(wide)}'"#),
    ]
    for (position, id, owner, audience) in records {
      try sql(
        """
        INSERT INTO \(schema).record
        VALUES ('s', \(position), 'Note', '\(id)', 'Note', 1, '\(owner)', FALSE, TRUE, '{}', \(audience), 1)
        """)
    }
    try sql("INSERT INTO \(schema).notice VALUES ('s', 'bob', 5, 'Note', 'hidden')")
    let storage = try await PostgresServerStorage.open(url, configuration: configuration())
    defer { storage.close() }
    try await ServerStorageConformance.checkIndexed(storage)
  }

  @Test("Tables of an older form lose the rows of shared records that are gone")
  func strayShares() async throws {
    let known = try #require(StorageTables.steps.firstIndex { $0.sql.contains("DELETE FROM shared") })
    let older = try await PostgresServerStorage.open(url, configuration: configuration(known: known))
    #expect(try await ServerStorageConformance.leaveStrayShare(in: older) == [.note("a"), .note("gone")])
    older.close()
    let storage = try await PostgresServerStorage.open(url, configuration: configuration())
    defer { storage.close() }
    #expect(try await ServerStorageConformance.sharedRows(storage) == [.note("a")])
  }

  @Test("Tables of an older form get the owners of lists that name users")
  func listOwners() async throws {
    let known = try #require(StorageTables.steps.firstIndex { $0.sql.contains("member_owner") })
    #expect(StorageTables.steps[known].isAdditive)
    try await PostgresServerStorage.open(url, configuration: configuration(known: known)).close()
    try sql("INSERT INTO \(schema).space (space, epoch, head, floor) VALUES ('s', 'e', 1, 0)")
    try sql(
      """
      INSERT INTO \(schema).record
      VALUES ('s', 1, 'bothy_list', 'L', 'bothy_list', 1, 'ann', FALSE, TRUE, '{}', NULL, 1)
      """)
    try sql("INSERT INTO \(schema).member VALUES ('s', 'bob', 'L')")
    let storage = try await PostgresServerStorage.open(url, configuration: configuration())
    defer { storage.close() }
    #expect(try await ServerStorageConformance.listsOfBob(storage) == 1)
  }

  @Test("Servers that start while another migrates find each step done once")
  func together() async throws {
    try await PostgresServerStorage.open(url, configuration: configuration(known: 2)).close()
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for _ in 0..<6 {
        tasks.addTask { try await PostgresServerStorage.open(url, configuration: configuration()).close() }
      }
      try await tasks.waitForAll()
    }
    #expect(try sql("SELECT identity FROM \(schema).server").count == 1)
  }

  @Test("An older server refuses newer tables, unless only something was added")
  func older() async throws {
    #expect(try await refusal(configuration()) == nil)
    try sql("UPDATE \(schema).bothy_version SET version = version + 1, oldest = version + 1")
    let refused = try version()
    #expect(try await refusal(configuration()) == .newerFile)
    #expect(try version() == refused)
    try sql("UPDATE \(schema).bothy_version SET oldest = 1")
    #expect(try await refusal(configuration()) == nil)
    #expect(try version().first == refused.first)
  }

  @Test("An older server refuses tables that a newer one changes while it starts")
  func overtaken() async throws {
    let known = StorageTables.steps.count
    try await PostgresServerStorage.open(url, configuration: configuration(known: known - 1)).close()
    let newer = "UPDATE \(schema).bothy_version SET version = \(known + 1), oldest = \(known + 1)"
    var older = configuration()
    older.trace = { [url] statement in
      guard statement.hasSuffix("bothy_version FOR UPDATE") else { return }
      do { _ = try PostgresCatalogue.rows(url, newer) } catch { Issue.record(error) }
    }
    #expect(try await refusal(older) == .newerFile)
    #expect(try version() == ["\(known + 1)", "\(known + 1)"])
  }

  @Test("A server without indexes of fields writes to tables that have them")
  func fieldIndexes() async throws {
    let tasks = ServerStorageConformance.task()
    let newer = try await PostgresServerStorage.open(url, configuration: configuration())
    try await ServerStorageConformance.fill(ServerStorageConformance.taskService(newer, tasks), 50)
    let known = try #require(StorageTables.steps.firstIndex { $0.sql.contains("TABLE field_value") })
    #expect(StorageTables.steps[known].isAdditive)
    let isOpen = StorageTables.steps[known...].allSatisfy(\.isAdditive)
    #expect(try await refusal(configuration(known: known)) == (isOpen ? nil : .newerFile))
    // What such a server writes has no entries, and leaves the position of the indexes behind.
    try sql(
      """
      WITH moved AS (UPDATE \(schema).space SET head = head + 1 WHERE space = 's' RETURNING space, head)
      UPDATE \(schema).record SET position = moved.head, fields = '{"due":-1}' FROM moved
      WHERE record.space = moved.space AND record.id = 't0007'
      """)
    let found = try await ServerStorageConformance.request(ServerStorageConformance.firstDue, newer, tasks)
    #expect(found.ids == ["t0007", "t0000"] && found.reads.scans == 0)
    newer.close()
  }

  @Test("Tables have a collation only where texts don't sort by their bytes", arguments: [false, true])
  func collation(sortsByBytes: Bool) async throws {
    var address = url
    if sortsByBytes {
      try sql("CREATE DATABASE \(schema) TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
      var components = try #require(URLComponents(string: url))
      components.path = "/" + schema
      address = components.string ?? ""
    }
    let plain =
      """
      SELECT datcollate::text FROM pg_database
      WHERE datname = current_database() AND datcollate IN ('C', 'POSIX')
      """
    let expected = try PostgresCatalogue.rows(address, plain).isEmpty ? "C" : "default"
    #expect(!sortsByBytes || expected == "default")
    let storage = try await PostgresServerStorage.open(address, configuration: configuration())
    try await ServerStorageConformance.checks[0].run(storage)
    storage.close()
    let found = try PostgresCatalogue.rows(
      address,
      """
      SELECT DISTINCT l.collname::text FROM pg_attribute a JOIN pg_collation l ON l.oid = a.attcollation
      WHERE a.attrelid = '\(schema).record'::regclass AND a.attname = 'id'
      """)
    #expect(found == [[expected]])
  }
}
