import BothyStore

/// Reads the catalog and the sessions of a database, independent of any storage.
package enum PostgresCatalogue {
  /// Returns the rows of a statement whose columns are all texts or names, in a session of its own.
  package static func rows(_ address: String, _ sql: String) throws -> [[String]] {
    do {
      let rows = try PostgresConnection(to: address).run(.command(sql))
      return (0..<rows.count).map { row in (0..<rows.columnCount).map { rows.text(row, $0) ?? "" } }
    } catch { throw error.storeError }
  }
}
