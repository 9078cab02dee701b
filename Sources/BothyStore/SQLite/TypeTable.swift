/// The table of one type: its columns and the texts of the statements that read and write it.
///
/// Layout: `_id`, then the columns of the fields in schema order, then for synced types `_container`, `_version`,
/// `_extra`, `_created`, `_modified` and `_owner`. Stored sort keys have columns too, which triggers fill and
/// statements name only to sort by (see `NaturalIndex`). All tables are STRICT, so a column never holds a value of
/// another type.
///
/// A class, so that passing it along a hot path is one reference and not a copy of all its parts.
package final class TypeTable: Sendable {
  package let schema: TypeSchema
  /// The position among the store's types.
  package let index: Int
  /// The quoted table name.
  package let name: String
  /// The number of columns that hold fields.
  package let fieldColumnCount: Int32
  /// Field positions in the order of their names' UTF-8 bytes: the order of canonical JSON.
  package let canonicalOrder: [Int]
  /// Position and first parameter (or column) of each field by name.
  package let positions: [String: Int]
  package let firstColumn: [Int32]
  /// The names for each field among a record's members outside columns: its own and its aliases'.
  package let asideNames: [[String]]
  /// True if any field has aliases.
  package let hasAliases: Bool
  /// True if a field is a list of references, which is indexed beside the table.
  package let hasListReferences: Bool
  /// The fields that name blobs. Most types have none.
  package let blobFields: [String]
  package let blobColumns: [String]
  /// The positions of fields whose values are never stored here.
  package let sensitivePositions: [Int]
  /// The positions of fields whose Swift type doesn't take every value of their kind.
  let checkedPositions: [Int]
  /// The positions of those without a stand-in, so that a record with such a value can't be shown.
  let strictPositions: [Int]
  /// The positions of the fields whose values no two records may share, alone or together.
  let uniqueKeys: [[Int]]
  /// True if a write changes more than its row and its outbox entry.
  let hasSideWork: Bool

  package let insertSQL: String
  package let updateSQL: String
  package let deleteSQL: String
  /// Selects all columns of one row.
  package let selectByIDSQL: String
  /// Selects all columns except those of the metadata, which few readers need.
  package let selectSQL: String
  package let selectWholeSQL: String
  package let existsSQL: String
  /// Writes a whole row from the server; synced types only.
  package let putSQL: String
  /// Sets the version of a row; synced types only.
  let setVersionSQL: String
  /// Sets the members of a row outside columns; synced types only.
  let setAsideSQL: String
  /// Sets the known metadata of a row; synced types only.
  let setMetadataSQL: String

  /// The columns of synced types after the fields, with their SQLite types. Those of the metadata are last.
  static let systemColumns: [(name: String, type: String)] =
    [("_container", "TEXT"), ("_version", "TEXT"), ("_extra", "TEXT")] + metadataColumns
  static let metadataColumns: [(name: String, type: String)] = [
    ("_created", "INTEGER"), ("_modified", "INTEGER"), ("_owner", "TEXT"),
  ]

  init(_ schema: TypeSchema, index: Int) {
    (self.schema, self.index) = (schema, index)
    let table = schema.name.quotedIdentifier
    name = table
    let columns = schema.fields.flatMap(\.columns).map(\.quotedIdentifier)
    fieldColumnCount = Int32(columns.count)
    canonicalOrder = schema.fields.indices.sorted {
      schema.fields[$0].name.utf8.lexicographicallyPrecedes(schema.fields[$1].name.utf8)
    }
    positions = Dictionary(uniqueKeysWithValues: schema.fields.enumerated().map { ($1.name, $0) })
    let names = NameMap(schema)
    asideNames = schema.fields.map { [$0.name] + $0.aliases.map(names.local) }
    hasAliases = schema.fields.contains { !$0.aliases.isEmpty }
    var next: Int32 = 1
    firstColumn = schema.fields.map { field in
      defer { next += Int32(field.columns.count) }
      return next
    }
    hasListReferences = schema.fields.contains { field in
      if case .references = field.kind { true } else { false }
    }
    blobFields = schema.fields.filter { $0.kind == .blob }.map(\.name)
    blobColumns = blobFields.map(\.quotedIdentifier)
    sensitivePositions = schema.fields.indices.filter { schema.fields[$0].isSensitive }
    (checkedPositions, strictPositions) = Self.unreadable(schema.fields)
    uniqueKeys = schema.uniqueKeys.map { key in key.compactMap { schema.index(of: $0.name) } }
    hasSideWork =
      hasListReferences || !sensitivePositions.isEmpty || (schema.isSynced && !uniqueKeys.isEmpty)
    let kept = schema.isSynced ? Self.systemColumns.map(\.name) : []
    let metadata = Array(kept.suffix(Self.metadataColumns.count))
    let system = Array(kept.dropLast(metadata.count))
    let inserted = ["_id"] + columns + (schema.isSynced ? ["_container", "_created", "_modified"] : [])
    insertSQL = Self.insert(into: table, inserted)
    let assigned = columns + (schema.isSynced ? ["_modified"] : [])
    let assignments = assigned.map { "\($0) = ?" }.joined(separator: ", ")
    updateSQL = "UPDATE \(table) SET \(assigned.isEmpty ? "_id = _id" : assignments) WHERE _id = ?"
    deleteSQL = "DELETE FROM \(table) WHERE _id = ?"
    let all = (["_id"] + columns + system).joined(separator: ", ")
    selectSQL = "SELECT \(all) FROM \(table)"
    selectWholeSQL = "SELECT \(([all] + metadata).joined(separator: ", ")) FROM \(table)"
    selectByIDSQL = selectWholeSQL + " WHERE _id = ?"
    existsSQL = "SELECT 1 FROM \(table) WHERE _id = ?"
    setVersionSQL = "UPDATE \(table) SET _version = ? WHERE _id = ?"
    setAsideSQL = "UPDATE \(table) SET _extra = ? WHERE _id = ?"
    let filled = metadata.map { "\($0) = coalesce(excluded.\($0), \($0))" }
    let numbered = metadata.enumerated()
    setMetadataSQL = """
      UPDATE \(table) SET \(numbered.map { "\($1) = coalesce(?\($0 + 1), \($1))" }.joined(separator: ", "))
      WHERE _id = ?4 AND (\(numbered.map { "coalesce(?\($0 + 1), \($1)) IS NOT \($1)" }.joined(separator: " OR ")))
      """
    let replaced = ((columns + system).map { "\($0) = excluded.\($0)" } + filled).joined(separator: ", ")
    // A row with a newer version stays unchanged, because pages and single responses may overtake one another.
    let guardClause =
      schema.isSynced
      ? " WHERE _version IS NULL OR excluded._version IS NULL OR CAST(excluded._version AS INTEGER) >= CAST(_version AS INTEGER)"
      : ""
    // The other name keeps `excluded`, SQLite's name for the given row, from denoting a type of that name.
    putSQL =
      Self.insert(into: table + " AS bothy_row", ["_id"] + columns + system + metadata)
      + " ON CONFLICT(_id) DO UPDATE SET \(replaced)\(guardClause)"
  }

  /// Returns the positions of fields with content that can't be read, and of those of them without a stand-in.
  private static func unreadable(_ fields: [FieldSchema]) -> (checked: [Int], strict: [Int]) {
    let checked = fields.indices.filter { fields[$0].reading.check != nil }
    return (checked, checked.filter { fields[$0].refusal(of: fields[$0].standIn) != nil })
  }

  private static func insert(into table: String, _ columns: [String]) -> String {
    let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
    return "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(marks))"
  }

  /// The first column after the fields: `_container` of synced types.
  package var systemColumn: Int32 { fieldColumnCount + 1 }
}

extension String {
  /// The name as an SQL identifier.
  package var quotedIdentifier: String { quoted(by: "\"") }

  /// The text between quotes, with each quote inside doubled. In Swift a quote and an accent behind it are one
  /// character, but SQL ends the text at the quote.
  package func quoted(by quote: Unicode.Scalar) -> String {
    var quoted = UnicodeScalarView()
    quoted.append(quote)
    for scalar in unicodeScalars {
      if scalar == quote { quoted.append(quote) }
      quoted.append(scalar)
    }
    quoted.append(quote)
    return String(quoted)
  }
}

extension ValueKind {
  /// The SQLite column type of a STRICT table.
  var columnType: String {
    switch self {
    case .bool, .int, .date: "INTEGER"
    case .double, .coordinate: "REAL"
    case .text, .uuid, .json, .blob, .reference, .references: "TEXT"
    case .data: "BLOB"
    }
  }
}
