import GRDB

/// The whole index of list references, `bothy_link`: its expected contents, and how to rebuild them.
///
/// Single writes keep it up to date (`WriteTransaction+References.swift`).
struct LinkIndex {
  let database: Database

  /// Rebuilds the index of one field from the lists in its table. Does nothing for other kinds of fields.
  func rebuild(type: String, field: FieldSchema) throws {
    guard case .references(let target, _) = field.kind else { return }
    try remove(type: type, field: field.name)
    try database.execute(
      sql: """
        INSERT OR IGNORE INTO bothy_link (target_type, target, owner_type, field, owner)
        SELECT ?, target, ?, ?, owner FROM (\(Self.expected(type: type, field: field)))
        """, arguments: [target, type, field.name])
  }

  /// Removes the entries of one field. Reads the whole index.
  func remove(type: String, field: String) throws {
    try database.execute(
      sql: "DELETE FROM bothy_link WHERE owner_type = ? AND field = ?", arguments: [type, field])
  }

  /// Returns the number of entries that are missing, and of those without a list behind them.
  func differences(type: String, field: FieldSchema) throws -> (missing: Int, dangling: Int) {
    guard case .references(let target, _) = field.kind else { return (0, 0) }
    let expected = Self.expected(type: type, field: field)
    let stored = "SELECT target, owner FROM bothy_link WHERE target_type = ? AND owner_type = ? AND field = ?"
    let arguments: StatementArguments = [target, type, field.name]
    let missing = "SELECT count(*) FROM (SELECT * FROM (\(expected)) EXCEPT \(stored))"
    let dangling = "SELECT count(*) FROM (\(stored) EXCEPT SELECT * FROM (\(expected)))"
    return (
      try Int.fetchOne(database, sql: missing, arguments: arguments) ?? 0,
      try Int.fetchOne(database, sql: dangling, arguments: arguments) ?? 0
    )
  }

  private static func expected(type: String, field: FieldSchema) -> String {
    let (table, column) = (type.quotedIdentifier, field.name.quotedIdentifier)
    return """
      SELECT list.value AS target, row._id AS owner FROM \(table) AS row, json_each(row.\(column)) AS list
      WHERE json_valid(row.\(column))
      """
  }
}
