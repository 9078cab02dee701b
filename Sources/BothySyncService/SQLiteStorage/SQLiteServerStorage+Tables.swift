import BothyStore
import GRDB

/// The tables of a server's file, and the steps from an older form to this one.
extension SQLiteServerStorage {
  /// A step to a version of the file.
  private struct Step: Sendable {
    let version: Int
    let run: @Sendable (Database) throws -> Void
  }

  /// The steps in their order. A released step never changes.
  ///
  /// Servers before version 2 wrote the version 1 at each start, whatever the file had. So the step to version 2
  /// creates each table that a file lacks, in a new file and in one of version 1.
  private static let steps = [
    Step(version: 2, run: createMissing), Step(version: 3, run: addVisibility),
    Step(version: 4, run: addFieldIndexes), Step(version: 5, run: addFormerlyVisible),
    Step(version: 6, run: addDeletedIndex), Step(version: 7, run: forgetStrayShares),
    Step(version: 8, run: addUpkeepIndexes), Step(version: 9, run: addListOwners),
  ]

  /// The version of the files of this server, stored as `PRAGMA user_version`.
  private static let version = steps.last?.version ?? 0

  /// Throws `BothyError` `.newerFile` if a newer server wrote the file, and `notADatabase` if another program did. The
  /// file is unchanged.
  static func refuseUnknown(_ database: Database, _ path: String) throws {
    // Not `tableExists`, which remembers its answer while another process may make the tables.
    let isForeign = try Bool.fetchOne(
      database,
      sql: """
        SELECT count(*) > 0 AND total(name = 'space') = 0 FROM sqlite_master
        WHERE type = 'table' AND name NOT GLOB 'sqlite_*'
        """)
    if isForeign == true {
      throw BothyError(
        .notADatabase,
        "\(path) is not the database of a Bothy server. Choose another path; the file was left as it is.")
    }
    try refuseNewer(database, path)
  }

  /// Throws `BothyError` `.newerFile` if a newer server wrote the file, also while this one runs. Within a transaction it
  /// costs no more than one number of a page that every transaction reads.
  static func refuseNewer(_ database: Database, _ path: String) throws {
    let select = try PreparedStatement("PRAGMA user_version", in: database)
    defer { select.reset() }
    let found = try select.step() ? select.int(at: 0) : 0
    guard found > version else { return }
    throw BothyError(
      .newerFile,
      "\(path) has format \(found); this server knows up to \(version). Update the server; the file was left as it "
        + "is.")
  }

  /// Runs the missing steps in the present transaction, and returns the identity of the database. Throws `BothyError`
  /// `.schemaMismatch` if steps are missing in a file with tables and `migrates` is false.
  static func install(_ database: Database, _ path: String, migrates: Bool) throws -> String {
    let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
    let missing = steps.filter { $0.version > found }
    if !missing.isEmpty {
      let isNew = try !database.tableExists("space")
      guard migrates || isNew else {
        throw BothyError(
          .schemaMismatch,
          "\(path) has format \(found), this server needs \(version). Run `bothy admin migrate` with it first, or "
            + "start the server without --no-migrate.")
      }
      for step in missing { try step.run(database) }
      try database.execute(sql: "PRAGMA user_version = \(version)")
    }
    if let identity = try String.fetchOne(database, sql: "SELECT identity FROM server") { return identity }
    let identity = UUIDv7.make()
    try database.execute(sql: "INSERT INTO server VALUES (?)", arguments: [identity])
    return identity
  }

  /// Brings a file to the newest version, and returns the versions before and after. Runs at once, in one transaction.
  ///
  /// Blocks the thread. For a file of the newest version both numbers are equal, and nothing is changed. A missing file
  /// is created, with 0 before. Older servers refuse the file from then on, so make a copy first.
  ///
  /// - Throws: `BothyError`, with `.newerFile` for a newer file and `notADatabase` for one of another program. Both stay as
  ///   they are.
  public static func migrate(_ path: String) throws -> (before: Int, after: Int) {
    do {
      let queue = try DatabaseQueue(path: path)
      let before = try queue.read { database in
        try refuseUnknown(database, path)
        return try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
      }
      try queue.close()
      try SQLiteServerStorage(at: path).close()
      return (before, version)
    } catch {
      throw BothyError(error, path: path)
    }
  }

  private static func createMissing(_ database: Database) throws {
    try database.execute(
      sql: """
        CREATE TABLE IF NOT EXISTS server (identity TEXT NOT NULL) STRICT;
        CREATE TABLE IF NOT EXISTS space (
          name TEXT PRIMARY KEY NOT NULL, epoch TEXT NOT NULL, head INTEGER NOT NULL, floor INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS record (
          space TEXT NOT NULL, position INTEGER NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
          container TEXT NOT NULL, modified INTEGER NOT NULL, owner TEXT, deleted INTEGER NOT NULL,
          fields TEXT NOT NULL, sharing TEXT, created INTEGER, PRIMARY KEY (space, position)
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX IF NOT EXISTS record_id ON record (space, type, id);
        CREATE INDEX IF NOT EXISTS record_container ON record (space, container, position);
        CREATE TABLE IF NOT EXISTS departure (
          space TEXT NOT NULL, position INTEGER NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
          container TEXT NOT NULL, PRIMARY KEY (space, position, type, id, container)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS history (
          space TEXT NOT NULL, position INTEGER NOT NULL, container TEXT NOT NULL, type TEXT NOT NULL,
          id TEXT NOT NULL, kind INTEGER NOT NULL, moved_from TEXT, principal TEXT, time INTEGER NOT NULL,
          fields TEXT NOT NULL, PRIMARY KEY (space, position)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS operation (
          space TEXT NOT NULL, device TEXT NOT NULL, id TEXT NOT NULL, outcome TEXT NOT NULL,
          at INTEGER NOT NULL, PRIMARY KEY (space, device, id)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS member (
          space TEXT NOT NULL, principal TEXT NOT NULL, list TEXT NOT NULL, PRIMARY KEY (space, principal, list)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS member_list ON member (space, list);
        CREATE TABLE IF NOT EXISTS shared (
          space TEXT NOT NULL, list TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
          PRIMARY KEY (space, list, type, id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS shared_record ON shared (space, type, id);
        CREATE TABLE IF NOT EXISTS notice (
          space TEXT NOT NULL, principal TEXT NOT NULL, position INTEGER NOT NULL, type TEXT NOT NULL,
          id TEXT NOT NULL, PRIMARY KEY (space, principal, position)
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX IF NOT EXISTS notice_record ON notice (space, principal, type, id);

        """ + upkeepTables + uniqueTables + runTables + webhookTables)
    if try !database.columns(in: "record").contains(where: { $0.name == "created" }) {
      try database.execute(sql: "ALTER TABLE record ADD COLUMN created INTEGER")
    }
    try addDueList(to: database)
  }
}
