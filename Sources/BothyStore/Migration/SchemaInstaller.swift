import Foundation
import GRDB

/// Converts the tables of an open database to a schema, in one transaction. Runs the SQL. `SchemaChange` decides which
/// changes are compatible.
struct SchemaInstaller {
  let database: Database

  /// Returns the schema stored in the file, or nil for an empty file.
  static func stored(in database: Database) throws -> StoreSchema? {
    try Format.noted("schema", in: database).map { try StoreSchema(json: $0) }
  }

  func installFormat() throws {
    try database.execute(sql: Format.metaSQL)
    try database.execute(sql: Format.linkSQL)
    try database.execute(sql: "PRAGMA application_id = \(Format.applicationID)")
    try database.execute(sql: "PRAGMA user_version = \(Format.version)")
  }

  func save(_ schema: StoreSchema) throws {
    try Format.note(schema.json.canonicalText, as: "schema", in: database)
    // Raises SQLite's number of the tables, by which open stores notice a schema that changes none. Only a change of the
    // tables does that. SQLite warns that setting `PRAGMA schema_version` can corrupt a file, and `user_version` is the
    // number of the format, by which older versions of Bothy refuse a file.
    try database.execute(sql: "CREATE VIEW bothy_saved AS SELECT 1; DROP VIEW bothy_saved")
  }

  func create(_ type: TypeSchema) throws {
    try createTable(of: type)
    try createIndexes(of: type)
  }

  func createTable(of type: TypeSchema) throws {
    var columns = ["_id TEXT PRIMARY KEY NOT NULL"]
    for field in type.fields { columns += Self.definitions(of: field) }
    if type.isSynced { columns += TypeTable.systemColumns.map { "\($0.name) \($0.type)" } }
    try database.execute(
      sql: "CREATE TABLE \(type.name.quotedIdentifier) (\(columns.joined(separator: ", "))) STRICT")
  }

  /// Adds a field's columns. Existing rows get the default value.
  func add(_ field: FieldSchema, to type: TypeSchema) throws {
    let table = type.name.quotedIdentifier
    for definition in Self.definitions(of: field) {
      try database.execute(sql: "ALTER TABLE \(table) ADD COLUMN \(definition)")
    }
    try markMissing(field, of: type)
    try fill(field, of: type, onlyNull: false)
  }

  /// Marks each row with a version from the server as having no value in the field. The default that fills it then
  /// doesn't count as a change of the record.
  func markMissing(_ field: FieldSchema, of type: TypeSchema) throws {
    guard type.isSynced, !field.isOptional, field.defaultValue != nil, let column = field.columns.first else {
      return
    }
    try database.execute(
      sql: """
        UPDATE \(type.name.quotedIdentifier) SET _extra = json_set(coalesce(_extra, '{}'), '$.' || ?1, json('null'))
        WHERE _version IS NOT NULL AND \(column.quotedIdentifier) IS NULL
          AND json_type(coalesce(_extra, '{}'), '$.' || ?1) IS NULL
        """, arguments: [field.name])
  }

  /// Gives rows the field's default value, if it has one.
  func fill(_ field: FieldSchema, of type: TypeSchema, onlyNull: Bool) throws {
    guard let value = field.defaultValue, let column = field.columns.first else { return }
    let assignments = field.columns.map { "\($0.quotedIdentifier) = ?" }.joined(separator: ", ")
    let condition = onlyNull ? " WHERE \(column.quotedIdentifier) IS NULL" : ""
    let statement = try PreparedStatement(
      "UPDATE \(type.name.quotedIdentifier) SET \(assignments)\(condition)", in: database)
    var encoder = FieldEncoder(binding: statement.pointer, from: 1)
    encoder.encode(value, kind: field.kind)
    try statement.run()
    try LinkIndex(database: database).rebuild(type: type.name, field: field)
  }

  func drop(_ field: FieldSchema, of type: TypeSchema) throws {
    for column in field.columns {
      try database.execute(
        sql: "ALTER TABLE \(type.name.quotedIdentifier) DROP COLUMN \(column.quotedIdentifier)")
    }
    try LinkIndex(database: database).remove(type: type.name, field: field.name)
  }

