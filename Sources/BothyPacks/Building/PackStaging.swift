internal import BothyStore
internal import Foundation
internal import GRDB

/// The rows of a pack in one temporary file, in the order they were added, before they are written to the pack's files.
/// So neither the rows nor the files must fit in memory.
struct PackStaging {
  let path: String
  let catalog: Catalog
  private let queue: DatabaseQueue
  private let shardBy: [String: String]

  /// A value by which rows are split, and the number of its rows.
  struct Shard {
    var key: FieldValue
    var rows: Int
  }

  init(at path: String, _ schema: StoreSchema, _ shardBy: [String: String]) throws {
    self.path = path
    self.shardBy = shardBy
    catalog = Catalog(schema)
    queue = try DurableFile.writing(path) {
      let queue = try DatabaseQueue(path: path, configuration: Self.configuration)
      try queue.inDatabase { try FileAssembly($0).createTables(of: schema.types) }
      return queue
    }
  }

  /// The settings of the database. A file that is deleted after any error needs no journal.
  static var configuration: Configuration {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    // An error in between leaves a transaction open, and the file is deleted.
    configuration.allowsUnsafeTransactions = true
    configuration.label = "bothy.pack.build"
    configuration.prepareDatabase { database in
      try database.execute(
        sql:
          "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -8192"
      )
      QueryFunctions.install(in: database)
      try WordTokenizer.install(in: database)
    }
    return configuration
  }

  /// Adds the rows from `body`, then indexes those of sharded types.
  func fill(_ body: (PackBuilder.Writer) throws -> Void) throws {
    try queue.inDatabase { database in
      try database.execute(sql: "BEGIN")
      try body(PackBuilder.Writer(database, catalog, path: path))
      try DurableFile.writing(path) { try finish(database) }
    }
  }

  private func finish(_ database: Database) throws {
    for table in catalog.tables {
      guard let field = shardBy[table.schema.name] else { continue }
      let index = "bothy_shards_\(table.schema.name)".quotedIdentifier
      try database.execute(sql: "CREATE INDEX \(index) ON \(table.name) (\(field.quotedIdentifier))")
    }
    try database.execute(sql: "COMMIT")
  }

  func rows(of table: TypeTable) throws -> Int {
    try queue.inDatabase { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table.name)") ?? 0 }
  }

  /// Returns the shards of a type in the order of their keys. Throws `BothyError` `invalidInput` for too many.
  func shards(of table: TypeTable) throws -> [Shard] {
    guard let field = shardBy[table.schema.name].flatMap({ table.schema[$0] }) else { return [] }
    let column = field.name.quotedIdentifier
    let shards = try queue.inDatabase { database -> [Shard] in
      let statement = try PreparedStatement(
        unkept: "SELECT count(*), \(column) FROM \(table.name) GROUP BY \(column) ORDER BY \(column)",
        in: database)
      var shards: [Shard] = []
      while try statement.step(), shards.count <= PackBuilder.mostShards {
        var decoder = FieldDecoder(row: statement.pointer, from: 1, type: table.schema.name)
        shards.append(Shard(key: try decoder.value(field.kind), rows: Int(statement.int(at: 0))))
      }
      return shards
    }
    guard shards.count <= PackBuilder.mostShards else {
      throw BothyError(
        .invalidInput,
        "\(table.schema.name).\(field.name) has more than \(PackBuilder.mostShards) different values, each of which "
          + "needs a file. Split by a field with fewer, or index this one.")
    }
    return shards
  }

  func close() throws { try queue.close() }
}
