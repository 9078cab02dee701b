package import BothyStore
import GRDB

/// Reads and writes the table `bothy_settings`: one row a group, by its name.
package enum SettingsTable {
  private static let creation = """
    CREATE TABLE IF NOT EXISTS bothy_settings (
      name TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL, generation INTEGER NOT NULL, writer TEXT NOT NULL,
      schema TEXT NOT NULL, content TEXT NOT NULL) STRICT, WITHOUT ROWID
    """

  /// Returns the row of a group, or nil if it doesn't exist. One look-up by primary key.
  ///
  /// With `shape`, the stored schema isn't parsed if it is equal to the shape's.
  package static func row(
    _ name: String, in transaction: ReadTransaction, known shape: GroupLayout? = nil
  ) throws -> SettingsRow? {
    guard try isThere(transaction) else { return nil }
    let select = try PreparedStatement(
      "SELECT version, generation, writer, schema, content FROM bothy_settings WHERE name = ?",
      in: transaction.database)
    select.bind(name, at: 1)
    defer { select.reset() }
    guard try select.step() else { return nil }
    return try SettingsRow(
      name: name, version: Int(select.int(at: 0)), generation: select.int(at: 1),
      writer: select.text(at: 2) ?? "", schema: select.text(at: 3) ?? "", content: select.text(at: 4) ?? "",
      known: shape)
  }

  /// The names of the stored groups, in order.
  package static func names(in transaction: ReadTransaction) throws -> [String] {
    guard try isThere(transaction) else { return [] }
    return try String.fetchAll(transaction.database, sql: "SELECT name FROM bothy_settings ORDER BY name")
  }

  /// Queries the file itself, because GRDB's schema cache can contain a table whose creation was rolled back.
  private static func isThere(_ transaction: ReadTransaction) throws -> Bool {
    let select = try PreparedStatement(
      "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'bothy_settings'",
      in: transaction.database)
    defer { select.reset() }
    return try select.step()
  }

  /// Inserts or updates a row, and notifies observers.
  static func write(_ row: SettingsRow, _ shape: GroupLayout, in transaction: WriteTransaction) throws {
    if try !isThere(transaction) {
      try transaction.database.execute(sql: creation)
    }
    let upsert = try PreparedStatement(
      """
      INSERT INTO bothy_settings VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(name) DO UPDATE SET version = excluded.version,
      generation = excluded.generation, writer = excluded.writer, schema = excluded.schema, content = excluded.content
      """, in: transaction.database)
    upsert.bind(row.name, at: 1)
    upsert.bind(Int64(row.version), at: 2)
    upsert.bind(row.generation, at: 3)
    upsert.bind(row.writer, at: 4)
    upsert.bind(row.document(shape), at: 5)
    upsert.bind(row.content, at: 6)
    try upsert.run()
    transaction.touchSettings()
  }
}
