internal import BothyStore
internal import Foundation
internal import GRDB

/// The transfer of all entries and pins from the tables of an earlier format, within one file.
///
/// The earlier tables get other names. Then one transaction after the other moves some entries, whose rows end with it.
/// After a crash the next opening continues. Entries that can't be read or do not match their checksums are left out.
struct IndexTakeover {
  /// The beginning of the names of earlier tables.
  static let mark = "taken_"
  /// The columns of `entry` from which rows can be read. Formats 1 and 2 have them.
  private static let columns: Set<String> = [
    "id", "source", "name", "bytes", "rank", "used", "received", "pinned", "size", "checksum", "body",
    "metadata",
  ]
  private static let movedAtOnce = 128

  private let index: IndexFile
  private let sources: SourceBook
  private let files: EntryFolder
  private let limits: DiskCache.Limits
  private let hasBodies: Bool
  private let isStopped: @Sendable () -> Bool

  init(
    _ index: IndexFile, _ sources: SourceBook, _ files: EntryFolder, _ options: DiskCache.Options,
    hasBodies: Bool
  ) {
    self.index = index
    self.sources = sources
    self.files = files
    limits = options.limits
    isStopped = options.isTakeoverStopped ?? { false }
    self.hasBodies = hasBodies
  }

  /// True if the file has the tables of an earlier format, or those and the newer ones.
  static func knows(_ database: Database) throws -> Bool {
    let found = try String.fetchSet(database, sql: "SELECT name FROM pragma_table_info('entry')")
    guard columns.isSubset(of: found) else { return false }
    let tables = try String.fetchSet(database, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
    return tables.isSuperset(of: ["state", "source", "entry", "body", "holder", "pin"])
  }

  func run() throws {
    let version = try index.write { database in
      let version = try Int64.fetchOne(database, sql: "PRAGMA user_version") ?? 0
      if version < IndexSchema.version { try putAside(database, version) }
      return try Int64.fetchOne(database, sql: "SELECT version FROM taken_format") ?? 0
    }
    while try move({ try moveLoose($0) }) {}
    while try move({ try movePins($0, version) }) {}
    while try move({ try moveEntries($0, hasVariants: version >= 2) }) {}
    try index.write { database in
      let tables = try String.fetchAll(
        database, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'taken%'")
      for table in tables { try database.execute(sql: "DROP TABLE \(table)") }
    }
  }

  /// Renames the earlier tables and creates those of this format.
  private func putAside(_ database: Database, _ version: Int64) throws {
    let isComplete = try Int64.fetchOne(database, sql: "SELECT complete FROM state") ?? 0
    let rank = try Int64.fetchOne(database, sql: "SELECT rank FROM state") ?? 0
    let folders = try Int64.fetchOne(database, sql: "SELECT folders FROM state") ?? 0
    let parts = try Row.fetchAll(
      database, sql: "SELECT type, name FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type")
    for part in parts {
      let (name, type): (String, String) = (part["name"], part["type"])
      try database.execute(
        sql: type == "index" ? "DROP INDEX \(name)" : "ALTER TABLE \(name) RENAME TO \(Self.mark)\(name)")
    }
    try IndexSchema.create(database)
    try database.execute(
      sql: """
        CREATE TABLE IF NOT EXISTS taken_shared (body INTEGER PRIMARY KEY, uses INTEGER NOT NULL);
        CREATE TABLE IF NOT EXISTS taken_loose (id INTEGER PRIMARY KEY, source INTEGER, name ANY);
        CREATE TABLE taken_format (version INTEGER NOT NULL);
        INSERT INTO taken_format VALUES (\(version));
        UPDATE state SET complete = \(isComplete), rank = \(rank), folders = \(folders);
        """)
  }

  /// Runs one transaction. Returns false if nothing was left to move.
  private func move(_ body: (IndexTransaction) throws -> Bool) throws -> Bool {
    if isStopped() { throw BothyError(.cancelled, "The test ends the transfer here.") }
    return try index.write { database in
      let transaction = try IndexTransaction(
        database, sources, files, limits, hasBodies: hasBodies, index.frames)
      let isMore = try body(transaction)
      try transaction.finish()
      return isMore
    }
  }

  private func moveLoose(_ transaction: IndexTransaction) throws -> Bool {
    let rows = try Row.fetchAll(
      transaction.database,
      sql: """
        SELECT l.id, s.name AS source, l.name FROM taken_loose l JOIN taken_source s ON s.id = l.source
        LIMIT \(Self.movedAtOnce)
        """)
    for row in rows {
      let number: Int64 = row["id"]
      let key = ResourceKey(
        SourceID(row["source"] as String), Self.name(row["name"]), variant: KnownSource.variant(number))
      try transaction.noteLoose(key)
      try transaction.database.execute(sql: "DELETE FROM taken_loose WHERE id = \(number)")
    }
    return !rows.isEmpty
  }

  private func movePins(_ transaction: IndexTransaction, _ version: Int64) throws -> Bool {
    let database = transaction.database
    // A pin of format 1 has its source and name in the row of its entry. One without an entry is lost.
    let (key, entry) = version >= 2 ? ("p", "") : ("e", "JOIN taken_entry e ON e.id = p.entry")
    let rows = try Row.fetchAll(
      database,
      sql: """
        SELECT p.entry, p.holder, s.name AS source, \(key).name, h.name AS held FROM taken_pin p \(entry)
        JOIN taken_holder h ON h.id = p.holder JOIN taken_source s ON s.id = \(key).source
        LIMIT \(Self.movedAtOnce)
        """)
    for row in rows {
      let key = ResourceKey(SourceID(row["source"] as String), Self.name(row["name"]))
      try transaction.pin(key, transaction.holder(row["held"]))
      try database.execute(
        sql: "DELETE FROM taken_pin WHERE entry = ? AND holder = ?",
        arguments: [row["entry"] as Int64, row["holder"] as Int64])
    }
    return !rows.isEmpty
  }

  private static func name(_ value: DatabaseValue) -> ResourceKey.Name {
    if let bits = Int64.fromDatabaseValue(value) { return .tile(UInt64(bitPattern: bits)) }
    return .path(String.fromDatabaseValue(value) ?? "")
  }

  private func moveEntries(_ transaction: IndexTransaction, hasVariants: Bool) throws -> Bool {
    let database = transaction.database
    let numbers = try Int64.fetchAll(
      database, sql: "SELECT id FROM taken_entry ORDER BY id LIMIT \(Self.movedAtOnce)")
    var bytes = 0
    for number in numbers {
      if let entry = try QuarantinedIndex.Entry(
        number, in: database, sources, of: QuarantinedIndex.earlier(Self.mark), hasVariants: hasVariants)
      {
        try transaction.restore(entry)
        bytes += entry.body?.count ?? 0
      }
      try database.execute(
        sql: """
          DELETE FROM taken_body WHERE id = (SELECT body FROM taken_entry WHERE id = \(number))
            AND NOT EXISTS (SELECT 1 FROM taken_shared WHERE body = taken_body.id AND uses > 1);
          UPDATE taken_shared SET uses = uses - 1
            WHERE body = (SELECT body FROM taken_entry WHERE id = \(number));
          DELETE FROM taken_entry WHERE id = \(number);
          """)
      // A transaction must fit into the log.
      if bytes > 1 << 20 { break }
    }
    return !numbers.isEmpty
  }
}
