import BothyStore
import GRDB
import struct Foundation.Data

/// The entries of indexes of fields, and the state of these indexes in the row of the space.
extension SQLiteServerStorage {
  /// Adds the table of entries and the columns of a space's indexes to a file without them. No index is built here.
  static func addFieldIndexes(to database: Database) throws {
    try database.execute(
      sql: """
        CREATE TABLE IF NOT EXISTS field_value (
          space TEXT NOT NULL, field INTEGER NOT NULL, key BLOB NOT NULL, id TEXT NOT NULL,
          PRIMARY KEY (space, field, key, id)
        ) STRICT, WITHOUT ROWID;
        """)
    let columns = try database.columns(in: "space").map(\.name)
    for (name, type) in [("indexes", "TEXT"), ("indexed", "INTEGER NOT NULL DEFAULT 0")]
    where !columns.contains(name) {
      try database.execute(sql: "ALTER TABLE space ADD COLUMN \(name) \(type)")
    }
  }

  /// Returns SQLite's plan for a statement, one line for each step, to check its use of indexes.
  package func plan(of sql: String) async throws -> [String] {
    try await database.read { database in
      let statement = try database.makeStatement(sql: "EXPLAIN QUERY PLAN \(sql)")
      // A plan needs no values.
      statement.setUncheckedArguments(StatementArguments())
      return try Row.fetchAll(statement).map { $0["detail"] }
    }
  }
}

extension SQLiteServerTransaction {
  func entries(in range: FieldEntryRange, after: FieldEntry?, descending: Bool, limit: Int) throws
    -> [FieldEntry]
  {
    let select = try PreparedStatement(
      descending ? FieldEntrySQL.backward : FieldEntrySQL.forward, in: database)
    select.bind(space, at: 1)
    select.bind(range.index, at: 2)
    select.bind(Data(after?.key ?? range.lower), at: 3)
    if descending {
      select.bind(Data(range.upper), at: 4)
      select.bind(Int64(limit), at: 5)
    } else {
      // No id is empty, so all of the first key come after this.
      select.bind(after?.id ?? "", at: 4)
      select.bind(Data(range.upper), at: 5)
      select.bind(Int64(limit), at: 6)
    }
    defer { select.reset() }
    var found: [FieldEntry] = []
    while try select.step() {
      found.append(
        FieldEntry(index: range.index, key: Array(select.data(at: 0)), id: select.text(at: 1) ?? ""))
    }
    return found
  }

  func entryCounts(in ranges: [FieldEntryRange], limit: Int) throws -> [Int] {
    let count = try PreparedStatement(FieldEntrySQL.count, in: database)
    return try ranges.map { range in
      count.bind(space, at: 1)
      count.bind(range.index, at: 2)
      count.bind(Data(range.lower), at: 3)
      count.bind(Data(range.upper), at: 4)
      count.bind(Int64(limit), at: 5)
      defer { count.reset() }
      return try count.step() ? Int(count.int(at: 0)) : 0
    }
  }

  func note(_ new: [FieldEntry], forgetting gone: [FieldEntry]) throws {
    let delete = try PreparedStatement(
      "DELETE FROM field_value WHERE space = ? AND field = ? AND key = ? AND id = ?", in: database)
    for entry in gone { try run(delete, entry) }
    let insert = try PreparedStatement("INSERT OR IGNORE INTO field_value VALUES (?, ?, ?, ?)", in: database)
    for entry in new { try run(insert, entry) }
  }

  private func run(_ statement: PreparedStatement, _ entry: FieldEntry) throws {
    statement.bind(space, at: 1)
    statement.bind(entry.index, at: 2)
    statement.bind(Data(entry.key), at: 3)
    statement.bind(entry.id, at: 4)
    try statement.run()
  }

  func setFieldIndexes(_ state: FieldIndexState) throws {
    let update = try PreparedStatement(
      "UPDATE space SET indexes = ?, indexed = ? WHERE name = ?", in: database)
    update.bind(state.text, at: 1)
    update.bind(state.position, at: 2)
    update.bind(space, at: 3)
    try update.run()
    fieldIndexes = state
  }
}
