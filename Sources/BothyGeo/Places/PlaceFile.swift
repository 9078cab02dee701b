import BothyStore
import Foundation
import GRDB

/// Opens and makes the file of the places: its tables, its mark, and what is done when it is damaged.
enum PlaceFile {
  /// "BthP"
  private static let applicationID: Int32 = 0x4274_6850
  private static let version = 1

  /// Opens the file or makes it, and its folder. One that is damaged or of another version is put away as
  /// `{path}.damaged` and begun anew: everything in it can be fetched again. Of one of another version the tiles are taken
  /// over as they came, to be read again.
  static func open(_ path: String) throws(GeoError) -> ClosableDatabase {
    do {
      do { return try attempt(path) } catch let error where isDamage(error) {
        try putAway(path)
        let pool = try attempt(path)
        if error is OtherVersion { takeTiles(from: path + ".damaged", into: pool) }
        return pool
      }
    } catch { throw failure(error, path) }
  }

  private struct OtherVersion: Error {}

  /// Takes over the bytes of tiles; their features are derived anew, as their parser is none.
  private static func takeTiles(from path: String, into pool: ClosableDatabase) {
    do {
      let queue = try DatabaseQueue(path: path)
      try queue.inDatabase { old in
        let rows = try Row.fetchCursor(
          old, sql: "SELECT morton, received_at, validated_at, etag, last_modified, payload FROM tile")
        try pool.write { new in
          while let row = try rows.next() {
            try new.execute(
              sql: """
                INSERT INTO tile (morton, received_at, validated_at, etag, last_modified, payload, parser, categories)
                VALUES (?, ?, ?, ?, ?, ?, 0, 0)
                """, arguments: StatementArguments(row.databaseValues))
          }
        }
      }
      try queue.close()
    } catch {
      // A format that keeps its tiles in another way: they are fetched again.
    }
  }

  static func isDamage(_ error: any Error) -> Bool {
    if error is OtherVersion { return true }
    guard let code = (error as? DatabaseError)?.resultCode else { return false }
    return code == .SQLITE_CORRUPT || code == .SQLITE_NOTADB
  }

  private static func attempt(_ path: String) throws -> ClosableDatabase {
    let folder = (path as NSString).deletingLastPathComponent
    if !folder.isEmpty {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    let log = try? FileManager.default.attributesOfItem(atPath: path + "-wal")  // absent: closed properly
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
      try? pool.close()  // the first error is the one to tell
      throw error
    }
    return pool
  }

  /// Looks at the mark of a file before it is opened for writing.
  private static func inspect(_ path: String, _ configuration: Configuration) throws {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)  // absent: no attributes
    guard attributes?[.size] as? Int64 ?? 0 > 0 else { return }
    var configuration = configuration
    configuration.readonly = true
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.read { try check($0, path) }
    try queue.close()
  }

  /// Throws for a database of something else and for one of another version.
  private static func check(_ database: Database, _ path: String) throws {
    guard try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0 > 0 else { return }
    guard try Int32.fetchOne(database, sql: "PRAGMA application_id") == applicationID else {
      throw GeoError(
        .unavailable,
        "\(path) is a SQLite database of something else. Choose another path for the places; the file was left as it is."
      )
    }
    guard try Int.fetchOne(database, sql: "PRAGMA user_version") == version else { throw OtherVersion() }
  }

  private static func prepare(_ database: Database, _ path: String, isSuspect: Bool) throws {
    let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0
    guard tables > 0 else {
      try database.execute(sql: tablesSQL)
      try database.execute(
        sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version)")
      return
    }
    try check(database, path)
    if isSuspect, try String.fetchOne(database, sql: "PRAGMA quick_check(1)") != "ok" {
      throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "quick_check")
    }
  }

  /// Renames the file and its log, in place of one put away earlier.
  static func putAway(_ path: String) throws {
    let files = FileManager.default
    let place = path + ".damaged"
    for side in ["", "-wal", "-shm"] where files.fileExists(atPath: place + side) {
      try files.removeItem(atPath: place + side)
    }
    // The log goes with its file: what was written last is in it.
    for side in ["", "-wal"] where files.fileExists(atPath: path + side) {
      try files.moveItem(atPath: path + side, toPath: place + side)
    }
    if files.fileExists(atPath: path + "-shm") { try files.removeItem(atPath: path + "-shm") }
  }

  static func failure(_ error: any Error, _ path: String) -> GeoError {
    if let known = error as? GeoError { return known }
    let known = StoreError(error, path: path)
    return GeoError(
      .unavailable, "The places at \(path) can't be read or written. \(known.message)", underlying: known)
  }

  /// `feature` has a row for each identity, `version` one for each tile that holds it. `area` is the R-tree: a box
  /// across the antimeridian has two rows, the number of a row is twice that of the feature, plus one for the second.
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
}