  func drop(_ type: TypeSchema) throws {
    try dropIndexes(of: type)
    try database.execute(sql: "DROP TABLE \(type.name.quotedIdentifier)")
    try database.execute(sql: "DELETE FROM bothy_link WHERE owner_type = ?", arguments: [type.name])
  }

  /// Drops the type's indexes, R-trees and full-text table, so that columns can be changed.
  func dropIndexes(of type: TypeSchema) throws {
    let names = try String.fetchAll(
      database,
      sql:
        "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND name LIKE 'bothy\\_%' ESCAPE '\\'",
      arguments: [type.name])
    for name in names { try database.execute(sql: "DROP INDEX \(name.quotedIdentifier)") }
    try dropFullText(of: type)
    try PlaceIndex.dropAll(of: type.name, in: database)
    try NaturalIndex.dropTriggers(of: type.name, in: database)
  }

  private func dropFullText(of type: TypeSchema) throws {
    for suffix in ["insert", "update", "delete"] {
      try database.execute(
        sql: "DROP TRIGGER IF EXISTS \("bothy_fts_\(type.name)_\(suffix)".quotedIdentifier)")
    }
    try database.execute(sql: "DROP TABLE IF EXISTS \(Self.fullTextTable(type.name))")
  }

  /// Converts the contents of an earlier format to this one.
  func upgradeFormat(with schema: StoreSchema) throws {
    let version = try Int64.fetchOne(database, sql: "PRAGMA user_version") ?? 0
    guard version < Format.version else { return }
    for type in schema.types {
      if type.isSynced && version < 2 { try createContainerIndex(of: type) }
      if type.isSynced && version < 3 { try addMetadata(to: type) }
      guard type.hasFullText else { continue }
      try dropFullText(of: type)
      try createFullText(of: type)
    }
    try database.execute(sql: "PRAGMA user_version = \(Format.version)")
  }

  /// Adds the columns of the metadata. Each row gets its metadata with its next change.
  private func addMetadata(to type: TypeSchema) throws {
    let present = try Set(database.columns(in: type.name).map(\.name))
    for column in TypeTable.metadataColumns where !present.contains(column.name) {
      try database.execute(
        sql: "ALTER TABLE \(type.name.quotedIdentifier) ADD COLUMN \(column.name) \(column.type)")
    }
  }

  /// Creates the indexes of a type. References are always indexed, because delete rules search by them. The index
  /// doesn't enforce unique fields of synced types. Writes of the app are checked instead, so that a pull never fails
  /// because of another device's change.
  func createIndexes(of type: TypeSchema) throws {
    let table = type.name.quotedIdentifier
    try NaturalIndex.dropStrayColumns(of: type, in: database)
    for index in type.naturalIndexes { try index.create(in: database) }
    for field in type.fields where Self.hasIndex(field) {
      let unique = field.isUnique && !type.isSynced ? "UNIQUE " : ""
      let name = Self.indexName(type, field).quotedIdentifier
      let columns = field.columns.map(\.quotedIdentifier).joined(separator: ", ")
      try database.execute(sql: "CREATE \(unique)INDEX \(name) ON \(table) (\(columns))")
    }
    for index in type.indexes {
      // A pull never fails, so unique indexes of synced types are checked by the app's writes too.
      let unique = index.isUnique && !type.isSynced ? "UNIQUE " : ""
      let name = index.name(of: type.name).quotedIdentifier
      let columns = index.fields.map(\.quotedIdentifier).joined(separator: ", ")
      let condition = try type.indexCondition(of: index)
      try database.execute(sql: "CREATE \(unique)INDEX \(name) ON \(table) (\(columns))\(condition)")
    }
    if type.isSynced { try createContainerIndex(of: type) }
    if type.hasFullText { try createFullText(of: type) }
    for index in type.placeIndexes { try index.create(in: database) }
  }

  /// Creates the index of containers. It leaves out rows in the type's own container, which are the most.
  private func createContainerIndex(of type: TypeSchema) throws {
    try database.execute(
      sql: """
        CREATE INDEX \(Self.containerIndexName(type).quotedIdentifier) ON \(type.name.quotedIdentifier) (_container)
        WHERE _container IS NOT NULL
        """)
  }

