public import BothyStore
internal import GRDB

extension PackBuilder {
  /// Adds the rows of a pack that is being built. It is valid only inside the closure that receives it.
  ///
  /// Use it on the thread of the closure. Rows are stored in a temporary file, so their number isn't limited by memory.
  /// Rows in another order give a pack with other bytes.
  public final class Writer {
    private let database: Database
    private let catalog: Catalog
    private let path: String
    private var inserts: [PreparedStatement?]
    /// The number of rows.
    package private(set) var count = 0
    var progress: (PackBuilder.Progress) -> Void = { _ in }

    init(_ database: Database, _ catalog: Catalog, path: String) {
      self.database = database
      self.catalog = catalog
      self.path = path
      inserts = Array(repeating: nil, count: catalog.tables.count)
    }

    /// Adds a record with one prepared insert. Missing fields get the schema's defaults.
    ///
    /// References aren't checked: the record that one names may follow later, or be absent.
    ///
    /// - Throws: `BothyError` `invalidInput` if the type has a record with its id. Throws `BothyError` `unknownType`,
    ///   `unknownField` or `.invalidValue`, and `CancellationError`. Let the error leave the closure, which ends the
    ///   build.
    public func add(_ record: BothyStore.AnyRecord) throws {
      let table = try catalog.table(record.type)
      try insert(record.id, try table.checkedValues(record), table)
    }

    /// Adds an entity under its id.
    ///
    /// Costs and throws like `add(_:)` of a record.
    public func add<E: Entity>(_ entity: E) throws { try add(BothyStore.AnyRecord(entity)) }

    private func insert(_ id: String, _ values: [FieldValue], _ table: TypeTable) throws {
      let insert: PreparedStatement
      if let kept = inserts[table.index] {
        insert = kept
      } else {
        insert = try PreparedStatement(unkept: table.insertSQL, in: database)
        inserts[table.index] = insert
      }
      insert.bind(id, at: 1)
      insert.bind(row: values, of: table, from: 2)
      do { try insert.run() } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
        throw BothyError(
          .invalidInput, "Two records of \(table.schema.name) have the id '\(id)'. Ids name one record each.",
          underlying: error)
      } catch { throw DurableFile.failure(error, path) }
      count += 1
      if count.isMultiple(of: 1000) {
        try Task.checkCancellation()
        progress(.rows(count))
      }
    }
  }
}
