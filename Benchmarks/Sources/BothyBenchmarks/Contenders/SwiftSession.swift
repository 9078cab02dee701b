import Foundation
import GRDBSQLite

/// Returns a session of hand-written Swift on SQLite's C API, with reused statements, and with binds and column reads
/// by hand.
func swiftSession(_ data: Dataset, _ path: String) throws -> Session {
  let columns = """
    (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL, price REAL NOT NULL,
    active INTEGER NOT NULL, created INTEGER NOT NULL, note TEXT) STRICT
    """
  let connection = try Connection(
    path,
    schema: "CREATE TABLE item \(columns); CREATE TABLE indexed \(columns); "
      + "CREATE INDEX indexed_count ON indexed (count);")
  let begin = try connection.prepare("BEGIN IMMEDIATE")
  let commit = try connection.prepare("COMMIT")
  let insert = try connection.prepare("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?)")
  let insertIndexed = try connection.prepare("INSERT INTO indexed VALUES (?, ?, ?, ?, ?, ?, ?)")
  let update = try connection.prepare(
    "UPDATE item SET name = ?2, count = ?3, price = ?4, active = ?5, created = ?6, note = ?7 WHERE id = ?1")
  let delete = try connection.prepare("DELETE FROM item WHERE id = ?")
  let all = "SELECT id, name, count, price, active, created, note FROM"
  let select = try connection.prepare("\(all) item WHERE id = ?")
  let scan = try connection.prepare("\(all) item")
  let condition = "WHERE count >= ? AND count < ? ORDER BY name, id"
  let query = try connection.prepare("\(all) item \(condition)")
  let queryIndexed = try connection.prepare("\(all) indexed \(condition)")

  func inTransaction(_ items: [Item], _ body: (Item) throws -> Void) throws -> Int {
    try begin.runOnce()
    for item in items { try body(item) }
    try commit.runOnce()
    return items.count
  }
  func write(_ items: [Item], by statement: OpaquePointer) throws -> Int {
    try inTransaction(items) {
      bind($0, statement)
      try statement.runOnce()
    }
  }
  func read(_ id: String) -> Item? {
    select.bind(id, 1)
    defer { sqlite3_reset(select) }
    return sqlite3_step(select) == SQLITE_ROW ? item(select) : nil
  }
  func ask(_ statement: OpaquePointer) -> Int {
    sqlite3_bind_int64(statement, 1, Int64(data.range.lowerBound))
    sqlite3_bind_int64(statement, 2, Int64(data.range.upperBound))
    return collect(statement).count
  }
  return Session(
    insert: { try write(data.items, by: insert) },
    fillIndexed: { try write(data.items, by: insertIndexed) },
    insertEach: { try data.singles.reduce(0) { try $0 + write([$1], by: insert) } },
    readAll: {
      try connection.run("BEGIN")
      let found = data.shuffled.reduce(0) { read($1.id) == nil ? $0 : $0 + 1 }
      try commit.runOnce()
      return found
    },
    readOne: { data.updates.reduce(0) { read($1.id) == nil ? $0 : $0 + 1 } },
    scan: { collect(scan).count },
    query: { ask(query) },
    queryIndexed: { ask(queryIndexed) },
    update: { try write(data.updates, by: update) },
    delete: {
      try inTransaction(data.deletions) {
        delete.bind($0.id, 1)
        try delete.runOnce()
      }
    },
    close: { connection.close() })
}

private func bind(_ item: Item, _ statement: OpaquePointer) {
  statement.bind(item.id, 1)
  statement.bind(item.name, 2)
  sqlite3_bind_int64(statement, 3, Int64(item.count))
  sqlite3_bind_double(statement, 4, item.price)
  sqlite3_bind_int64(statement, 5, item.active ? 1 : 0)
  sqlite3_bind_int64(statement, 6, Int64((item.created.timeIntervalSince1970 * 1000).rounded()))
  if let note = item.note { statement.bind(note, 7) } else { sqlite3_bind_null(statement, 7) }
}

private func item(_ row: OpaquePointer) -> Item {
  Item(
    id: row.text(0), name: row.text(1), count: Int(sqlite3_column_int64(row, 2)),
    price: sqlite3_column_double(row, 3), active: sqlite3_column_int64(row, 4) != 0,
    created: Date(timeIntervalSince1970: Double(sqlite3_column_int64(row, 5)) / 1000),
    note: sqlite3_column_type(row, 6) == SQLITE_NULL ? nil : row.text(6))
}

private func collect(_ statement: OpaquePointer) -> [Item] {
  var items: [Item] = []
  while sqlite3_step(statement) == SQLITE_ROW { items.append(item(statement)) }
  sqlite3_reset(statement)
  return items
}
