import CBothySQLite

/// Settings of SQLite that hold for the whole process.
package enum SQLiteLibrary {
  /// Zero (`SQLITE_OK`), unless SQLite was in use before.
  private static let code = bothy_sqlite_disable_memory_statistics()

  /// Switches SQLite's memory statistics off, which take a lock of the process for each allocation. To be called before
  /// the first connection is opened; later, or where the app has opened one, it changes nothing.
  package static func prepare() { _ = code }
}
