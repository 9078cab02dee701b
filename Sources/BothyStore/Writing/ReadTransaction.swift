package import GRDB

/// One consistent view of the store: everything read through it belongs to the same moment.
///
/// Lives inside the closure it is given to, on that closure's thread.
public class ReadTransaction {
  package let database: Database
  package let catalog: Catalog
  private var statements: [PreparedStatement?]

  package init(_ database: Database, _ catalog: Catalog) {
    self.database = database
    self.catalog = catalog
    statements = Array(repeating: nil, count: catalog.tables.count * Operation.allCases.count)
  }

  enum Operation: Int, CaseIterable { case select, exists, insert, update, delete, put }

  /// The statement for an operation on a table, prepared once a connection and looked up once a transaction.
  final func statement(_ operation: Operation, _ table: TypeTable) throws -> PreparedStatement {
    let slot = table.index * Operation.allCases.count + operation.rawValue
    if let kept = statements[slot] { return kept }
    let sql =
      switch operation {
      case .select: table.selectByIDSQL
      case .exists: table.existsSQL
      case .insert: table.insertSQL
      case .update: table.updateSQL
      case .delete: table.deleteSQL
      case .put: table.putSQL
      }
    let statement = try PreparedStatement(sql, in: database)
    statements[slot] = statement
    return statement
  }

  /// The record of an entity type with `id`, or nil. One row by primary key.
  public final func fetch<E: Entity>(_ type: E.Type, id: String) throws -> E? {
    let table = try catalog.table(E.typeName)
    let select = try statement(.select, table)
    select.bind(id, at: 1)
    defer { select.reset() }
    guard try select.step() else { return nil }
    var decoder = FieldDecoder(row: select.pointer, from: 1, type: E.typeName)
    return try E(id: id, from: &decoder)
  }

  /// The record of any type, or nil. One row by primary key.
  public final func record(_ id: RecordID) throws -> Record? {
    let table = try catalog.table(id.type)
    return try row(table, id: id.id).map { Record(id: id.id, $0, table) }
  }

  /// Whether a record exists. One look-up in the primary key.
  public final func exists(_ id: RecordID) throws -> Bool {
    let exists = try statement(.exists, catalog.table(id.type))
    exists.bind(id.id, at: 1)
    defer { exists.reset() }
    return try exists.step()
  }

  /// The stored row, or nil.
  package final func row(_ table: TypeTable, id: String) throws -> StoredRow? {
    let select = try statement(.select, table)
    select.bind(id, at: 1)
    defer { select.reset() }
    guard try select.step() else { return nil }
    return try StoredRow(from: select, table)
  }
}

extension StoredRow {
  /// Reads the current row of a statement that selects the columns of `TypeTable.selectSQL`.
  package init(from statement: PreparedStatement, _ table: TypeTable) throws {
    var decoder = FieldDecoder(row: statement.pointer, from: 1, type: table.schema.name)
    var values: [FieldValue] = []
    values.reserveCapacity(table.schema.fields.count)
    for field in table.schema.fields { values.append(try decoder.value(field.kind)) }
    self.init(values: values)
    guard table.schema.isSynced else { return }
    container = statement.text(at: table.systemColumn)
    version = statement.text(at: table.systemColumn + 1)
    unknownFields = statement.text(at: table.systemColumn + 2)
  }
}

extension Record {
  package init(id: String, _ row: StoredRow, _ table: TypeTable) {
    self.init(table.schema.name, id: id, schema: table.schema, values: row.values)
    container = row.container ?? table.schema.name
    version = row.version
    unknownFields = row.unknownFields
  }
}
