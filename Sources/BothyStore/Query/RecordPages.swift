public import struct Foundation.Date

/// The result of a query as an asynchronous sequence that reads `pageSize` rows at a time.
///
/// No transaction is open between pages, so a slow reader never delays the checkpoint of the store's log. Each page
/// continues after the last record of the page before, by its sort keys.
package struct RecordPages<Element: Sendable>: AsyncSequence, Sendable {
  /// Reads a page: its elements, the number of its rows, and its last record if more may follow.
  typealias Load =
    @Sendable (AnyQuery, ReadTransaction) throws -> (elements: [Element], rows: Int, last: AnyRecord?)

  let store: any ReadableStore
  let query: AnyQuery
  let pageSize: Int
  let load: Load

  /// Creates an iterator that begins at the first record. Reads nothing before its first `next`. Each iterator reads
  /// the result for itself.
  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pages: self) }

  /// The position in the pages: the rest of the page at hand, and the last record of it. Keeps the store open.
  package struct AsyncIterator: AsyncIteratorProtocol {
    private let pages: RecordPages
    private var isDone = false
    /// The last record of the page before.
    private var last: AnyRecord?
    private var remaining: Int?
    private var page: ArraySlice<Element> = []

    init(pages: RecordPages) {
      self.pages = pages
      remaining = pages.query.limit
    }

    /// Returns the next element, or `nil` after the last one. Uses one transaction a page.
    package mutating func next() async throws -> Element? {
      while page.isEmpty && !isDone { try await turn() }
      return page.popFirst()
    }

    private mutating func turn() async throws {
      try Task.checkCancellation()
      let size = Swift.min(pages.pageSize, remaining ?? .max)
      let (pages, before) = (pages, last)
      let (elements, rows, last) = try await pages.store.read { try pages.load(size, after: before, in: $0) }
      page = elements[...]
      self.last = last
      remaining = remaining.map { $0 - rows }
      isDone = rows < size || size == 0 || remaining == 0 || last == nil
    }
  }

  /// Returns up to `size` elements after `record`, and the record of the last one if more may follow.
  private func load(
    _ size: Int, after record: AnyRecord?, in transaction: ReadTransaction
  ) throws -> (elements: [Element], rows: Int, last: AnyRecord?) {
    var query = query
    query.limit = size
    // Records in any order don't come after one another.
    query.isUnordered = false
    guard let record else { return try load(query, transaction) }
    let type = try transaction.catalog.table(query.type).schema
    query.offset = 0
    var (elements, rows, last): ([Element], Int, AnyRecord?) = ([], 0, nil)
    for part in self.query.continuations(after: record, type) {
      query.filter = self.query.filter && part
      query.limit = size - rows
      let found = try load(query, transaction)
      elements += found.elements
      rows += found.rows
      last = found.last ?? last
      if rows == size { break }
    }
    return (elements, rows, last)
  }
}

extension AnyQuery {
  /// Returns a condition that is true of the records after `record` in the query's order.
  package func condition(after record: AnyRecord, _ type: TypeSchema) -> ConditionTree {
    var alternatives: [ConditionTree] = []
    var equal: [ConditionTree] = []
    var resolved = self
    // A sort by relevance without a search is refused when the query runs.
    resolved.order = (try? resolvedOrder(type)) ?? order
    for key in resolved.totalOrder {
      if key.isRank {
        let rank = record.rank(by: key)
        let same = key.search?.reaches(rank) ?? ConditionTree.all
        let more = key.search?.reaches(rank + 1) ?? ConditionTree.none
        let less: ConditionTree = rank > 0 ? !same : .none
        alternatives.append(.and(equal + [key.ascending ? more : less]))
        equal.append(same && !more)
        continue
      }
      if let origin = key.origin {
        let circles = Circles(key.field, origin, metres: record.distance(of: key.field, from: origin))
        alternatives.append(.and(equal + [key.ascending ? circles.outside : circles.inside]))
        equal.append(circles.edge)
        continue
      }
      let value = record.queried(key.field, type)
      let beyond: ConditionTree =
        switch (key.ascending, value.isNull) {
        case (true, true): .compare(field: key.field, .notEqual, .null)
        case (true, false): key.compared(.greater, value)
        case (false, true): .none
        case (false, false): .or([key.compared(.less, value), .compare(field: key.field, .equal, .null)])
        }
      alternatives.append(.and(equal + [beyond]))
      equal.append(key.compared(.equal, value))
      if key.isTotal { break }
    }
    return .or(alternatives)
  }

