import BothyStore
import Foundation

/// Creates the tables of a storage and runs the missing steps, in SQL that all databases of PostgreSQL's kind have.
///
/// The row of `bothy_version` is the lock. Each step is one transaction that locks the row, reads the version again
/// and changes it. Processes that create the row at one time repeat what the others prevented. If nothing is missing,
/// nothing is written.
struct StorageInstaller {
  /// The most repetitions because of others that create the same.
  private static let tries = 40

  let schema: String
  let connection: PostgresConnection
  /// The steps that the server knows.
  let steps: [StorageTables.Step]
  /// True if missing steps may be run.
  let migrates: Bool

  private var known: Int { steps.count }

  /// Returns the version before and after. Throws `BothyError` `.newerFile` for tables that need a newer server, and
  /// `.schemaMismatch` if steps are missing and may not be run.
  func install() throws -> (before: TableVersion, after: TableVersion) {
    guard connection.serverEncoding == "UTF8" else {
      throw BothyError(
        .cannotOpen,
        "The database's encoding is \(connection.serverEncoding); texts need UTF8. Make one by "
          + "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.")
    }
    var failures = 0
    while true {
      do {
        return try advance()
      } catch let failure as PostgresFailure where failures < Self.tries && Self.isRace(failure) {
        failures += 1
        if connection.isInTransaction { try connection.execute("ROLLBACK") }
        Thread.sleep(forTimeInterval: Backoff.database.delay(attempt: failures) / .seconds(1))
      }
    }
  }

  /// True if another process has created the same at one time: a row, a table, a schema or an index.
  private static func isRace(_ failure: PostgresFailure) -> Bool {
    ["23505", "42P07", "42P06", "42710", "42701"].contains(failure.code)
      || failure.code == "XX000" && failure.message.contains("concurrently")
  }

  private func advance() throws -> (before: TableVersion, after: TableVersion) {
    let found = try version(locked: false)
    let before = found?.version ?? TableVersion(version: 0, oldest: 0)
    switch before.verdict(knowing: known) {
    case .usable: return (before, before)
    case .tooNew: throw BothyError.newerTables(before, known: known)
    case .incomplete: guard migrates else { throw BothyError.missingSteps(before, known: known) }
    }
    if found == nil { try createVersion() }
    let plain = try sortsByBytes()
    // The server ends a step that takes too long, so its own answer is awaited.
    connection.grace = max(connection.grace, .seconds(65))
    var after = before
    while let next = try runNext(withoutCollation: plain) { after = next }
    return (before, after)
  }

  private var table: String { schema.quotedIdentifier + ".bothy_version" }

  private struct Found {
    var version: TableVersion
    /// True if the table has the column `oldest`, which earlier servers didn't make.
    var hasOldest: Bool
  }

  /// Returns the version, or `nil` without the table or its row.
  private func version(locked: Bool) throws -> Found? {
    var columns = PostgresStatement(
      """
      SELECT a.attname::text FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relname = 'bothy_version' AND a.attnum > 0 AND NOT a.attisdropped
      """)
    columns.isKept = false
    columns.bind(schema)
    let names = try connection.run(columns)
    guard names.count > 0 else { return nil }
    let hasOldest = (0..<names.count).contains { names.text($0, 0) == "oldest" }
    let oldest = hasOldest ? "oldest" : "version"
    let rows = try connection.run(
      .command("SELECT version, \(oldest) FROM \(table)" + (locked ? " FOR UPDATE" : "")))
    guard rows.count > 0 else { return nil }
    return Found(
      version: TableVersion(version: Int(rows.int(0, 0)), oldest: Int(rows.int(0, 1))), hasOldest: hasOldest)
  }

  private func createVersion() throws {
    var look = PostgresStatement("SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = $1")
    look.isKept = false
    look.bind(schema)
    // A user may have a schema without the right to make one.
    if try connection.run(look).int(0, 0) == 0 {
      try connection.execute("CREATE SCHEMA IF NOT EXISTS \(schema.quotedIdentifier)")
    }
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS \(table) (
        id bigint NOT NULL PRIMARY KEY, version bigint NOT NULL, oldest bigint NOT NULL)
      """)
    try connection.execute("INSERT INTO \(table) VALUES (1, 0, 0) ON CONFLICT (id) DO NOTHING")
  }

  /// True if texts without a collation sort by their bytes. Then the tables need none, and CockroachDB takes none.
  private func sortsByBytes() throws -> Bool {
    let name = try connection.run(.command("SELECT version()")).text(0, 0) ?? ""
    if name.hasPrefix("CockroachDB") { return true }
    let found = try connection.run(
      .command(
        """
        SELECT datcollate::text, coalesce(to_jsonb(d) ->> 'datlocprovider', 'c')
        FROM pg_catalog.pg_database d WHERE datname = current_database()
        """))
    guard found.count > 0, found.text(0, 1) == "c" else { return false }
    return ["C", "POSIX"].contains(found.text(0, 0))
  }

  /// Runs the next missing step. Returns the version after it, or `nil` if none is missing. Throws `BothyError`
  /// `.newerFile` if a newer server has run steps meanwhile after which this one must not use the tables.
  private func runNext(withoutCollation: Bool) throws -> TableVersion? {
    try connection.execute("BEGIN; SET LOCAL search_path TO \(schema.quotedIdentifier)")
    do {
      guard let found = try version(locked: true), case let verdict = found.version.verdict(knowing: known),
        verdict != .usable
      else {
        try connection.execute("ROLLBACK")
        return nil
      }
      if verdict == .tooNew { throw BothyError.newerTables(found.version, known: known) }
      let step = steps[found.version.version]
      let next = found.version.next(isAdditive: step.isAdditive)
      if !found.hasOldest {
        try connection.execute("ALTER TABLE \(table) ADD COLUMN oldest bigint NOT NULL DEFAULT 0")
      }
      if !step.isAdditive, found.version.version > 0 { try stopWrites() }
      let sql = withoutCollation ? step.sql.replacing(" COLLATE \"C\"", with: "") : step.sql
      try run(sql, to: next)
      try connection.execute("UPDATE \(table) SET version = \(next.version), oldest = \(next.oldest)")
      try connection.execute("COMMIT")
      return next
    } catch {
      if connection.isInTransaction, !connection.isLost {
        // The first error is thrown. A lost connection doesn't need a rollback.
        try? connection.execute("ROLLBACK")
      }
      throw error
    }
  }

  /// Waits for the running writes, and lets others wait until the step is committed. They then read its version, and
  /// an older server's writes fail.
  ///
  /// CockroachDB and YugabyteDB have no such lock. There a write that runs at the time may be committed after the step.
  private func stopWrites() throws {
    try connection.execute("SAVEPOINT writes")
    do { try connection.execute("LOCK TABLE space IN EXCLUSIVE MODE") } catch  where error.isLasting {
      try connection.execute("ROLLBACK TO SAVEPOINT writes")
    }
  }

  private func run(_ step: String, to next: TableVersion) throws {
    do { try connection.execute(step) } catch {
      throw error.code == "57014" ? BothyError.slowStep(next.version, error) : error
    }
  }
}
