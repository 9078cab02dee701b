package import GRDB

/// Creates the tables of a file from rows that are all available. Creates the indexes after the rows, which is several
/// times as fast. The same rows give the same file.
package struct FileAssembly {
  private let database: Database
  private let installer: SchemaInstaller

  package init(_ database: Database) {
    self.database = database
    installer = SchemaInstaller(database: database)
  }

  /// Creates the tables of the types, without indexes, and those of metadata and list references.
  package func createTables(of types: [TypeSchema]) throws {
    try database.execute(sql: Format.metaSQL)
    try database.execute(sql: Format.linkSQL)
    for type in types { try installer.createTable(of: type) }
  }

  /// Creates the indexes of the types' rows: for fields, texts, places and lists of references.
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

  /// Writes one entry of the file's metadata.
  package func note(_ text: String, as key: String) throws {
    try Format.note(text, as: key, in: database)
  }
}
