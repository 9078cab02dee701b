import BothyPostgres
import BothyStore
import BothySync
import BothySyncService
import Synchronization
import Testing

/// The databases' own plans for the statements that read indexes of fields.
@Suite("Reads of indexes", .timeLimit(.minutes(5)))
struct IndexScanTests {
  @Test(
    "SQLite reads entries by their key, and sorts none",
    arguments: [FieldEntrySQL.forward, FieldEntrySQL.backward, FieldEntrySQL.count])
  func sqlite(sql: String) async throws {
    let storage = try SQLiteServerStorage()
    try await ServerStorageConformance.fill(
      ServerStorageConformance.taskService(storage, ServerStorageConformance.task()), 50)
    let plan = try await storage.plan(of: sql)
    let reads = plan.filter { $0.contains("field_value") }
    #expect(reads.count == 1)
    #expect(reads.allSatisfy { $0.contains("SEARCH field_value USING PRIMARY KEY (space=? AND field=? AND") })
    #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
  }

  @Test(
    "PostgreSQL reads entries by their key, and sorts none",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func postgres() async throws {
    let schema = RealPostgres.newSchema()
    let seen = Mutex<Set<String>>([])
    var configuration = RealPostgres.configuration(schema)
    configuration.trace = { sql in seen.withLock { _ = $0.insert(sql) } }
    let url = RealPostgres.url ?? ""
    try await RealPostgres.open(schema).close()
    let storage = try await PostgresServerStorage.open(url, configuration: configuration)
    defer { storage.close() }
    let tasks = ServerStorageConformance.task()
    try await ServerStorageConformance.fill(ServerStorageConformance.taskService(storage, tasks), 2000)
    _ = try PostgresCatalogue.rows(url, "ANALYZE \(schema).field_value")
    for order in [SortKey("due"), SortKey("due", ascending: false), SortKey("rank")] {
      let query = AnyQuery(
        "Task", where: .compare(field: "due", .less, .date(50)), order: [order], limit: 5)
      #expect(try await ServerStorageConformance.request(query, storage, tasks).ids.count == 5)
    }
    let reads = seen.withLock { $0.filter { $0.hasPrefix("SELECT") && $0.contains("FROM field_value") } }
    #expect(reads.count == 3)
    // A small table that nearly all rows are read of is cheaper to scan, so the plan without a scan is looked at.
    let planning = url + (url.contains("?") ? "&" : "?") + "options=-c%20enable_seqscan%3Doff"
    for sql in reads {
      let plan = try PostgresCatalogue.rows(planning, "EXPLAIN " + Self.filled(sql, schema)).flatMap { $0 }
      #expect(plan.contains { $0.contains("Index") && $0.contains("field_value_pkey") }, "\(plan)")
      #expect(!plan.contains { $0.contains("Seq Scan") || $0.contains("Sort") }, "\(plan)")
    }
  }

  /// Returns a statement with values in place of its parameters.
  private static func filled(_ sql: String, _ schema: String) -> String {
    let keys = [#"'\x01'::bytea"#, #"'\x0180'::bytea"#]
    let values =
      sql.contains("(key, id) >")
      ? ["'s'", "1", keys[0], "''", keys[1], "10"] : ["'s'", "1", keys[0], keys[1], "10"]
    var filled = sql.replacing("FROM field_value", with: "FROM \(schema).field_value")
    for (place, value) in values.enumerated() {
      filled = filled.replacing("$\(place + 1)", with: value)
    }
    return filled
  }
}
