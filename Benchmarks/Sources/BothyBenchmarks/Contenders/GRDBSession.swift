import Foundation
import GRDB

/// Returns a session of GRDB's Codable records on a pool, like its documentation shows. Dates are stored as numbers,
/// which is faster than the default text.
func grdbSession(_ data: Dataset, _ path: String) throws -> Session {
  var configuration = Configuration()
  configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -8192") }
  let pool = try DatabasePool(path: path, configuration: configuration)
  try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
  try pool.write { database in
    for table in ["item", "indexed"] {
      try database.execute(
        sql: """
          CREATE TABLE \(table) (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL,
          price REAL NOT NULL, active INTEGER NOT NULL, created TEXT NOT NULL, note TEXT) STRICT
          """)
    }
    try database.execute(sql: "CREATE INDEX indexed_count ON indexed (count)")
  }
  let items = data.items.map(PlainRecord.init)
  let indexed = data.items.map(IndexedRecord.init)
  let singles = data.singles.map(PlainRecord.init)
  let updates = data.updates.map(PlainRecord.init)
  let count = Column("count")
  let name = Column("name")
  let id = Column("id")
  let condition = count >= data.range.lowerBound && count < data.range.upperBound
  return Session(
    insert: {
      try pool.write { database in for item in items { try item.insert(database) } }
      return items.count
    },
    fillIndexed: {
      try pool.write { database in for item in indexed { try item.insert(database) } }
      return indexed.count
    },
    insertEach: {
      for item in singles { try pool.write { try item.insert($0) } }
      return singles.count
    },
    readAll: {
      try pool.read { database in
        try data.shuffled.reduce(0) { try PlainRecord.fetchOne(database, key: $1.id) == nil ? $0 : $0 + 1 }
      }
    },
    readOne: {
      try data.updates.reduce(0) { found, item in
        try pool.read { try PlainRecord.fetchOne($0, key: item.id) } == nil ? found : found + 1
      }
    },
    scan: { try pool.read { try PlainRecord.fetchAll($0).count } },
    query: { try pool.read { try PlainRecord.filter(condition).order(name, id).fetchAll($0).count } },
    queryIndexed: {
      try pool.read { try IndexedRecord.filter(condition).order(name, id).fetchAll($0).count }
    },
    update: {
      try pool.write { database in for item in updates { try item.update(database) } }
      return updates.count
    },
    delete: {
      try pool.write { database in
        try data.deletions.reduce(0) { try PlainRecord.deleteOne(database, key: $1.id) ? $0 + 1 : $0 }
      }
    },
    close: { try pool.close() })
}

private struct PlainRecord: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "item"
  static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
    .deferredToDate
  }
  static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
    .deferredToDate
  }
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

private struct IndexedRecord: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "indexed"
  static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
    .deferredToDate
  }
  static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
    .deferredToDate
  }
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
