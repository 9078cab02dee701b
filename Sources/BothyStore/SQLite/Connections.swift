import Foundation
package import GRDB

/// The connections of one store: a serial writer, a pool of snapshot readers, and one connection for single look-ups.
///
/// The last one exists because a pool read costs 20 µs before it reads anything, and a look-up by id 5 µs.
package struct Connections: Sendable {
  package let writer: ClosableDatabase
  private let lookups: ClosableDatabase
  /// Nil for a store in memory, which no other process has open.
  let schemaCheck: SchemaCheck?
  let commits: CommitMoment
  /// True if one connection does everything.
  var isInMemory: Bool { lookups === writer }

  /// Opens or creates the file at `path`. Throws `BothyError`. A file of a newer format or schema, or of another
  /// program, is refused before it is opened for writing.
  init(path: String, schemaVersion: Int, options: StoreOptions) throws(BothyError) {
    do {
      self = try Self.waiting(for: path, atMost: options.busyTimeout) {
        try Connections(opening: path, schemaVersion: schemaVersion, options: options)
      }
    } catch { throw BothyError(error, path: path) }
  }

  private init(opening path: String, schemaVersion: Int, options: StoreOptions) throws(BothyError) {
    do {
      if options.damagedFile == .setAside { try DamagedFile.rejoin(path) }
      let isSuspect = options.damagedFile == .setAside && DamagedFile.isSuspect(path)
      try Self.inspect(path, schemaVersion: schemaVersion)
      schemaCheck = SchemaCheck(path: path, version: schemaVersion)
      let commits = CommitMoment()
      self.commits = commits
      var writing = Self.configuration(options)
      // The connections keep the object by this closure. Those that only read make no commit.
      writing.prepareDatabase { commits.follow($0) }
      let pool = try DatabasePool(path: path, configuration: writing)
      if options.durability == .full {
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
      }
      writer = ClosableDatabase(pool)
      var readOnly = Self.configuration(options)
      readOnly.readonly = true
      lookups = ClosableDatabase(try DatabaseQueue(path: path, configuration: readOnly))
      if isSuspect {
        do {
          try DamagedFile.check(pool, path)
          try DamagedFile.trust(path)
        } catch {
          try close()
          throw error
        }
      }
    } catch {
      let known = BothyError(error, path: path)
      let isDamaged = known.code == .corrupt || DamagedFile.hasLostHeader(path, known)
      throw isDamaged && options.damagedFile == .setAside ? DamagedFile.setAside(path, known) : known
    }
  }

  /// Creates a database in memory, which is deleted with the store.
  init(inMemory options: StoreOptions) throws(BothyError) {
    do {
      writer = ClosableDatabase(try DatabaseQueue(configuration: Self.configuration(options)))
      lookups = writer
      schemaCheck = nil
      commits = CommitMoment()
    } catch {
      throw BothyError(error, path: ":memory:")
    }
  }

  /// Runs one look-up on its connection, outside any transaction. A single statement is its own snapshot. While it is on
  /// a row, `body` checks the schema. Here that is done if it fails, because a newer schema may lack its columns.
  package func lookUp<Result>(_ body: (Database) throws -> Result) throws -> Result {
    try lookups.writeWithoutTransaction { database in
      do { return try body(database) } catch {
        try schemaCheck?.run(in: database)
        throw error
      }
    }
  }

  func close() throws {
    try lookups.close()
    try writer.close()
  }

  static func configuration(_ options: StoreOptions) -> Configuration {
    SQLiteLibrary.prepare()
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    configuration.maximumReaderCount = options.readers
    configuration.busyMode = .timeout(options.busyTimeout / .seconds(1))
    configuration.label = "bothy"
    let pages = options.cacheSize / 1024
    configuration.prepareDatabase { database in
      try database.execute(sql: "PRAGMA cache_size = -\(pages)")
      QueryFunctions.install(in: database)
      try WordTokenizer.install(in: database)
    }
    return configuration
  }

  /// Checks the marks of an existing file with a read-only connection.
  private static func inspect(_ path: String, schemaVersion: Int) throws {
    // An absent file has no attributes.
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    if attributes?[.type] as? FileAttributeType == .typeDirectory {
      throw BothyError(.cannotOpen, "\(path) is a folder. Give the path of a file in it.")
    }
    guard let size = attributes?[.size] as? Int64, size > 0 else { return }
    try reading(path, atMost: .zero) { database in
      let application = try Int64.fetchOne(database, sql: "PRAGMA application_id") ?? 0
      let version = try Int64.fetchOne(database, sql: "PRAGMA user_version") ?? 0
      let tables = try Int64.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0
      if application != Format.applicationID && tables > 0 {
        throw BothyError(
          .notADatabase,
          "\(path) is a SQLite database of another program. Choose another path; the file was left as it is.")
      }
      if version > Format.version {
        throw BothyError(
          .newerFile,
          "\(path) has format \(version); this version of Bothy knows up to \(Format.version). Update Bothy; "
            + "the file was left as it is.")
      }
      try checkSchema(database, knowing: schemaVersion, path)
    }
  }

  /// Throws `.newerFile` if the file has a higher version of the schema than the app knows.
  static func checkSchema(_ database: Database, knowing version: Int, _ path: String) throws {
    guard try database.tableExists("bothy_meta") else { return }
    let stored = try Int.fetchOne(
      database, sql: "SELECT json_extract(value, '$.version') FROM bothy_meta WHERE key = 'schema'")
    if let stored, stored > version {
      throw BothyError(
        .newerFile,
        "\(path) was written by a newer version of the app (schema \(stored), this app knows \(version)). "
          + "Update the app; the file was left as it is.")
    }
  }
}
