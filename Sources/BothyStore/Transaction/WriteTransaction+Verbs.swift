/// The verbs that take records and queries where others take ids.
///
/// ```swift
/// try await store.write { transaction in
///   try transaction.save([Todo(title: "Buy rope"), Todo(title: "Oil the lamp")])
///   try transaction.update(todo) { $0.done = true }
///   try transaction.delete(Todo.where { $0.done })
/// }
/// ```
extension WriteTransaction {
  /// Inserts or updates records, in their order. Costs as `save(_:in:)` for each.
  public func save<E: Entity>(_ records: [E], in container: String? = nil) throws {
    for record in records { try save(record, in: container) }
  }

  /// Changes the stored record with the id of `record` in place, and returns it; other changes that `record` holds are not
  /// saved. Throws `BothyError` `.notFound`.
  @discardableResult
  public func update<E: Entity>(_ record: E, _ change: (inout E) throws -> Void) throws -> E {
    try update(E.self, id: record.id, change)
  }

  /// Deletes a record. Returns false if it is not here. References to it follow their delete rules.
  @discardableResult
  public func delete<E: Entity>(_ record: E) throws -> Bool { try delete(E.self, id: record.id) }

  /// Deletes the records that a query selects, and returns their number. Costs the query and a deletion for each.
  @discardableResult
  public func delete<E: Entity>(_ query: RecordQuery<E>) throws -> Int {
    var count = 0
    for id in try ids(query.recordQuery) where try delete(E.self, id: id) { count += 1 }
    return count
  }
}
