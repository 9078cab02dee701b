public import BothyStore

/// Queries, with the meaning that they have in a `LocalStore`.
///
/// The synchronous forms run on the calling thread, the asynchronous ones off the caller's actor.
///
/// A condition that restricts the field of the shards, with `=`, `IN` or a range, opens the shards of these values. Any
/// other condition opens all of them one after another, reads the possible results of each and combines them.
///
/// Throws `BothyError` `unknownType`, `unknownField` or `invalidQuery`, and `BothyError` if a file can't be used.
extension Pack {
  /// Returns the records of the query, in its order. Empty if none matches. Leaves out records with content that this
  /// app doesn't know and has no default for.
  ///
  /// Needs memory for the result. A query over several shards holds up to offset and limit records of each, or all
  /// that match without a limit.
  ///
  /// - Throws: `BothyError` `.schemaMismatch` if the pack lacks the type or one of its fields, `unknownField`,
  ///   `invalidQuery` or `.damagedFile`. Throws `closed` if a shard is needed after `close()`.
  public func fetch<E: Entity>(_ query: RecordQuery<E>) throws -> [E] {
    let shape = try shapes.shape(of: E.self)
    if let file = try onlyFile(query.recordQuery, shape) {
      return try file.read { try ReadTransaction($0, shape.catalog).fetch(query) }
    }
    let type = shape.table.schema
    return try joined(query.recordQuery, shape).compactMap { record in
      do { try shape.table.checkReadable(record.values(for: type)) } catch { return nil }  // left out
      return try record.entity(E.self)
    }
  }

  /// Returns the records of the query, in its order.
  ///
  /// Runs off the caller's actor, so an app's main thread doesn't wait for the disk. Costs and throws like the
  /// synchronous form. Cancelling the task doesn't interrupt a query.
  public func fetch<E: Entity>(_ query: RecordQuery<E>) async throws -> [E] {
    try fetchNow { try $0.fetch(query) }
  }

  /// Returns the records of the query, of any type, with all fields that the pack has.
  ///
  /// Costs the same as the form for entities.
  ///
  /// - Throws: `BothyError` `unknownType`, `unknownField`, `invalidQuery`, `closed` or `.damagedFile`.
  public func fetch(_ query: AnyQuery) throws -> [AnyRecord] {
    let shape = try shapes.shape(named: query.type)
    if let file = try onlyFile(query, shape) {
      return try file.read { try ReadTransaction($0, shape.catalog).fetch(query) }
    }
    return try joined(query, shape)
  }

  /// Returns the records of the query, of any type.
  ///
  /// Runs off the caller's actor. Costs and throws like the synchronous form.
  public func fetch(_ query: AnyQuery) async throws -> [AnyRecord] { try fetchNow { try $0.fetch(query) } }

  /// Returns the number of records that `fetch` returns and of those that it leaves out, with the query's offset and
  /// limit.
  ///
  /// Runs one statement in each file that is needed, on the calling thread. Decodes no record. Throws like `fetch`.
  public func count<E: Entity>(_ query: RecordQuery<E>) throws -> Int {
    try count(query.recordQuery, shapes.shape(of: E.self))
  }

  /// Returns the number of records that `fetch` returns, for any type.
  ///
  /// Runs one statement in each file that is needed, on the calling thread. Throws like `fetch`.
  public func count(_ query: AnyQuery) throws -> Int { try count(query, shapes.shape(named: query.type)) }

  /// Runs the synchronous form, which overload resolution doesn't choose in an asynchronous function.
  private func fetchNow<Result>(_ body: (Pack) throws -> Result) throws -> Result { try body(self) }

  private func count(_ query: AnyQuery, _ shape: TypeShape) throws -> Int {
    let query = try query.checked(for: shape.table.schema)
    var whole = query
    (whole.limit, whole.offset, whole.order) = (nil, 0, [])
    var total = 0
    for file in try needed(query, shape) {
      total += try self.file(file).read { try ReadTransaction($0, shape.catalog).count(whole) }
    }
    return min(max(0, total - query.offset), query.limit ?? .max)
  }

  /// Returns the one file that has the complete result, or `nil` if none or several are needed.
  private func onlyFile(_ query: AnyQuery, _ shape: TypeShape) throws -> PackFile? {
    guard shape.shards != nil else { return files.index }
    let needed = try needed(query.checked(for: shape.table.schema), shape)
    guard let first = needed.first, needed.count == 1 else { return nil }
    return try file(first)
  }

  /// Returns the results of several shards in the order of the query. Each shard sorts its own, so that the limit
  /// applies there too.
  private func joined(_ query: AnyQuery, _ shape: TypeShape) throws -> [AnyRecord] {
    let type = shape.table.schema
    let query = try query.checked(for: type)
    var part = query
    part.offset = 0
    part.limit = query.limit.map { limit in
      let (sum, isTooMuch) = limit.addingReportingOverflow(query.offset)
      return isTooMuch ? .max : sum
    }
    var records: [AnyRecord] = []
    for position in try needed(query, shape) {
      records += try file(position).read { try ReadTransaction($0, shape.catalog).fetch(part) }
    }
    // The shards applied the conditions with their indexes. Only the order remains.
    return query.arranged(records, type)
  }

  /// Returns the positions of the files that a checked query must read.
  private func needed(_ query: AnyQuery, _ shape: TypeShape) throws -> [Int] {
    guard let shards = shape.shards else { return [0] }
    return try shards.shards(for: query.filter) { try locate(shape, $0)?.shard }.map { shards.files[$0] }
  }

  private func file(_ position: Int) throws -> PackFile {
    position == 0 ? files.index : try files.shard(position)
  }
}
