import GRDB

/// The file format's marks and its history.
///
/// - 1: first format. `bothy_meta(key, value)`, one STRICT table a type, `bothy_link` for lists of references.
/// - 2: text indexes use the words of `bothy_words` instead of SQLite's; synced types have an index of containers.
/// - 3: synced types have `_created`, `_modified` and `_owner`.
/// - 4: text indexes have words of scripts without spaces by their parts.
enum Format {
  /// The version of the format. Increases when a release writes something that older ones misread.
  static let version: Int64 = 4
  /// `PRAGMA application_id` of every Bothy file: "Both" in ASCII.
  static let applicationID: Int64 = 0x426F_7468

  static let metaSQL =
    "CREATE TABLE IF NOT EXISTS bothy_meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID"
  static let linkSQL = """
    CREATE TABLE IF NOT EXISTS bothy_link (
      target_type TEXT NOT NULL, target TEXT NOT NULL, owner_type TEXT NOT NULL, field TEXT NOT NULL,
      owner TEXT NOT NULL, PRIMARY KEY (target_type, target, owner_type, field, owner)) STRICT, WITHOUT ROWID
    """

  /// Returns one entry of the file's metadata, or nil if the file or the entry isn't there yet.
  static func noted(_ key: String, in database: Database) throws -> String? {
    guard try database.tableExists("bothy_meta") else { return nil }
    return try String.fetchOne(database, sql: "SELECT value FROM bothy_meta WHERE key = ?", arguments: [key])
  }

  /// Writes one entry of the file's metadata, over an earlier one.
  static func note(_ text: String, as key: String, in database: Database) throws {
    try database.execute(
      sql: "INSERT INTO bothy_meta VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
      arguments: [key, text])
  }
}
