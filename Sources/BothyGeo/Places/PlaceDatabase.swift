import BothyStore
import Foundation
import GRDB

/// Opens and creates the database of places: its tables, its application id, and the recovery of a damaged file.
enum PlaceDatabase {
  /// The text "BthP".
  private static let applicationID: Int32 = 0x4274_6850
  private static let version = 2

  /// Opens the file, or creates it and its folder. An older version takes its steps to the present one.
  ///
  /// A file that is damaged or of a newer version is replaced. `repair` says so, as sentences, and is `nil` otherwise. On
  /// a full or read-only disk, the file is read as it lies.
  static func open(_ path: String) throws(BothyError) -> (database: ClosableDatabase, repair: String?) {
    let number = ClosableDatabase.fileNumber(at: path)
    do {
      do {
        let database = try attempt(path)
        return (database, takeTiles(of: path, into: database, because: "an earlier repair was interrupted"))
      } catch let error where isDamage(error) { return try replaced(path, number, because: error) }
    } catch {
      let kept = ClosableDatabase.asItLies(path, after: error, label: "bothy.places") { database in
        try Int.fetchOne(database, sql: "PRAGMA user_version") == version
      }
      if let kept { return (kept, nil) }
      throw failure(error, path)
    }
  }

  /// Quarantines a file, creates a new one and copies the readable tiles. If another process has done that, opens its
  /// file.
  ///
  /// - Parameter number: the number of the damaged file. Close it before.
  static func replaced(
    _ path: String, _ number: UInt64, because error: any Error
  ) throws -> (database: ClosableDatabase, repair: String?) {
    try RegionLock.repairing(path) {
      if ClosableDatabase.isReplaced(path, number), let whole = try? attempt(path) {
        return (whole, takeTiles(of: path, into: whole, because: "an earlier repair was interrupted"))
      }
      let unread = path + unreadEnding
      // If an earlier quarantined file is still being copied, this one has what was copied of it.
      try move(path, to: FileManager.default.fileExists(atPath: unread) ? path + ".damaged" : unread)
      let database = try attempt(path)
      let reason = error is NewerVersion ? "a newer version made it" : "it was damaged"
      return (database, takeTiles(of: path, into: database, because: reason))
    }
  }

  private struct NewerVersion: Error {}

  /// The ending of a quarantined file whose tiles are being copied, also after the end of the process.
  private static let unreadEnding = ".unread"

  /// Copies the readable tiles of a quarantined file if that isn't done, and renames it to `{path}.damaged`.
  ///
  /// Returns sentences about the repair. After an error, the next opening continues.
  private static func takeTiles(
    of path: String, into database: ClosableDatabase, because reason: String
  ) -> String? {
    let unread = path + unreadEnding
    guard FileManager.default.fileExists(atPath: unread) else { return nil }
    do {
      let copied = try DamagedFile.readable(unread) { try PlaceSalvage($0)?.copy(into: database) ?? 0 }
      try move(unread, to: path + ".damaged")
      return "\(path) was repaired, because \(reason). \(copied) of its tiles were kept. "
        + "Others are fetched again when they are needed."
    } catch {
      return "\(path) is being repaired, because \(reason). It stopped: \(BothyError.cause(error)). "
        + "The next opening continues."
    }
  }

  static func isDamage(_ error: any Error) -> Bool {
    if error is NewerVersion { return true }
    guard let code = (error as? DatabaseError)?.resultCode else { return false }
    return code == .SQLITE_CORRUPT || code == .SQLITE_NOTADB
  }