  /// Returns the conditions of the records after `record` in the query's order, in consecutive parts. Each part can
  /// start at its position in an index of the first key.
  package func continuations(after record: AnyRecord, _ type: TypeSchema) -> [ConditionTree] {
    let rest = condition(after: record, type)
    guard let first = totalOrder.first, first.origin == nil, !first.isRank else { return [rest] }
    let start = record.queried(first.field, type)
    guard !start.isNull else { return [rest] }
    // Both conditions follow from the rest. They let SQLite use the index.
    if first.ascending { return [first.compared(.greaterOrEqual, start) && rest] }
    return [
      first.compared(.lessOrEqual, start) && rest, .compare(field: first.field, .equal, .null),
    ]
  }
}

extension SortKey {
  /// True if the key sorts by the times or the owner of the record, unless the type has a field of that name.
  fileprivate var isOfMetadata: Bool { QueryField.pseudo(field)?.isMetadata ?? false }

  /// Returns a comparison of the field with a value in the order of the key.
  fileprivate func compared(_ comparison: ConditionTree.Comparison, _ value: FieldValue) -> ConditionTree {
    guard isNatural, let text = value.text else { return .compare(field: field, comparison, value) }
    return .compareNaturally(field: field, comparison, text)
  }
}

extension RecordQuery {
  /// Keeps the records that come after one in the query's order, such as the last one of a page.
  ///
  /// Records that are inserted or deleted elsewhere shift no page, unlike with an offset. Pages begin at any record, in any
  /// order.
  ///
  /// ```swift
  /// let newest = Todo.order(by: \.due, .descending).limit(50)
  /// let page = try await store.fetch(newest)
  /// if let last = page.last {
  ///   let next = try await store.fetch(newest.after(last))
  ///   show("\(next.count) more")
  /// }
  /// ```
  ///
  /// The sort keys of `record` count as it has them, so pass it unchanged. A key that this app doesn't know, such as a case
  /// of a newer one, counts as the default that the record shows, so pages may then leave out records;
  /// `records(_:pageSize:)` reads all. Replaces the offset by 0 and keeps the limit. An
  /// index of the first sort key starts at the record. Descending, it does so for fields that aren't optional. Throws
  /// `BothyError` `invalidQuery` for a sort by the container, and by metadata that isn't given, which a record doesn't
  /// have. So it does for a query in any order.
  ///
  /// - Parameters:
  ///   - record: The last record of the page before.
  ///   - metadata: What `ReadTransaction.metadata(of:)` returns of it, for a sort by `created`, `modified` or `owner`.
  public func after(
    _ record: E, metadata: (created: Date?, modified: Date?, owner: String?)? = nil
  ) throws -> RecordQuery {
    try checkPages("after", hasMetadata: metadata != nil)
    var record = AnyRecord(record)
    if let metadata {
      record.origin.metadata = RecordMetadata(
        created: metadata.created.map { Timestamp($0).milliseconds },
        modified: metadata.modified.map { Timestamp($0).milliseconds }, owner: metadata.owner)
    }
    let first = recordQuery.totalOrder.first
    // Metadata may be missing until the server has sent it.
    let isNullable = first.map { E.schema[$0.field]?.isOptional ?? $0.isOfMetadata } ?? false
    // The second part of a descending order has the records without a value.
    let parts = recordQuery.continuations(after: record, E.schema)
    let part = parts.count > 1 && !isNullable ? parts.first : nil
    var query = self.where(
      part ?? (parts.count == 1 ? parts[0] : recordQuery.condition(after: record, E.schema)))
    query.recordQuery.offset = 0
    return query
  }

