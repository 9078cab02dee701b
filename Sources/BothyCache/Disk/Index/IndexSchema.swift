internal import BothyStore
internal import Foundation
internal import GRDB

/// The tables of an index, and the recognition of its file.
enum IndexSchema {
  /// "Bty" and a 1, in the header of the file.
  static let applicationID: Int64 = 0x4274_7931
  static let version: Int64 = 4
  /// The format before the present one, which has all tables but that of identities.
  private static let withoutIdentities: Int64 = 3

  enum Verdict: Equatable {
    case new
    case known
    /// Of an earlier format, or of this one while the entries of an earlier one are being taken over.
    ///
    /// Opening the store converts it.
    case older
    /// Not usable, for the given reason. Opening the store renames the file, creates a new one and copies what is
    /// readable.
    ///
    /// `isNewer` is true for a file of a later format.
    case foreign(String, isNewer: Bool)
  }

  static func verdict(_ database: Database) throws -> Verdict {
    let application = try Int64.fetchOne(database, sql: "PRAGMA application_id") ?? 0
    let version = try Int64.fetchOne(database, sql: "PRAGMA user_version") ?? 0
    let definitions = try Optional<String>.fetchAll(database, sql: "SELECT sql FROM sqlite_master")
      .compactMap(\.self)
    if definitions.isEmpty { return .new }
    if let reason = reason(application) { return .foreign(reason, isNewer: false) }
    if let reason = reason(newer: version) { return .foreign(reason, isNewer: true) }
    let damage = Verdict.foreign("the definitions of its tables are damaged", isNewer: false)
    if version < withoutIdentities { return try IndexTakeover.knows(database) ? .older : damage }
    let own = definitions.filter { !$0.contains(IndexTakeover.mark) }
    guard isWhole(own, version < self.version ? entryTables : tables) else { return damage }
    return own.count == definitions.count ? .known : .older
  }

  /// Adds the table of identities to a file of the format before. A file that is only read lacks it.
  static func addIdentities(_ database: Database) throws {
    guard try Int64.fetchOne(database, sql: "PRAGMA application_id") == applicationID,
      try Int64.fetchOne(database, sql: "PRAGMA user_version") == withoutIdentities
    else { return }
    if try !database.tableExists("identity") { try database.execute(sql: identityTable) }
    try database.execute(sql: "PRAGMA user_version = \(version)")
  }

  /// Returns true if the file's definitions are those of `tables`, which `create(_:)` writes.
  ///
  /// SQLite does not check the text of a definition. A damaged name of a column fails each statement that uses it.
  static func isWhole(_ definitions: [String], _ tables: String = tables) -> Bool {
    definitions.count == tables.components(separatedBy: "CREATE ").count - 1
      && Set(definitions).count == definitions.count
      && definitions.allSatisfy { tables.contains($0) }
  }

  private static func reason(_ application: Int64) -> String? {
    application == applicationID ? nil : "it is a database of another program"
  }

  private static func reason(newer format: Int64) -> String? {
    format > version ? "it is of format \(format), and this version knows \(version)" : nil
  }

