internal import BothyStore
internal import Foundation
internal import GRDB

/// The tables of an index, and the recognition of its file.
enum IndexSchema {
  /// "Bty" and a 1, in the header of the file.
  static let applicationID: Int64 = 0x4274_7931
  static let version: Int64 = 2

  enum Verdict: Equatable {
    case new
    case known
    /// Not usable, for the given reason.
    case foreign(String)
  }

  static func verdict(_ database: Database) throws -> Verdict {
    let application = try Int64.fetchOne(database, sql: "PRAGMA application_id") ?? 0
    let version = try Int64.fetchOne(database, sql: "PRAGMA user_version") ?? 0
    let definitions = try Optional<String>.fetchAll(database, sql: "SELECT sql FROM sqlite_master")
    if definitions.isEmpty { return .new }
    if let reason = reason(application, version) { return .foreign(reason) }
    return isWhole(definitions.compactMap(\.self))
      ? .known : .foreign("the definitions of its tables are damaged")
  }

  /// Returns true if the file's definitions are those that `create(_:)` writes.
  ///
  /// SQLite does not check the text of a definition. A damaged name of a column fails each statement that uses it.
  private static func isWhole(_ definitions: [String]) -> Bool {
    definitions.count == tables.components(separatedBy: "CREATE ").count - 1
      && Set(definitions).count == definitions.count
      && definitions.allSatisfy { tables.contains($0) }
  }

  private static func reason(_ application: Int64, _ version: Int64) -> String? {
    if application != applicationID { return "it is a database of another program" }
    if version != self.version {
      return "it is of format \(version), and this version writes \(self.version)"
    }
    return nil
  }

  /// Returns the reason why a file is unusable, or `nil` if its header does not show one. The file isn't opened.
  static func foreignness(ofFile path: String) throws -> String? {
    guard let start = try FileBytes.start(Array(path.utf8) + [0], 100) else { return nil }
    defer { start.free() }
    guard start.bytes.count == 100 else { return nil }
    func number(_ offset: Int) -> Int64 { start.bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) } }
    // A file whose first commit is still in the log has neither number.
    return number(68) == 0 && number(60) == 0 ? nil : reason(number(68), number(60))
  }

  /// The tables of the index.
  ///
  /// `state` is one row. Its `rank` counts uses, and its `count` and `bytes` are those of entries that are not pinned.
  /// `folders` is the number of the files' folders. `complete` is 0 while the index is being filled from older files.
  ///
  /// An entry's `id` is the hash of its key, with the variant in its two lowest bits, and `pin` names variant 0. `body`
  /// is `nil` if its bytes and metadata are in a file of their own. `loose` names files that were written before the
  /// row that will name them. `shared` names the bodies that several entries use, with the number of uses.
  static let tables = """
    CREATE TABLE state (
      id INTEGER PRIMARY KEY CHECK (id = 0), rank INTEGER NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
      folders INTEGER NOT NULL, complete INTEGER NOT NULL
    ) STRICT;
    INSERT INTO state VALUES (0, 0, 0, 0, 0, 0);
    CREATE TABLE source (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
      pinnedCount INTEGER NOT NULL, pinnedBytes INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE entry (
      id INTEGER PRIMARY KEY, source INTEGER NOT NULL, name ANY NOT NULL, bytes INTEGER NOT NULL,
      rank INTEGER NOT NULL, used INTEGER NOT NULL, received INTEGER NOT NULL, pinned INTEGER NOT NULL,
      size INTEGER NOT NULL, checksum INTEGER NOT NULL, body INTEGER, metadata BLOB
    ) STRICT;
    CREATE INDEX entry_rank ON entry (rank) WHERE pinned = 0;
    CREATE TABLE body (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, checksum INTEGER NOT NULL, data BLOB NOT NULL)
      STRICT;
    CREATE INDEX body_checksum ON body (checksum) WHERE size <= 4096;
    CREATE TABLE shared (body INTEGER PRIMARY KEY, uses INTEGER NOT NULL) STRICT;
    CREATE TABLE holder (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE pin (
      entry INTEGER NOT NULL, holder INTEGER NOT NULL, source INTEGER NOT NULL, name ANY NOT NULL,
      PRIMARY KEY (entry, holder)
    ) WITHOUT ROWID, STRICT;
    CREATE INDEX pin_holder ON pin (holder);
    CREATE TABLE loose (id INTEGER PRIMARY KEY, source INTEGER NOT NULL, name ANY NOT NULL) STRICT;
    """

  static func create(_ database: Database) throws {
    try database.execute(sql: tables)
    try database.execute(sql: "PRAGMA application_id = \(applicationID)")
    try database.execute(sql: "PRAGMA user_version = \(version)")
  }
}
