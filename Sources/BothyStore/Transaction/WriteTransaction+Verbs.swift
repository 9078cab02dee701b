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
  ///
  /// An error at one record leaves those before it written, unless it leaves the closure of the transaction. An empty
  /// array does nothing.
  ///
  /// - Parameter container: The container of new records, and the one that existing records move to. If `nil`, new
  ///   records are in the container with the type's name, and others stay.
  public func save<E: Entity>(_ records: [E], in container: String? = nil) throws {
    for record in records { try save(record, in: container) }
  }

  /// Changes the stored record with the id of `record` in place, and returns it; other changes that `record` holds are
  /// not saved. Throws `BothyError` `.notFound`.
  ///
  /// Reads one row and writes it, or nothing if no field of a synced type changed. An error of `change` changes
  /// nothing.
  ///
  /// ```swift
  /// try await store.write { transaction in
  ///   let saved = try transaction.update(todo) { $0.effort += 1 }
  ///   show("\(saved.effort)")
  /// }
  /// ```
  @discardableResult
  public func update<E: Entity>(_ record: E, _ change: (inout E) throws -> Void) throws -> E {
    try update(E.self, id: record.id, change)
  }

  /// Changes the records that a query selects in place, and returns their number.
  ///
  /// Memory holds their ids and one record. Costs the query, and a row read and written for each; a record of a synced
  /// type that `change` leaves as it is isn't written. Records that this app can't read are left out. The limit and the
  /// order of the query hold, and a change can't add records to it.
  ///
  /// ```swift
  /// try await store.write { transaction in
  ///   try transaction.update(Todo.where { $0.due < Date() }) { $0.effort += 1 }
  /// }
  /// ```
  ///
  /// - Throws: the error of `change`, and `BothyError` as the query and `update(_:)` do. Records before it stay changed,
  ///   unless it leaves the closure of the transaction.
  @discardableResult
  public func update<E: Entity>(
    _ query: RecordQuery<E>, _ change: (inout E) throws -> Void
  ) throws -> Int {
    var count = 0
    for id in try ids(query.recordQuery) {
      guard var record = try fetch(E.self, id: id, leavesOut: true) else { continue }
      try change(&record)
      try update(record)
      count += 1
    }
    return count
  }

  /// Deletes a record. Returns false if it is not here. References to it follow their delete rules.
  ///
  /// Only the id of `record` counts. Costs one row, one look-up for each field that may refer to it, and the rows that
  /// the rules change. Throws `BothyError` `.denied` if a rule forbids it.
  @discardableResult
  public func delete<E: Entity>(_ record: E) throws -> Bool { try delete(E.self, id: record.id) }

  /// Deletes the records that a query selects, and returns their number. Costs the query and a deletion for each.
  ///
  /// Memory holds their ids. A record that the delete rule of another one has removed by then isn't counted. The limit
  /// and the order of the query hold.
  ///
  /// - Throws: `BothyError` `.denied` if a delete rule forbids one, and `unknownField` or `invalidQuery` for a query
  ///   that doesn't fit the schema.
  @discardableResult
  public func delete<E: Entity>(_ query: RecordQuery<E>) throws -> Int {
    var count = 0
    for id in try ids(query.recordQuery) where try delete(E.self, id: id) { count += 1 }
    return count
  }
}