  /// Returns the reason why a file is unusable, or `nil` if its header does not show one. The file isn't opened.
  static func foreignness(ofFile path: String) throws -> (reason: String, isNewer: Bool)? {
    guard let start = try FileBytes.start(Array(path.utf8) + [0], 100) else { return nil }
    defer { start.free() }
    guard start.bytes.count == 100 else { return nil }
    func number(_ offset: Int) -> Int64 { start.bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) } }
    // A file whose first commit is still in the log has neither number.
    if number(68) == 0 && number(60) == 0 { return nil }
    if let reason = reason(number(68)) { return (reason, false) }
    return reason(newer: number(60)).map { ($0, true) }
  }

  /// Returns the page size of a file, or `nil` if it isn't a database.
  static func pageSize(ofFile path: String) throws -> Int? {
    guard let start = try FileBytes.start(Array(path.utf8) + [0], 18) else { return nil }
    defer { start.free() }
    guard start.bytes.count == 18, start.bytes.starts(with: "SQLite format 3".utf8) else { return nil }
    let size = Int(start.bytes[16]) << 8 | Int(start.bytes[17])
    return size == 1 ? 65_536 : size
  }

  /// The tables of the index.
  static let tables = entryTables + "\n" + identityTable

  /// `identity` has the identities of sources, which came with their first entries. See `ResourceSource.identity`.
  private static let identityTable = """
    CREATE TABLE identity (source TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID, STRICT;
    """

  /// The tables of entries, bodies and pins.
  ///
  /// `state` is one row. Its `rank` counts uses, and its `count` and `bytes` are those of entries that are not pinned.
  /// `folders` is the number of the files' folders, and `last` the highest number that a page or frame has had.
  /// `complete` is 0 while the index is being filled from older files.
  ///
  /// An entry's `id` is the number of its key. The name of a tile is its place in the pyramid, which has few digits, and
  /// small tables have no indexes, because a region of small tiles feels each of them. `frame` is what its metadata
  /// shares with others. `body` names its bytes, which several entries may share, and exactly one of these `bears` them:
  /// it counts their size. If `body` is `nil`, bytes and metadata are in a file of the entry's own, `bytes` is the
  /// file's size on disk, and `metadata` a note.
  ///
  /// A body's bytes begin at `place` in the data of its `page`. Without one they are in a file. `page` has one body of
  /// medium size, or many small ones, which `bodies` lists. `live` is the size of those that entries still name.
  ///
  /// A row of `pin` is for up to 64 keys of a block, by the bits of `mask`. `loose` names entries' own files that were
  /// written before the row that will name them, or have outlived it, and `unnamed` does so for files of bodies.
  private static let entryTables = """
    CREATE TABLE state (
      id INTEGER PRIMARY KEY CHECK (id = 0), rank INTEGER NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
      folders INTEGER NOT NULL, last INTEGER NOT NULL, complete INTEGER NOT NULL
    ) STRICT;
    INSERT INTO state VALUES (0, 0, 0, 0, 0, 0, 0);
    CREATE TABLE source (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
      pinnedCount INTEGER NOT NULL, pinnedBytes INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE entry (
      id INTEGER PRIMARY KEY, source INTEGER NOT NULL, name ANY NOT NULL, rank INTEGER NOT NULL, used INTEGER,
      pinned INTEGER NOT NULL, bears INTEGER NOT NULL, body INTEGER, frame INTEGER, bytes INTEGER, metadata BLOB
    ) STRICT;
    CREATE INDEX entry_rank ON entry (rank) WHERE pinned = 0;
    CREATE INDEX entry_sharing ON entry (body, pinned) WHERE bears = 0;
    CREATE TABLE frame (id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
    CREATE TABLE body (
      id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, size INTEGER NOT NULL, page INTEGER, place INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX body_checksum ON body (checksum & 32767);
    CREATE TABLE page (id INTEGER PRIMARY KEY, live INTEGER, bodies BLOB, data BLOB NOT NULL) STRICT;
    CREATE INDEX page_live ON page (live) WHERE live < 16384;
    CREATE TABLE holder (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
    CREATE TABLE pin (
      block INTEGER NOT NULL, holder INTEGER NOT NULL, source INTEGER NOT NULL, name ANY NOT NULL, mask INTEGER NOT NULL,
      PRIMARY KEY (block, holder)
    ) WITHOUT ROWID, STRICT;
    CREATE INDEX pin_holder ON pin (holder);
    CREATE TABLE loose (id INTEGER PRIMARY KEY, source INTEGER NOT NULL, name ANY NOT NULL) STRICT;
    CREATE TABLE unnamed (
      checksum INTEGER NOT NULL, size INTEGER NOT NULL, PRIMARY KEY (checksum, size)
    ) WITHOUT ROWID, STRICT;
    """

  static func create(_ database: Database) throws {
    try database.execute(sql: tables)
    try database.execute(sql: "PRAGMA application_id = \(applicationID)")
    try database.execute(sql: "PRAGMA user_version = \(version)")
  }
}
