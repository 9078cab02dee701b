/// The tables of an open store, by position and by name. Immutable, and shared by all its connections.
package final class Catalog: Sendable {
  package let schema: StoreSchema
  package let tables: [TypeTable]
  /// The reference fields that point at each table, which its delete rules search.
  package let incoming: [[Incoming]]
  /// The mapping between local names and wire names.
  package let wireNames: WireNames
  /// The decisions on the SQL of apps.
  let sql: SQLAuthority
  /// The warnings of scans, in debug builds.
  let scans: ScanLog?
  private let positions: [String: Int]

  package struct Incoming: Sendable {
    package let table: Int
    package let field: Int
    package let rule: FieldKind.DeleteRule
    package let isList: Bool
  }

  package convenience init(_ schema: StoreSchema) { self.init(schema, scans: nil) }

  init(_ schema: StoreSchema, scans: ScanLog?) {
    self.schema = schema
    self.scans = scans
    wireNames = WireNames(schema)
    let tables = schema.types.enumerated().map { TypeTable($1, index: $0) }
    self.tables = tables
    sql = SQLAuthority(tables)
    positions = Dictionary(uniqueKeysWithValues: tables.map { ($0.schema.name, $0.index) })
    var incoming: [[Incoming]] = Array(repeating: [], count: tables.count)
    for table in tables {
      for (index, field) in table.schema.fields.enumerated() {
        guard let (type, rule) = field.kind.target, let target = positions[type] else { continue }
        var isList = false
        if case .references = field.kind { isList = true }
        incoming[target].append(Incoming(table: table.index, field: index, rule: rule, isList: isList))
      }
    }
    self.incoming = incoming
  }

  /// Returns the table of a type. Throws `BothyError` `unknownType` with the names of the types.
  package func table(_ type: String) throws(BothyError) -> TypeTable {
    guard let position = positions[type] else {
      let known = tables.map(\.schema.name).sorted().joined(separator: ", ")
      throw BothyError(.unknownType, "This store has no type '\(type)'. Known: \(known).")
    }
    return tables[position]
  }

  package func tableIfKnown(_ type: String) -> TypeTable? { positions[type].map { tables[$0] } }

  /// Returns the table of a synced type. Returns `nil` for a local one, because a server may have another type of its
  /// name.
  package func syncedTable(_ type: String) -> TypeTable? {
    tableIfKnown(type).flatMap { $0.schema.isSynced ? $0 : nil }
  }
}
