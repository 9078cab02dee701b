import BothyStore

/// Looks at a database from outside of any ledger: what is in its catalogue, who is connected.
package enum PostgresCatalogue {
  /// The rows of a statement, all columns text or names, in one session of its own.
  package static func rows(_ address: String, _ sql: String) throws -> [[String]] {
    do {
      let rows = try PostgresConnection(to: address).run(.command(sql))
      return (0..<rows.count).map { row in (0..<rows.columnCount).map { rows.text(row, $0) ?? "" } }
    } catch { throw error.storeError }
  }
}
