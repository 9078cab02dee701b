public import BothyStore

/// Queries: the same ones, with the same meaning, as those of a `Store`.
///
/// The synchronous forms run on the calling thread, the asynchronous ones off the caller's actor. A condition that fixes
/// the field a type is split by, with `=`, `IN` or a range, opens the shards of these values; any other opens all of them
/// one after another, reads of each what could be in the answer, and joins it. Throws `StoreError` `.unknownType`,
/// `.unknownField` or `.invalidQuery`, and `PackError` where a file can't be used.
extension Pack {
  /// The records that the query describes, in its order.
  public func fetch<E: Entity>(_ query: RecordQuery<E>) throws -> [E] {
    let shape = try shapes.shape(of: E.self)
    if let file = try onlyFile(query.recordQuery, shape) {
      return try file.read { try ReadTransaction($0, shape.catalog).fetch(query) }
    }
    return try joined(query.recordQuery, shape).map { try $0.entity(E.self) }
  }

  /// The records that the query describes, in its order.
  public func fetch<E: Entity>(_ query: RecordQuery<E>) async throws -> [E] {
    try fetchNow { try $0.fetch(query) }
  }

  /// The records that the query describes, of any type.
  public func fetch(_ query: AnyQuery) throws -> [AnyRecord] {
    let shape = try shapes.shape(named: query.type)
    if let file = try onlyFile(query, shape) {
      return try file.read { try ReadTransaction($0, shape.catalog).fetch(query) }
    }
    return try joined(query, shape)
  }

  /// The records that the query describes, of any type.
  public func fetch(_ query: AnyQuery) async throws -> [AnyRecord] { try fetchNow { try $0.fetch(query) } }

  /// How many records `fetch` would return.
  public func count<E: Entity>(_ query: RecordQuery<E>) throws -> Int {
    try count(query.recordQuery, shapes.shape(of: E.self))
  }

  /// How many records `fetch` would return.
  public func count(_ query: AnyQuery) throws -> Int { try count(query, shapes.shape(named: query.type)) }

  /// Runs the synchronous form, which a call from an asynchronous one would not choose.
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

  /// The one file that has the whole answer; nil when there are several, or none is needed.
  private func onlyFile(_ query: AnyQuery, _ shape: TypeShape) throws -> PackFile? {
    guard shape.shards != nil else { return files.index }
    let needed = try needed(query.checked(for: shape.table.schema), shape)
    guard let first = needed.first, needed.count == 1 else { return nil }
    return try file(first)
  }

  /// The answers of several shards in the order of the query. Each shard sorts its own, so that the limit holds there too.
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
    // The conditions were met in the shards, by their indexes; what is left is the order.
    let order = AnyQuery(query.type, order: query.order, limit: query.limit, offset: query.offset)
    return try order.evaluate(over: records, schema: type)
  }

  /// The positions of the files that a checked query has to read.
  private func needed(_ query: AnyQuery, _ shape: TypeShape) throws -> [Int] {
    guard let shards = shape.shards else { return [0] }
    return try shards.shards(for: query.filter) { try locate(shape, $0)?.shard }.map { shards.files[$0] }
  }

  private func file(_ position: Int) throws -> PackFile {
    position == 0 ? files.index : try files.shard(position)
  }
}
