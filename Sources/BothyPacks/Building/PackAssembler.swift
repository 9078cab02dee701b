internal import BothyStore
internal import Foundation
internal import GRDB

/// Writes the files of a pack from its staged rows.
///
/// Each file is filled in the order of the rows, indexed, and copied by `VACUUM INTO`. The copy has no free pages and
/// no traces of its creation.
struct PackAssembler {
  /// The `PRAGMA application_id` of a pack's files: "BPak" in ASCII.
  static let applicationID: Int64 = 0x4250_616B

  let builder: PackBuilder
  let rows: PackStaging
  let folder: String

  /// A file to write.
  private struct Plan {
    var file: Pack.Manifest.File
    var tables: [TypeTable]
    var field: String?
  }

  func run(_ progress: (PackBuilder.Progress) -> Void) throws -> Pack.Manifest {
    var contents: [Pack.Manifest.Contents] = []
    var plans = [
      Plan(file: Pack.Manifest.File(name: "index.sqlite", rows: 0, bytes: 0, sha256: ""), tables: [])
    ]
    var shards: [(table: TypeTable, field: String, shards: [PackStaging.Shard])] = []
    for table in rows.catalog.tables {
      let (name, count) = (table.schema.name, try rows.rows(of: table))
      let field = builder.shardBy[name]
      contents.append(Pack.Manifest.Contents(type: name, rows: count, shardedBy: field))
      guard let field else {
        plans[0].tables.append(table)
        plans[0].file.rows += count
        continue
      }
      let keys = try rows.shards(of: table)
      shards.append((table, field, keys))
      for (number, shard) in keys.enumerated() {
        let name = "\(name)-\((number + 1).padded(to: 4)).sqlite"
        let file = Pack.Manifest.File(
          name: name, type: table.schema.name, key: shard.key, rows: shard.rows, bytes: 0, sha256: "")
        plans.append(Plan(file: file, tables: [table], field: field))
      }
    }
    var manifest = Pack.Manifest(
      name: builder.name, version: builder.version, schema: builder.schema, contents: contents, files: [])
    for (number, plan) in plans.enumerated() {
      try Task.checkCancellation()
      manifest.files.append(
        try write(plan, fingerprint: manifest.fingerprint, maps: number == 0 ? shards : []))
      progress(.files(number + 1, of: plans.count))
    }
    try DurableFile.write(manifest.text, to: folder + "/" + Pack.Manifest.fileName)
    try DurableFile.sync(folder)
    return manifest
  }

  private func write(
    _ plan: Plan, fingerprint: String, maps: [(table: TypeTable, field: String, shards: [PackStaging.Shard])]
  ) throws -> Pack.Manifest.File {
    var file = plan.file
    let (draft, path) = (rows.path + "-draft", folder + "/" + plan.file.name)
    let queue = try DatabaseQueue(path: draft, configuration: PackStaging.configuration)
    // If this fails, the file is deleted later with its folder.
    defer { try? FileManager.default.removeItem(atPath: draft) }
    try queue.inDatabase { database in
      try database.execute(sql: "ATTACH ? AS staged", arguments: [rows.path])
      try database.execute(sql: "BEGIN")
      try database.execute(sql: "PRAGMA application_id = \(Self.applicationID)")
      try database.execute(sql: "PRAGMA user_version = \(Pack.Manifest.format)")
      let assembly = FileAssembly(database)
      try assembly.createTables(of: plan.tables.map(\.schema))
      for table in plan.tables { try copy(table, plan, database) }
      try assembly.createIndexes(of: plan.tables.map(\.schema))
      for map in maps { try write(map.table, map.field, map.shards, database) }
      try assembly.note(PackNote(file, fingerprint: fingerprint).text, as: "pack")
      try database.execute(sql: "COMMIT")
      try database.execute(sql: "VACUUM main INTO ?", arguments: [path])
    }
    try queue.close()
    try DurableFile.sync(path)
    file.bytes = try DurableFile.size(of: path)
    file.sha256 = try Checksum.sha256(ofFile: path)
    return file
  }

  private func copy(_ table: TypeTable, _ plan: Plan, _ database: Database) throws {
    let columns = (["_id"] + table.schema.fields.flatMap(\.columns)).map(\.quotedIdentifier).joined(
      separator: ", ")
    let condition = plan.field.map { " WHERE \($0.quotedIdentifier) IS ?" } ?? ""
    let statement = try PreparedStatement(
      unkept:
        "INSERT INTO main.\(table.name) (\(columns)) SELECT \(columns) FROM staged.\(table.name)\(condition) "
        + "ORDER BY rowid", in: database)
    if plan.field != nil { statement.bind(plan.file.key, at: 1) }
    try statement.run()
  }

  /// Writes the positions of the ids of a sharded type: the number of the shard, and the row within it, counted from 1.
  private func write(
    _ table: TypeTable, _ field: String, _ shards: [PackStaging.Shard], _ database: Database
  ) throws {
    let (map, column) = (ShardMap.table(of: table.schema.name), field.quotedIdentifier)
    try database.execute(
      sql: """
        CREATE TABLE main.\(map) (id TEXT PRIMARY KEY NOT NULL, shard INTEGER NOT NULL, row INTEGER NOT NULL) \
        STRICT, WITHOUT ROWID
        """)
    try database.execute(sql: "CREATE TEMP TABLE bothy_keys (shard INTEGER NOT NULL, key)")
    let insert = try PreparedStatement(unkept: "INSERT INTO temp.bothy_keys VALUES (?, ?)", in: database)
    for (number, shard) in shards.enumerated() {
      insert.bind(Int64(number), at: 1)
      insert.bind(shard.key, at: 2)
      try insert.run()
    }
    try database.execute(sql: "CREATE INDEX temp.bothy_keys_key ON bothy_keys (key)")
    try database.execute(
      sql: """
        INSERT INTO main.\(map) SELECT id, shard, row FROM (
        SELECT _id AS id, (SELECT shard FROM temp.bothy_keys WHERE key IS \(column)) AS shard,
        row_number() OVER (PARTITION BY \(column) ORDER BY rowid) AS row FROM staged.\(table.name)) ORDER BY id
        """)
    try database.execute(sql: "DROP TABLE temp.bothy_keys")
  }
}
