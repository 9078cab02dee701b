import BothyStore

/// The answers to queries.
extension SyncService {
  /// The most records of one query. Clients may rely on a thousand for any page limit.
  private var queryLimit: Int { max(rules.pageLimit, 1000) }

  /// Returns the live records that a query selects and the user may see. They are at most a thousand, or the page limit
  /// if that is larger, and limited to the bytes of one answer.
  ///
  /// Costs and throws like `queryPage`, which also shows if others follow.
  public func query(space: String, user: Caller, _ query: AnyQuery) async throws -> [ServerRecord] {
    try await queryPage(space: space, user: user, query).records
  }

  /// Like `query(space:user:_:)`, but also returns true if more records follow. An offset requests them.
  ///
  /// The storage passes by the records of an offset again, so cursors of `queryPage` cost less.
  public func queryAnswer(
    space: String, user: Caller, _ query: AnyQuery
  ) async throws -> (records: [ServerRecord], more: Bool) {
    let page = try await queryPage(space: space, user: user, query)
    return (page.records, page.more)
  }

  /// Returns a page of the live records that a query selects and the user may see, after those of an earlier page.
  ///
  /// A page begins after the last record of the one before, by its sort values and id. So it costs the same at any
  /// depth, and a record that doesn't change between pages is on exactly one. One whose sort values change may be on
  /// two, with a later version, or on none. With an indexed field as condition or first sort key a page reads what it
  /// returns, and at most ten thousand records besides. Otherwise, or if the user can't see most of them, it reads all
  /// records of the type.
  ///
  /// If an index of the type is incomplete, one step of about a thousand records is added to it after the answer. That
  /// is a transaction of its own, whose failure doesn't matter.
  ///
  /// - Parameter cursor: the end of the page before, with which the query's offset is ignored; `nil` for the first
  ///   page.
  /// - Throws: `BothyError` for a query that doesn't fit the schema. `SyncServiceError` `.badCursor` for a cursor of
  ///   another query, and `.tooExpensive` after `AccessRules.queryTime`. `CancellationError` if the task is cancelled.
  public func queryPage(
    space: String, user: Caller, _ query: AnyQuery, after cursor: String? = nil
  ) async throws -> QueryPage {
    try query.checkSize()
    let schema = rules.schema(for: query.type)
    let start = try cursor.map { try QueryCursor($0, for: query, schema).record }
    let limit = min(query.limit ?? queryLimit, queryLimit)
    var bounded = query
    // One more than fits shows that others follow.
    bounded.limit = limit == 0 ? 0 : limit + 1
    let (final, isCut) = (bounded, limit < query.limit ?? .max)
    let indexing = FieldIndexing(wanted: rules.fieldIndexes)
    let (page, isBehind) = try await storage.search(space: space, within: rules.queryTime) { storage in
      var page = QueryPage()
      guard try mayShow(query.type, to: viewer(user, in: storage)) else { return (page, false) }
      var (bytes, isFull) = (answerBytes(for: .changes), false)
      try selection(final, user, in: storage).records(after: start, in: storage) { entry in
        isFull = page.records.count == limit
        page.more = !isFull && bytes.left == 0
        if page.more || isFull { return false }
        page.records.append(entry.record)
        bytes.spend(entry.record.weight)
        return true
      }
      if page.more || isFull, let last = page.records.last {
        page.next = try QueryCursor.token(of: last, in: query, schema)
      }
      page.more = page.more || isFull && isCut
      return (page, indexing.isBehind(query.type, in: storage))
    }
    // The answer is right without the index, also if it can't be written now.
    if isBehind { _ = try? await indexFields(space: space) }
    return page
  }

  private func selection(
    _ query: AnyQuery, _ user: Caller, in storage: any ServerSnapshot
  ) throws -> ServerSelection {
    let (rules, viewer) = (rules, try viewer(user, in: storage))
    return try ServerSelection(
      rules.narrowed(query, for: viewer), rules.schema(for: query.type),
      isRestricted: readersDiffer(of: query.type),
      seenBy: rules.visibility(of: viewer)
    ) { rules.shows($0, to: viewer) }
  }

  /// Returns true if each record of a type has its own readers.
  func readersDiffer(of type: String) -> Bool {
    guard let access = rules.declared(type)?.permissions?.read else { return false }
    return access != .anyone && access != .authenticated
  }

  /// Returns false if the viewer can see no record of the type.
  private func mayShow(_ type: String, to viewer: Viewer) -> Bool {
    readersDiffer(of: type) || rules.allows(.read, type, viewer, owner: nil)
  }

  /// Returns the number of records that a query selects, without its limit and offset. By an index it reads the
  /// selected records if they are at most ten thousand. Otherwise, or if each record has its own readers, it reads all
  /// of the type.
  ///
  /// Records that the user can't see aren't counted. 0 also for a type of which the user may see none. Throws like
  /// `queryPage`, except for cursors.
  public func count(space: String, user: Caller, _ query: AnyQuery) async throws -> Int {
    try query.checkSize()
    guard mayShow(query.type, to: Viewer(user: user)) else { return 0 }
    return try await storage.search(space: space, within: rules.queryTime) { storage in
      try selection(query, user, in: storage).count(in: storage)
    }
  }
}