  private static func attempt(_ path: String) throws -> ClosableDatabase {
    let folder = (path as NSString).deletingLastPathComponent
    if !folder.isEmpty {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    let log = try? FileManager.default.attributesOfItem(atPath: path + "-wal")  // absent if closed properly
    let wasLeftOpen = log?[.size] as? Int64 ?? 0 > 0
    SQLiteLibrary.prepare()
    var configuration = Configuration()
    configuration.label = "bothy.places"
    configuration.busyMode = .timeout(5)
    try inspect(path, configuration)
    let pool = ClosableDatabase(try DatabasePool(path: path, configuration: configuration))
    do {
      try pool.write { try prepare($0, path, isSuspect: wasLeftOpen) }
    } catch {
      try? pool.close()  // the first error is the one to report
      throw error
    }
    return pool
  }

  /// Checks the application id of a file before it is opened for writing.
  private static func inspect(_ path: String, _ configuration: Configuration) throws {
    // a missing file has no attributes
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    guard attributes?[.size] as? Int64 ?? 0 > 0 else { return }
    var configuration = configuration
    configuration.readonly = true
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.read { try check($0, path) }
    try queue.close()
  }

  /// Throws for a database of another application and for one of a newer version.
  private static func check(_ database: Database, _ path: String) throws {
    guard try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0 > 0 else { return }
    guard try Int32.fetchOne(database, sql: "PRAGMA application_id") == applicationID else {
      throw BothyError(
        .unavailable,
        "\(path) is a SQLite database of something else. Choose another path for the places; the file was left as it is."
      )
    }
    let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
    guard 1...version ~= found else { throw NewerVersion() }
  }

  private static func prepare(_ database: Database, _ path: String, isSuspect: Bool) throws {
    let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0
    if tables == 0 {
      try database.execute(sql: tablesSQL + useTableSQL)
      try database.execute(
        sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version)")
      return
    }
    try check(database, path)
    if isSuspect, try String.fetchOne(database, sql: "PRAGMA quick_check(1)") != "ok" {
      throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "quick_check")
    }
    guard try Int.fetchOne(database, sql: "PRAGMA user_version") == 1 else { return }
    try database.execute(sql: useTableSQL + useOfTilesSQL + "PRAGMA user_version = \(version)")
  }

  /// Renames a file and its log, and replaces an earlier file of that name.
  private static func move(_ path: String, to place: String) throws {
    let files = FileManager.default
    for side in ["", "-wal", "-shm"] where files.fileExists(atPath: place + side) {
      try files.removeItem(atPath: place + side)
    }
    // The log stays with its file, as it has the latest writes.
    for side in ["", "-wal"] where files.fileExists(atPath: path + side) {
      try files.moveItem(atPath: path + side, toPath: place + side)
    }
    if files.fileExists(atPath: path + "-shm") { try files.removeItem(atPath: path + "-shm") }
  }

  static func failure(_ error: any Error, _ path: String) -> BothyError {
    if let known = error as? BothyError, known.isOfMaps { return known }
    let known = BothyError(error, path: path)
    return BothyError(
      .unavailable, "The places at \(path) can't be read or written. \(known.message)", underlying: known)
  }

  /// `feature` has a row for each identity, and `version` one for each tile that has it. `area` is the R-tree.
  ///
  /// The row number in `area` is twice that of the feature. A box across the antimeridian has a second row, with that
  /// number plus one.
  private static let tablesSQL = """
    CREATE TABLE tile (
      morton INTEGER PRIMARY KEY, received_at INTEGER NOT NULL, validated_at INTEGER NOT NULL, etag TEXT,
      last_modified TEXT, parser INTEGER NOT NULL, categories INTEGER NOT NULL, payload BLOB NOT NULL) STRICT;
    CREATE TABLE feature (
      id INTEGER PRIMARY KEY, layer INTEGER NOT NULL, key TEXT NOT NULL, type TEXT NOT NULL,
      extent INTEGER NOT NULL, version INTEGER NOT NULL, category INTEGER NOT NULL, named INTEGER NOT NULL,
      west REAL NOT NULL, south REAL NOT NULL, east REAL NOT NULL, north REAL NOT NULL,
      UNIQUE (layer, key, type, extent)) STRICT;
    CREATE TABLE version (
      id INTEGER PRIMARY KEY, feature INTEGER NOT NULL, tile INTEGER NOT NULL, body BLOB NOT NULL,
      UNIQUE (feature, tile)) STRICT;
    CREATE INDEX version_of_tile ON version (tile);
    CREATE TABLE junction (
      road INTEGER NOT NULL, feature INTEGER NOT NULL, PRIMARY KEY (road, feature)) STRICT, WITHOUT ROWID;
    CREATE INDEX junction_of_feature ON junction (feature);
    CREATE VIRTUAL TABLE area USING rtree (id, west, east, south, north);
    CREATE VIRTUAL TABLE words USING fts5 (
      name, others, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3');
    """

  /// The use of each tile since version 2, apart from the bytes. `bytes` and `checksum` are those of the bytes as
  /// received; the checksum may be unknown. The cache has the bytes if `is_cached` is 1, and the payload is then
  /// `PlaceTileRow.elsewhere`.
  private static let useTableSQL = """
    CREATE TABLE tile_use (
      morton INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, checksum INTEGER, used_at INTEGER NOT NULL,
      is_cached INTEGER NOT NULL) STRICT;
    CREATE INDEX tile_by_use ON tile_use (used_at, morton);

    """

  /// Counts the tiles that another version stored. Reads no payload.
  private static let useOfTilesSQL = """
    INSERT INTO tile_use (morton, bytes, used_at, is_cached)
    SELECT morton, length(payload), validated_at, 0 FROM tile;

    """
}
