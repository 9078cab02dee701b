import BothyStore

/// The selection of a query: by an index if one is cheaper, by a scan of the type if not, or by both.
struct ServerSelection {
  /// The query. Its limit and offset count the records that `shows` lets through.
  private let query: AnyQuery
  /// The query with its values converted.
  private let checked: AnyQuery
  private let type: TypeSchema
  private let schema: StoreSchema?
  /// True if `shows` may leave out records of the type.
  private let isRestricted: Bool
  /// The records to read, for a storage that can leave others out.
  private let filter: VisibilityFilter?
  private let shows: (ServerRecord) -> Bool
  /// The entries of all records that the query selects, for a caller that knows an index of just these.
  fileprivate var entries: [FieldEntryRange]?

  /// Throws `BothyError` for a query that doesn't fit the schema.
  init(
    _ query: AnyQuery, _ schema: StoreSchema?, isRestricted: Bool, seenBy filter: VisibilityFilter? = nil,
    shows: @escaping (ServerRecord) -> Bool
  ) throws {
    let (type, resolved) = try query.resolved(in: schema)
    (self.query, self.type, self.schema) = (resolved, type, schema)
    checked = try resolved.checked(for: type)
    (self.isRestricted, self.filter, self.shows) = (isRestricted, filter, shows)
  }

  /// Calls `body` with the records after `after`, in the query's order, until it returns false.
  ///
  /// With an index on a condition or on the first sort key it reads what it returns, and at most about ten thousand
  /// records besides. Otherwise it reads the records of the type.
  func records(
    after: AnyRecord?, in storage: any ServerSnapshot, _ body: (StoredRecord) throws -> Bool
  ) throws {
    var (passed, left) = (after == nil ? query.offset : 0, query.limit ?? .max)
    var last = after
    func pass(_ entry: @autoclosure () throws -> StoredRecord) throws -> Bool {
      if passed > 0 {
        passed -= 1
        return true
      }
      guard left > 0 else { return false }
      left -= 1
      return try body(entry()) && left > 0
    }
    guard left > 0 else { return }
    if let named = try named(after: after, in: storage) {
      for match in named { guard try pass(try match.whole(in: storage)) else { return } }
      return
    }
    if var indexed = try IndexedSelection(checked, type, after: after, in: storage, shows: shows) {
      if let entries, let found = try indexed.gather(entries, most: nil) {
        for match in found { guard try pass(try match.whole(in: storage)) else { return } }
        return
      }
      switch try indexed.conditions.plan(in: storage) {
      case .gather(let ranges):
        let most = query.limit.map { $0.addingClamped(passed) }
        if let found = try indexed.gather(ranges, most: most) {
          for match in found { guard try pass(try match.whole(in: storage)) else { return } }
          return
        }
      case .walk(let walk):
        let end = try indexed.walk(walk) { match in
          last = match.record
          return try pass(try match.whole(in: storage))
        }
        if end == .finished { return }
      case nil:
        if let limit = query.limit, let found = try indexed.nearest(limit.addingClamped(passed)) {
          for match in found { guard try pass(try match.whole(in: storage)) else { return } }
          return
        }
      }
    }
    var rest = query
    rest.offset = 0
    if isRestricted {
      // The storage can't count what `shows` lets through.
      rest.limit = nil
    } else {
      (rest.limit, rest.offset, passed) = (query.limit.map { _ in left }, passed, 0)
    }
    try storage.query(rest, after: last, schema: schema, seenBy: filter) { entry in
      guard shows(entry.record) else { return true }
      return try pass(entry)
    }
  }

  /// Returns the selected ones, in order, among the records that the condition names by id. Returns `nil` if it names
  /// none, or too many. Without a schema the kinds of fields are guesses, and the storage decides. It also sorts records
  /// whose sort keys are too large for memory.
  private func named(after: AnyRecord?, in storage: any ServerSnapshot) throws -> [SelectionMatch]? {
    guard schema != nil, let ids = checked.filter.ids, ids.count <= Self.nameLimit else { return nil }
    let names = Set(ids.map { RecordID(type: type.name, id: $0) })
    let order = checked.totalOrder
    var room = MatchRoom(order)
    var found: [SelectionMatch] = []
    try storage.visitRecords(Array(names)) { entry in
      guard !room.isFull, !entry.record.isDeleted, shows(entry.record) else { return }
      var record = AnyRecord(entry.record, try entry.record.fields.members(), type)
      guard checked.holds(record, type) else { return }
      record.noteSortKeys(order, type)
      guard after?.precedes(record, by: order, type) ?? true else { return }
      found.append(room.kept(SelectionMatch(entry, record)))
    }
    return room.isFull ? nil : found.sorted { $0.record.precedes($1.record, by: order, type) }
  }

  /// The most records that are read by their ids.
  private static let nameLimit = 1000

  /// Returns the number of records, without the limit and the offset.
  func count(in storage: any ServerSnapshot) throws -> Int {
    if let named = try named(after: nil, in: storage) { return named.count }
    if var indexed = try IndexedSelection(checked, type, after: nil, in: storage, shows: shows),
      let ranges = try indexed.conditions.gathering(in: storage),
      let found = try indexed.gather(ranges, most: nil)
    {
      return found.count
    }
    guard isRestricted else { return try storage.count(query, schema: schema) }
    var all = query
    (all.limit, all.offset, all.order, all.isUnordered) = (nil, 0, [], true)
    var count = 0
    try storage.query(all, after: nil, schema: schema, seenBy: filter) { entry in
      if shows(entry.record) { count += 1 }
      return true
    }
    return count
  }
}

extension ConditionTree {
  /// The ids that the condition lists, or `nil` if it selects records without their ids.
  fileprivate var ids: [String]? {
    switch self {
    case .compare("id", .equal, .text(let id)): [id]
    case .oneOf("id", let values): values.compactMap(\.text)
    case .and(let parts): parts.lazy.compactMap(\.ids).first
    default: nil
    }
  }
}

extension ServerSnapshot {
  /// Visits the live records that a query selects like `query(_:schema:_:)`, by the indexes of the space where that is
  /// cheaper. `after` is a record in whose place the answer begins.
  package func select(
    _ query: AnyQuery, after: AnyRecord? = nil, schema: StoreSchema?, _ body: (StoredRecord) throws -> Bool
  ) throws {
    try ServerSelection(query, schema, isRestricted: false) { _ in true }
      .records(after: after, in: self, body)
  }

  /// Visits the live records that a query selects, among those of the entries. These have all selected records, and
  /// others count as read. `nil` reads like `select(_:schema:_:)`.
  func select(
    _ query: AnyQuery, among entries: [FieldEntryRange]?, schema: StoreSchema?,
    _ body: (StoredRecord) throws -> Bool
  ) throws {
    var selection = try ServerSelection(query, schema, isRestricted: false) { _ in true }
    selection.entries = entries
    try selection.records(after: nil, in: self, body)
  }

  /// Counts like `count(_:schema:)`, by the indexes of the space where that is cheaper.
  package func number(of query: AnyQuery, schema: StoreSchema?) throws -> Int {
    try ServerSelection(query, schema, isRestricted: false) { _ in true }.count(in: self)
  }
}
