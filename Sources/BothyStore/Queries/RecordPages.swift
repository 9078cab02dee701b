/// The answer to a query as an asynchronous sequence that reads `pageSize` rows at a time.
///
/// Memory is bounded by one page, and no transaction is open between pages, so a slow reader never holds the
/// store's log back. Each page continues after the last record of the page before (by its sort keys), so nothing
/// is skipped or repeated by other records coming or going; a record whose own sort keys change between two pages
/// may be seen twice or not at all. For one moment's answer use `fetch` or `read`.
public struct RecordPages<Element: Sendable>: AsyncSequence, Sendable {
  public typealias Failure = any Error

  typealias Load = @Sendable (RecordQuery, ReadTransaction) throws -> (elements: [Element], last: Record?)

  let store: Store
  let query: RecordQuery
  let pageSize: Int
  let load: Load

  public func makeAsyncIterator() -> Iterator { Iterator(pages: self, query: query) }

  public struct Iterator: AsyncIteratorProtocol {
    private let pages: RecordPages
    /// The query for the next page; nil after the last one.
    private var query: RecordQuery?
    private var remaining: Int?
    private var page: ArraySlice<Element> = []

    init(pages: RecordPages, query: RecordQuery) {
      self.pages = pages
      self.query = query
      remaining = query.limit
    }

    /// The next element; one transaction a page. Throws `CancellationError` when the task is cancelled.
    public mutating func next() async throws -> Element? {
      if page.isEmpty { try await turn() }
      return page.popFirst()
    }

    private mutating func turn() async throws {
      guard var query else { return }
      try Task.checkCancellation()
      let size = Swift.min(pages.pageSize, remaining ?? .max)
      query.limit = size
      let (asked, load) = (query, pages.load)
      let (elements, last) = try await pages.store.read { try load(asked, $0) }
      page = elements[...]
      remaining = remaining.map { $0 - elements.count }
      guard elements.count == size, size > 0, remaining != 0, let last else { return self.query = nil }
      guard let type = pages.store.schema[query.type] else { return self.query = nil }
      query.offset = 0
      query.filter = pages.query.filter && pages.query.condition(after: last, type)
      self.query = query
    }
  }
}

extension RecordQuery {
  /// True of the records that come after `record` in the query's order.
  package func condition(after record: Record, _ type: TypeSchema) -> Predicate {
    var alternatives: [Predicate] = []
    var equal: [Predicate] = []
    for key in totalOrder {
      if let origin = key.origin {
        let circles = Circles(key.field, origin, metres: record.distance(of: key.field, from: origin))
        alternatives.append(.and(equal + [key.ascending ? circles.outside : circles.inside]))
        equal.append(circles.edge)
        continue
      }
      let value = record.queried(key.field, type)
      let beyond: Predicate =
        switch (key.ascending, value.isNull) {
        case (true, true): .compare(field: key.field, .notEqual, .null)
        case (true, false): .compare(field: key.field, .greater, value)
        case (false, true): .none
        case (false, false):
          .or([.compare(field: key.field, .less, value), .compare(field: key.field, .equal, .null)])
        }
      alternatives.append(.and(equal + [beyond]))
      equal.append(.compare(field: key.field, .equal, value))
      if key.field == "id" { break }
    }
    guard let first = totalOrder.first, first.ascending, first.origin == nil, alternatives.count > 1 else {
      return .or(alternatives)
    }
    let start = record.queried(first.field, type)
    // Implied by the alternatives; said so that an index can start there.
    return start.isNull
      ? .or(alternatives) : .compare(field: first.field, .greaterOrEqual, start) && .or(alternatives)
  }
}

/// What is nearer than a distance, as far, and farther, as conditions; all without a coordinate are infinitely far.
private struct Circles {
  let inside: Predicate
  let edge: Predicate
  let outside: Predicate

  init(_ field: String, _ centre: Coordinate, metres: Double) {
    guard metres.isFinite else {
      inside = .compare(field: field, .notEqual, .null)
      edge = .compare(field: field, .equal, .null)
      outside = .none
      return
    }
    let disc = Predicate.near(field: field, centre: centre, metres: metres)
    inside = metres > 0 ? .near(field: field, centre: centre, metres: metres.nextDown) : .none
    edge = disc && !inside
    outside = !disc
  }
}

extension Store {
  /// The answer to the query, read page by page while it is iterated (see `RecordPages`).
  public func records<E: Entity>(_ query: Query<E>, pageSize: Int = 500) -> RecordPages<E> {
    RecordPages(store: self, query: query.recordQuery, pageSize: max(1, pageSize)) { query, transaction in
      var rows = try RowCursor(query, in: transaction, isKept: false)
      defer { rows.close() }
      var entities: [E] = []
      var last: Record?
      while try rows.next() {
        entities.append(try E(id: rows.id, from: &rows.fields))
        if entities.count == query.limit { last = try rows.record() }
      }
      return (entities, last)
    }
  }

  /// The answer to the query over records of any type, read page by page while it is iterated.
  public func records(_ query: RecordQuery, pageSize: Int = 500) -> RecordPages<Record> {
    RecordPages(store: self, query: query, pageSize: max(1, pageSize)) { query, transaction in
      let records = try transaction.fetch(query)
      return (records, records.last)
    }
  }
}
