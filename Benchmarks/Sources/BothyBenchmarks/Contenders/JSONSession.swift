import Foundation
import GRDBSQLite

/// Returns a session with a JSON document per row. It uses Foundation's coders, SQLite's C API, `json_extract` for
/// queries, and an index on an expression.
func jsonSession(_ data: Dataset, _ path: String) throws -> Session {
  let connection = try Connection(
    path,
    schema: """
      CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, doc TEXT NOT NULL) STRICT;
      CREATE TABLE indexed (id TEXT PRIMARY KEY NOT NULL, doc TEXT NOT NULL) STRICT;
      CREATE INDEX indexed_count ON indexed (json_extract(doc, '$.count'));
      """)
  let begin = try connection.prepare("BEGIN IMMEDIATE")
  let commit = try connection.prepare("COMMIT")
  let insert = try connection.prepare("INSERT INTO item VALUES (?, ?)")
  let insertIndexed = try connection.prepare("INSERT INTO indexed VALUES (?, ?)")
  let update = try connection.prepare("UPDATE item SET doc = ?2 WHERE id = ?1")
  let delete = try connection.prepare("DELETE FROM item WHERE id = ?")
  let select = try connection.prepare("SELECT doc FROM item WHERE id = ?")
  let scan = try connection.prepare("SELECT doc FROM item")
  let condition = """
    WHERE json_extract(doc, '$.count') >= ? AND json_extract(doc, '$.count') < ?
    ORDER BY json_extract(doc, '$.name'), id
    """
  let query = try connection.prepare("SELECT doc FROM item \(condition)")
  let queryIndexed = try connection.prepare("SELECT doc FROM indexed \(condition)")
  let encoder = JSONEncoder()
  encoder.dateEncodingStrategy = .millisecondsSince1970
  let decoder = JSONDecoder()
  decoder.dateDecodingStrategy = .millisecondsSince1970

  func write(_ items: [Item], by statement: OpaquePointer) throws -> Int {
    try begin.runOnce()
    for item in items {
      statement.bind(item.id, 1)
      statement.bind(String(decoding: try encoder.encode(Document(item)), as: UTF8.self), 2)
      try statement.runOnce()
    }
    try commit.runOnce()
    return items.count
  }
  func collect(_ statement: OpaquePointer) throws -> Int {
    defer { sqlite3_reset(statement) }
    var documents: [Document] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      documents.append(try decoder.decode(Document.self, from: Data(statement.text(0).utf8)))
    }
    return documents.count
  }
  func read(_ item: Item) throws -> Int {
    select.bind(item.id, 1)
    return try collect(select)
  }
  func ask(_ statement: OpaquePointer) throws -> Int {
    sqlite3_bind_int64(statement, 1, Int64(data.range.lowerBound))
    sqlite3_bind_int64(statement, 2, Int64(data.range.upperBound))
    return try collect(statement)
  }
  return Session(
    insert: { try write(data.items, by: insert) },
    fillIndexed: { try write(data.items, by: insertIndexed) },
    insertEach: { try data.singles.reduce(0) { try $0 + write([$1], by: insert) } },
    readAll: {
      try connection.run("BEGIN")
      let found = try data.shuffled.reduce(0) { try $0 + read($1) }
      try commit.runOnce()
      return found
    },
    readOne: { try data.updates.reduce(0) { try $0 + read($1) } },
    scan: { try collect(scan) },
    query: { try ask(query) },
    queryIndexed: { try ask(queryIndexed) },
    update: { try write(data.updates, by: update) },
    delete: {
      try begin.runOnce()
      for item in data.deletions {
        delete.bind(item.id, 1)
        try delete.runOnce()
      }
      try commit.runOnce()
      return data.deletions.count
    },
    close: { connection.close() })
}

private struct Document: Codable {
  var id: String
  var name: String
  var count: Int
  var price: Double
  var active: Bool
  var created: Date
  var note: String?

  init(_ item: Item) {
    id = item.id
    name = item.name
    count = item.count
    price = item.price
    active = item.active
    created = item.created
    note = item.note
  }
}
