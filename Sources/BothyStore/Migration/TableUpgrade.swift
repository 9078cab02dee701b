import GRDB

/// Upgrades the tables of a recorder from an earlier version. Columns with a former name get the present one, and missing
/// ones are added with their defaults. Any other difference throws, and the file is left unchanged.
///
/// An opening that follows one with the same statements costs two look-ups.
struct TableUpgrade {
  let database: Database
  let recorder: any ChangeRecorder
  private static let key = "tables"

  /// Runs the statements that create the tables, unless the noted state is the present one. Each is safe to run again.
  func run() throws {
    guard try noted() != state() else { return }
    let (statements, former) = (recorder.tables, recorder.formerColumns)
    for (table, columns) in try wanted(by: statements) {
      try rename(former, in: table, to: columns)
      let stored = try Self.columns(of: table, in: database)
      if stored != columns { try upgrade(table, from: stored, to: columns) }
    }
    for statement in statements { try database.execute(sql: statement) }
  }

  /// Returns the columns that the statements give those tables that exist. They run in a database in memory, unless the
  /// file is new.
  private func wanted(by statements: [String]) throws -> [(table: String, columns: [Column])] {
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    let present = Set(try String.fetchAll(database, sql: tables))
    guard !present.isEmpty else { return [] }
    return try DatabaseQueue().write { model in
      for statement in statements { try model.execute(sql: statement) }
      return try String.fetchAll(model, sql: tables).filter { present.contains($0) }
        .map { ($0, try Self.columns(of: $0, in: model)) }
    }
  }

  /// Notes the state that `run` need not look at again. Called after the last change of the file's tables.
  func note() throws {
    let state = try state()
    guard try noted() != state else { return }
    try Format.note(state, as: Self.key, in: database)
  }

  /// A hash of the statements, and of the SQL of all tables and indexes of the file.
  private func state() throws -> String {
    let present = try String.fetchOne(
      database, sql: "SELECT group_concat(coalesce(sql, name), ';') FROM sqlite_master")
    return String(ReplacedFields.hash(of: .list(recorder.tables + [present ?? ""])))
  }

  private func noted() throws -> String? { try Format.noted(Self.key, in: database) }

  private struct Column: Equatable, Sendable {
    var name: String
    var type: String
    var isRequired: Bool
    var defaultSQL: String?
    var keyPosition: Int
  }

  /// Renames the columns of a table that still have their former names. A table with both names is left to `upgrade`.
  private func rename(_ former: [String: String], in table: String, to wanted: [Column]) throws {
    let stored = Set(try Self.columns(of: table, in: database).map(\.name))
    for name in wanted.map(\.name) where !stored.contains(name) {
      guard let before = former[name], stored.contains(before) else { continue }
      try database.execute(
        sql:
          "ALTER TABLE \(table.quotedIdentifier) RENAME COLUMN \(before.quotedIdentifier) TO \(name.quotedIdentifier)"
      )
    }
  }

  private func upgrade(_ table: String, from stored: [Column], to wanted: [Column]) throws {
    for column in wanted {
      if let before = stored.first(where: { $0.name == column.name }) {
        guard before.type == column.type, before.keyPosition == column.keyPosition else {
          throw Self.unreadable("\(table).\(column.name) has another form")
        }
        continue
      }
      guard column.keyPosition == 0, !column.isRequired || column.defaultSQL != nil else {
        throw Self.unreadable("\(table).\(column.name) is missing")
      }
      var definition = "\(column.name.quotedIdentifier) \(column.type)"
      if column.isRequired { definition += " NOT NULL" }
      if let value = column.defaultSQL { definition += " DEFAULT \(value)" }
      try database.execute(sql: "ALTER TABLE \(table.quotedIdentifier) ADD COLUMN \(definition)")
    }
    if let stray = stored.first(where: { column in !wanted.contains { $0.name == column.name } }) {
      throw Self.unreadable("\(table).\(stray.name) is unknown to this version")
    }
  }

  private static func columns(of table: String, in database: Database) throws -> [Column] {
    try Row.fetchAll(database, sql: "PRAGMA table_info(\(table.quotedIdentifier))").map { row in
      Column(
        name: row["name"], type: row["type"], isRequired: row["notnull"], defaultSQL: row["dflt_value"],
        keyPosition: row["pk"])
    }
  }

  private static func unreadable(_ reason: String) -> BothyError {
    BothyError(
      .newerFile,
      "The file keeps its pending work in a form that this version of Bothy can't read: \(reason). Open it with the "
        + "version that wrote it, and sync; the file was left as it is.")
  }
}
