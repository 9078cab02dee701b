import GRDB

/// The stored natural sort keys of one field of text: a column of the type's table, its index, and the triggers that
/// fill it.
///
/// Triggers, so that the keys follow every writer of the table, also the steps of a migration. `NaturalOrder` makes
/// them.
struct NaturalIndex {
  /// The name of the column.
  let column: String
  /// The name of the index. The parenthesis separates it from the names of other indexes.
  private let name: String
  private let type: String
  private let field: String

  /// Creates the description. Nil for a field without stored keys.
  init?(_ field: FieldSchema, of type: TypeSchema) {
    guard field.isNatural else { return nil }
    (self.type, self.field) = (type.name, field.name)
    column = SortKey.naturalColumn(field.name)
    name = Self.prefix(type.name) + field.name + ")"
  }

  private static func prefix(_ type: String) -> String { "bothy_natural(\(type)." }

  private static let events = ["insert", "update"]

  private func trigger(_ event: String) -> String { "\(name)_\(event)" }

  /// The names of the index and the triggers.
  var names: [String] { [name] + Self.events.map(trigger) }

  /// Creates the index with the keys of the existing rows, and the triggers that maintain it. Writes the rows whose
  /// keys differ.
  func create(in database: Database) throws {
    let (table, key, text) = (type.quotedIdentifier, column.quotedIdentifier, field.quotedIdentifier)
    if try !database.columns(in: type).contains(where: { $0.name == column }) {
      try database.execute(sql: "ALTER TABLE \(table) ADD COLUMN \(key) TEXT")
    }
    try database.execute(sql: "UPDATE \(table) SET \(key) = bothy_natural(\(text)) WHERE \(differs)")
    for (event, verb, condition) in [
      ("insert", "INSERT", "new.\(text) IS NOT NULL"),
      ("update", "UPDATE OF \(text)", "old.\(text) IS NOT new.\(text)"),
    ] {
      try database.execute(
        sql: """
          CREATE TRIGGER \(trigger(event).quotedIdentifier) AFTER \(verb) ON \(table) WHEN \(condition) BEGIN
          UPDATE \(table) SET \(key) = bothy_natural(new.\(text)) WHERE rowid = new.rowid; END
          """)
    }
    try database.execute(sql: "CREATE INDEX \(name.quotedIdentifier) ON \(table) (\(key))")
  }

  private var differs: String {
    "\(column.quotedIdentifier) IS NOT bothy_natural(\(field.quotedIdentifier))"
  }

  /// Returns the number of rows with another key than that of their text. Reads the table.
  func differences(in database: Database) throws -> Int {
    let sql = "SELECT count(*) FROM \(type.quotedIdentifier) WHERE \(differs)"
    return try Int.fetchOne(database, sql: sql) ?? 0
  }

  /// Drops every such trigger that the file has for a type, whatever the schema declares.
  static func dropTriggers(of type: String, in database: Database) throws {
    let found = try String.fetchAll(
      database,
      sql: "SELECT name FROM sqlite_master WHERE type = 'trigger' AND substr(name, 1, length(?1)) = ?1",
      arguments: [prefix(type)])
    for name in found { try database.execute(sql: "DROP TRIGGER \(name.quotedIdentifier)") }
  }

  /// Drops the columns of keys that the type doesn't declare. No trigger or index may use them.
  static func dropStrayColumns(of type: TypeSchema, in database: Database) throws {
    let wanted = Set(type.naturalIndexes.map(\.column))
    for column in try database.columns(in: type.name).map(\.name)
    where column.hasPrefix(SortKey.naturalColumn("")) && !wanted.contains(column) {
      try database.execute(
        sql: "ALTER TABLE \(type.name.quotedIdentifier) DROP COLUMN \(column.quotedIdentifier)")
    }
  }
}

extension TypeSchema {
  /// The natural sort keys of its fields.
  var naturalIndexes: [NaturalIndex] { fields.compactMap { NaturalIndex($0, of: self) } }
}