  /// Requests the records that come before one in the query's order: with a limit the nearest ones, in that order.
  ///
  /// With `after(_:)` a list grows at both ends, from a record in its middle. Reads, counts sort keys and throws as that
  /// does. Memory holds the records twice for a moment.
  ///
  /// ```swift
  /// let days = Todo.order(by: \.due).limit(50)
  /// if let today = try await store.fetch(days.where { $0.due > Date() }.first()) {
  ///   let earlier = try await store.fetch(days.before(today))
  ///   let later = try await store.fetch(days.after(today))
  ///   show("\(earlier.count) before it, \(later.count) after it")
  /// }
  /// ```
  public func before(
    _ record: E, metadata: (created: Date?, modified: Date?, owner: String?)? = nil
  ) throws -> JoinQuery<E> {
    try checkPages("before", hasMetadata: metadata != nil)
    var mirrored = self
    mirrored.recordQuery.order = recordQuery.totalOrder.map { key in
      var key = key
      key.ascending.toggle()
      return key
    }
    let query = try mirrored.after(record, metadata: metadata)
    return JoinQuery(
      plan: ReadTransaction.Plan(.types(E.typeName), ReadIdentity(query.recordQuery, words: ["before"])) {
        [plan = query.plan] transaction, fingerprint in try plan.run(transaction, &fingerprint).reversed()
      })
  }

  /// Throws `invalidQuery` if no record has the place in the order where a page begins.
  private func checkPages(_ place: String, hasMetadata: Bool) throws(BothyError) {
    for key in recordQuery.order
    where key.field != "id" && !key.isRank && E.schema.index(of: key.field) == nil {
      if hasMetadata && key.isOfMetadata { continue }
      throw .invalidQuery(
        "A query sorted by '\(key.field)' has no page \(place) a record, which doesn't have it. "
          + "Give the record's metadata, or use `records(_:pageSize:)`.")
    }
    guard !recordQuery.isUnordered || !recordQuery.order.isEmpty else {
      throw .invalidQuery("Records in any order don't come \(place) one another. Leave out `inAnyOrder()`.")
    }
  }
}

/// Conditions for places nearer than a distance, as far, and farther. Records without a coordinate are infinitely far.
private struct Circles {
  let inside: ConditionTree
  let edge: ConditionTree
  let outside: ConditionTree

  init(_ field: String, _ centre: Coordinate, metres: Double) {
    guard metres.isFinite else {
      inside = .compare(field: field, .notEqual, .null)
      edge = .compare(field: field, .equal, .null)
      outside = .none
      return
    }
    let disc = ConditionTree.near(field: field, centre: centre, metres: metres)
    inside = metres > 0 ? .near(field: field, centre: centre, metres: metres.nextDown) : .none
    edge = disc && !inside
    outside = !disc
  }
}

extension ReadableStore {
  /// Returns the result of the query, read page by page during the iteration, so that memory is bounded by one page.
  ///
  /// The call itself reads nothing. Each page costs one query, which continues by an index of the first sort key or
  /// sorts again without one. Leaves out records that this app can't read. A `SyncedStore` reads the local file under
  /// every read policy.
  ///
  /// Insertions and deletions of other records between two pages cause no gaps or repetitions. A record whose own sort keys
  /// change meanwhile may be seen twice or not at all. For the result of one moment use `fetch` or `read`.
  ///
  /// `next` throws `CancellationError` in a cancelled task, at the next page. A query that doesn't fit the schema throws
  /// `BothyError` `unknownField` or `invalidQuery`, and a store that was closed meanwhile `database`. After an error, a
  /// further call reads the same page again.
  ///
  /// ```swift
  /// for try await todo in store.records(Todo.order(by: \.due), pageSize: 100) { show(todo.title) }
  /// ```
  ///
  /// - Parameter pageSize: The number of rows of a page, at least 1.
  public func records<E: Entity>(
    _ query: RecordQuery<E>, pageSize: Int = 500
  ) -> some AsyncSequence<E, any Error> & Sendable {
    RecordPages<E>(store: self, query: query.recordQuery, pageSize: max(1, pageSize)) { query, transaction in
      var rows = try RowCursor(query, in: transaction, isKept: false, isWhole: true)
      defer { rows.close() }
      var entities: [E] = []
      var (count, last): (Int, AnyRecord?) = (0, nil)
      while try rows.next() {
        count += 1
        if let entity = try rows.entity(E.self) { entities.append(entity) }
        if count == query.limit { last = try rows.record() }
      }
      return (entities, count, last)
    }
  }
}

extension LocalStore {
  /// Returns the result of the query over records of any type, read page by page during the iteration.
  package func records(_ query: AnyQuery, pageSize: Int = 500) -> RecordPages<AnyRecord> {
    RecordPages(store: self, query: query, pageSize: max(1, pageSize)) { query, transaction in
      let records = try transaction.fetch(query)
      return (records, records.count, records.last)
    }
  }
}
