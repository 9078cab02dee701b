package import GRDB

/// One consistent view of the store. Everything read through it belongs to the same moment.
///
/// ```swift
/// let (open, lists) = try await store.read { transaction in
///   (try transaction.count(Todo.where { !$0.done }), try transaction.fetch(TodoList.self))
/// }
/// ```
///
/// Valid only inside the closure that receives it, on that closure's thread. A read of a file doesn't delay writes, but
/// a long one keeps SQLite's log from being emptied.
public class ReadTransaction {
  package let database: Database
  package let catalog: Catalog
  private let begun = Reading.next()
  private var statements: [PreparedStatement?]
  /// The entity type used last, because most transactions use one type many times.
  private var lastType: ObjectIdentifier?
  private var lastTable: TypeTable?
  /// The answers of this transaction to observers, who share those to equal questions. Nil outside an observation.
  var answers: SharedAnswers?
  /// The statement that `find` left on a row.
  private var found: PreparedStatement?

  package init(_ database: Database, _ catalog: Catalog) {
    self.database = database
    self.catalog = catalog
    statements = Array(repeating: nil, count: catalog.tables.count * Operation.allCases.count)
  }

  enum Operation: Int, CaseIterable {
    case select, exists, insert, update, delete, put, setVersion, setAside, setMetadata
  }

  /// The number of a reading of this transaction.
  var reading: Int64 { begun }

  /// Throws if the transaction has ended while its closure still runs. A read can't end so.
  package func checkIsOpen() throws {}

  /// Returns the statement for an operation on a table, prepared once a connection and looked up once a transaction.
  final func statement(_ operation: Operation, _ table: TypeTable) throws -> PreparedStatement {
    try checkIsOpen()
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
      case .setVersion: table.setVersionSQL
      case .setAside: table.setAsideSQL
      case .setMetadata: table.setMetadataSQL
      }
    let statement = try PreparedStatement(sql, in: database)
    statements[slot] = statement
    return statement
  }

  /// Returns the table of an entity type. Calls `name` once a transaction.
  final func table(of type: ObjectIdentifier, named name: () -> String) throws -> TypeTable {
    if type == lastType, let lastTable { return lastTable }
    let table = try catalog.table(name())
    lastType = type
    lastTable = table
    return table
  }

  final func table<E: Entity>(of type: E.Type) throws -> TypeTable {
    try table(of: ObjectIdentifier(type)) { E.typeName }
  }

  /// Returns the record of an entity type with `id`, or nil. Reads one row by primary key. Throws `BothyError`
  /// `.invalidValue` for one with content that this app doesn't know and has no default for.
  ///
  /// Costs a few microseconds. Ids are compared byte by byte. In a write it sees the changes made so far. A type that
  /// the store wasn't opened with throws `unknownType`.
  @inlinable
  public final func fetch<E: Entity>(_ type: E.Type, id: String) throws -> E? {
    try fetch(type, id: id, leavesOut: false)
  }

  /// - Parameter leavesOut: true to return nil for a record that this app can't read.
  @inlinable
  final func fetch<E: Entity>(_ type: E.Type, id: String, leavesOut: Bool) throws -> E? {
    guard var fields = try find(ObjectIdentifier(type), { E.typeName }, id: id) else { return nil }
    defer { endFind() }
    do throws(BothyError) { return try E(id: id, from: &fields) } catch {
      return try shown(type, id, fields.readMark, error, leavesOut: leavesOut)
    }
  }

  /// Returns the row that `find` found, with stand-ins.
  @usableFromInline
  final func shown<E: Entity>(
    _ type: E.Type, _ id: String, _ mark: ReadMark, _ error: BothyError, leavesOut: Bool
  ) throws -> E? {
    guard let found else { throw error }
    return try table(of: type).entity(type, id, of: found, mark, after: error, leavesOut: leavesOut)
  }

  /// Returns the fields of one row, valid until `endFind`.
  @usableFromInline
  final func find(_ type: ObjectIdentifier, _ name: () -> String, id: String) throws -> FieldDecoder? {
    let table = try table(of: type, named: name)
    let select = try statement(.select, table)
    select.bind(id, at: 1)
    guard try select.step() else {
      select.reset()
      return nil
    }
    found = select
    return FieldDecoder(row: select.pointer, table, reading: reading)
  }

  @usableFromInline
  final func endFind() { found?.reset() }

  /// Returns the record of any type, or nil. Reads one row by primary key.
  package final func record(_ id: RecordID) throws -> AnyRecord? {
    let table = try catalog.table(id.type)
    return try row(table, id: id.id).map { AnyRecord(id: id.id, $0, table, reading: reading) }
  }

  /// True if a record exists. Costs one look-up in the primary key.
  package final func exists(_ id: RecordID) throws -> Bool {
    try exists(catalog.table(id.type), id: id.id)
  }

  final func exists(_ table: TypeTable, id: String) throws -> Bool {
    let exists = try statement(.exists, table)
    exists.bind(id, at: 1)
    defer { exists.reset() }
    return try exists.step()
  }

  /// Returns the stored row, or nil.
  package final func row(_ table: TypeTable, id: String) throws -> StoredRow? {
    let select = try statement(.select, table)
    select.bind(id, at: 1)
    defer { select.reset() }
    guard try select.step() else { return nil }
    return try StoredRow(from: select, table)
  }
}

extension StoredRow {
  /// Reads the current row of a statement that selects the columns of `TypeTable.selectSQL`, or all.
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
    guard statement.columnCount > table.systemColumn + 3 else { return }
    metadata = statement.metadata(at: table.systemColumn + 3)
  }
}

extension AnyRecord {
  package init(id: String, _ row: StoredRow, _ table: TypeTable, reading: Int64? = nil) {
    self.init(table.schema.name, id: id, schema: table.schema, values: row.values)
    container = row.container ?? table.schema.name
    version = row.version
    unknownFields = row.unknownFields
    origin = Origin(
      mark: table.schema.isSynced ? ReadMark(version: row.version, reading: reading) : .whole, isWhole: true,
      metadata: row.metadata)
  }
}