  /// A name that no field's index of the type can have, because no field begins with an underscore.
  private static func containerIndexName(_ type: TypeSchema) -> String {
    "bothy_index_\(type.name)__container"
  }

  private static func hasIndex(_ field: FieldSchema) -> Bool {
    if case .reference = field.kind { return true }
    return field.isUnique || field.isIndexed && field.kind != .coordinate
  }

  private static func indexName(_ type: TypeSchema, _ field: FieldSchema) -> String {
    "bothy_index_\(type.name)_\(field.name)"
  }

  /// Returns the names of everything that `createIndexes` creates.
  static func indexNames(of type: TypeSchema) -> [String] {
    tableNames(of: type) + fullTextNames(type, ["insert", "update", "delete"])
      + type.placeIndexes.flatMap(\.names) + type.naturalIndexes.flatMap(\.names)
  }

  /// Returns the names that SQLite compares with those of all tables and indexes. The names of triggers are apart, and
  /// those of an R-tree have a parenthesis.
  static func takenNames(of type: TypeSchema) -> [String] {
    tableNames(of: type) + fullTextNames(type, ["data", "idx", "docsize", "config"])
  }

  private static func tableNames(of type: TypeSchema) -> [String] {
    var names = type.fields.filter(hasIndex).map { indexName(type, $0) }
    names += type.indexes.map { $0.name(of: type.name) }
    if type.isSynced { names.append(containerIndexName(type)) }
    if type.hasFullText { names.append("bothy_fts_\(type.name)") }
    return names
  }

  private static func fullTextNames(_ type: TypeSchema, _ suffixes: [String]) -> [String] {
    type.hasFullText ? suffixes.map { "bothy_fts_\(type.name)_\($0)" } : []
  }

  static func fullTextTable(_ type: String) -> String { "bothy_fts_\(type)".quotedIdentifier }

  /// Creates an external-content FTS5 table that triggers maintain (SQLite documentation, "External Content Tables").
  /// An update that leaves the texts unchanged doesn't touch the index.
  private func createFullText(of type: TypeSchema) throws {
    let columns = type.fields.filter(\.isFullText).map(\.name.quotedIdentifier)
    let list = columns.joined(separator: ", ")
    let table = type.name.quotedIdentifier
    let index = Self.fullTextTable(type.name)
    try database.execute(
      sql: """
        CREATE VIRTUAL TABLE \(index) USING fts5(\(list), content=\(table), content_rowid='rowid', \
        tokenize='\(WordTokenizer.name)')
        """)
    func values(_ row: String) -> String { columns.map { "\(row).\($0)" }.joined(separator: ", ") }
    let add = "INSERT INTO \(index)(rowid, \(list)) VALUES (new.rowid, \(values("new")));"
    let remove =
      "INSERT INTO \(index)(\(index), rowid, \(list)) VALUES ('delete', old.rowid, \(values("old")));"
    let differs = columns.map { "old.\($0) IS NOT new.\($0)" }.joined(separator: " OR ")
    for (event, verb, condition, body) in [
      ("insert", "INSERT", "", add), ("update", "UPDATE OF \(list)", "WHEN \(differs)", remove + " " + add),
      ("delete", "DELETE", "", remove),
    ] {
      let trigger = "bothy_fts_\(type.name)_\(event)".quotedIdentifier
      try database.execute(
        sql: "CREATE TRIGGER \(trigger) AFTER \(verb) ON \(table) \(condition) BEGIN \(body) END")
    }
    try database.execute(sql: "INSERT INTO \(index)(\(index)) VALUES ('rebuild')")
  }

  private static func definitions(of field: FieldSchema) -> [String] {
    field.columns.map { "\($0.quotedIdentifier) \(field.kind.columnType)" }
  }
}

extension StoreSchema {
  /// Throws `BothyError` `invalidSchema` if two types need an index of the same name.
  func checkIndexNames() throws(BothyError) {
    var owners: [String: String] = [:]
    for type in types {
      for name in SchemaInstaller.takenNames(of: type) {
        guard let other = owners.updateValue(type.name, forKey: name.lowercased()) else { continue }
        throw .invalidSchema(
          "The types '\(other)' and '\(type.name)' both need an index called '\(name)'. Rename one of them, or the "
            + "indexed field.")
      }
    }
  }
}
