package import GRDB

/// Makes the tables of a file whose rows are all at hand: the tables first, their indexes when the rows are in, which is
/// several times as fast, and the same rows give the same file.
package struct FileAssembly {
  private let database: Database
  private let installer: SchemaInstaller

  package init(_ database: Database) {
    self.database = database
    installer = SchemaInstaller(database: database)
  }

  /// Makes the tables of the types, without indexes, and those beside them.
  package func createTables(of types: [TypeSchema]) throws {
    try database.execute(sql: Format.metaSQL)
    try database.execute(sql: Format.linkSQL)
    for type in types { try installer.createTable(of: type) }
  }

  /// Makes the indexes of the types' rows: for fields, texts, places and lists of references.
  package func createIndexes(of types: [TypeSchema]) throws {
    for type in types {
      try installer.createIndexes(of: type)
      if type.hasFullText {
        let index = SchemaInstaller.fullTextTable(type.name)
        try database.execute(sql: "INSERT INTO \(index)(\(index)) VALUES ('optimize')")
      }
      for field in type.fields { try LinkIndex(database: database).rebuild(type: type.name, field: field) }
    }
  }

  /// Writes a line of what the file says of itself.
  package func note(_ text: String, as key: String) throws {
    try database.execute(
      sql: "INSERT INTO bothy_meta VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
      arguments: [key, text])
  }
}
