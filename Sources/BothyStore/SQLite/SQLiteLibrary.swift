import CBothySQLite

/// Settings of SQLite that apply to the whole process.
package enum SQLiteLibrary {
  /// Zero (`SQLITE_OK`), unless SQLite was in use before.
  private static let code = bothy_sqlite_disable_memory_statistics()

  /// Disables SQLite's memory statistics, which take a lock of the process for each allocation. Call it before the
  /// first connection is opened. Later, or if the app has opened one, it has no effect.
  package static func prepare() { _ = code }
}
