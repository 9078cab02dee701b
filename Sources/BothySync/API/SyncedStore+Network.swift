import BothyStore

/// Asking the server, and bringing its answer into the local store.
extension SyncedStore {
  /// The server's answer with pending changes merged in: stored, unless the caller or the configuration forbids it.
  func fromNetwork<Value: Identifiable<String> & Sendable>(
    _ query: AnyQuery, _ options: RequestOptions, _ read: @escaping LocalRead<Value>,
    _ convert: @Sendable (AnyRecord) throws -> Value
  ) async throws -> FetchResult<Value> {
    let isStored = options.cacheResults ?? true && configuration.cache == .enabled
    let isCut = query.limit != nil || query.offset > 0
    let (pending, marks, pulled) = try await store.read { transaction in
      (
        isCut || !isStored ? try OutboxQueue.ids(of: query.type, in: transaction) : Set<String>(),
        try Refetch.open(query, in: transaction).filter { !$0.id.isEmpty && !$0.type.isEmpty },
        try PullState.all(in: transaction)
      )
    }
    let found = try await answer(to: query, without: pending, isStored: isStored, since: pulled)
    var shown = query
    shown.offset = query.offset - found.offset
    guard isStored else {
      let records = try await unmerged(query, found.records, with: pending)
      let schema = try store.catalog.table(query.type).schema
      let values = try shown.evaluate(over: records, schema: schema).map(convert)
      return FetchResult(records: values, origin: .remote, isComplete: true, age: .zero)
    }
    try await merge(found, query, ending: marks, since: pulled)
    for field in query.include { try await fetchTargets(of: field, in: found.records) }
    if !found.isWhole {
      // Other records of the type may have changed there since.
      let ids = pending.union(found.ids)
      if ids.count <= ConditionTree.maximumTerms {
        shown.filter = .and([query.filter, .oneOf(field: "id", ids.sorted().map { .text($0) })])
      }
    }
    var result = try await local(shown, read)
    result.origin = .remote
    result.isComplete = true
    result.age = .zero
    return result
  }

  /// Reads the answer to a query out of the file.
  typealias LocalRead<Value> = @Sendable (ReadTransaction, AnyQuery) throws -> [Value]

  struct NetworkAnswer: Sendable {
    /// The records, without those of pages that were taken in as they came.
    var records: [ServerRecord] = []
    /// The ids of all records.
    var ids: Set<String> = []
    /// The number of records of the server's answer that were left out before the first.
    var offset = 0
    /// True if no record of the server's answer follows.
    var isExhausted = false
    /// True if the query has no other records.
    var isWhole: Bool { offset == 0 && isExhausted }
  }

  /// Requests as many records as the query wants besides those that are pending here, since these are shown as they are
  /// here. One round trip for each thousand.
  ///
  /// If the answer is stored, each page but the last is taken in as it comes, in one transaction. So memory has one page,
  /// and those that came before an error stay.
  private func answer(
    to query: AnyQuery, without pending: Set<String>, isStored: Bool, since pulled: [PullState]
  ) async throws -> NetworkAnswer {
    var pages = QueryPages(query, remote, without: pending, isSorted: false)
    var answer = NetworkAnswer(offset: pages.offset)
    while let page = try await next(of: &pages) {
      if isStored && !pages.isDone {
        try await catchUp(with: page)
        try await take(page, ifNewer: false, since: pulled)
        for field in query.include { try await fetchTargets(of: field, in: page) }
      } else {
        answer.records = answer.records.adding(page)
      }
    }
    (answer.ids, answer.isExhausted) = (pages.ids, pages.isExhausted)
    return answer
  }

  /// Returns the next page. Throws `BothyError` `.cancelled` for a task that is cancelled after the first.
  private func next(of pages: inout QueryPages) async throws -> [ServerRecord]? {
    do { return try await pages.next() } catch {
      throw Task.isCancelled && !pages.ids.isEmpty ? BothyError(SyncStop.cancelled) : BothyError(error)
    }
  }

  /// The records with these ids, as the server has them. One round trip for each thousand.
  private func request(_ type: String, ids: [String]) async throws(RemoteError) -> [ServerRecord] {
    var records: [ServerRecord] = []
    var rest = ids[...]
    while !rest.isEmpty {
      let some = rest.prefix(QueryPages.size)
      rest = rest.dropFirst(QueryPages.size)
      records += try await remote.all(AnyQuery(type, where: .oneOf(field: "id", some.map { .text($0) })))
    }
    return records
  }

  /// Brings the records that a reference field names. One round trip for each thousand.
  private func fetchTargets(of field: String, in records: [ServerRecord]) async throws {
    guard let first = records.first, let reference = store.schema[first.id.type]?[field],
      let type = reference.kind.target?.type
    else { return }
    let ids = try Set(
      records.flatMap { reference.targets(of: try $0.fields.members()[field]).map(\.id) })
    guard !ids.isEmpty else { return }
    let pulled = try await pulledStates()
    let found: [ServerRecord]
    do { found = try await request(type, ids: ids.sorted()) } catch { throw BothyError(error) }
    try await catchUp(with: found)
    try await take(found, ifNewer: false, since: pulled)
  }

  /// Stores what came, and finds out what became of records that belong into the answer here and are not in it: they
  /// changed or are gone. A limited answer says so of those before its last record. Ends the marks that the answer
  /// settles: those of its records, and all of a whole answer without a condition. Notes that the query was answered, if
  /// `isNoted`.
  func merge(
    _ answer: NetworkAnswer, _ query: AnyQuery, ending marks: [Refetch.Mark] = [], since pulled: [PullState],
    isNoted: Bool = true
  ) async throws {
    var window = query
    window.offset = answer.offset
    window.limit = answer.isExhausted ? nil : answer.ids.count
    let compared = window
    let isAll = answer.isWhole && query.filter == .all
    let settled = marks.filter { isAll || $0.record.type == query.type && answer.ids.contains($0.record.id) }
    try await catchUp(with: answer.records, lacking: (compared, answer.ids))
    let now = clock.now()
    @Sendable func complete(in transaction: WriteTransaction) throws {
      try Refetch.end(settled, in: transaction)
      if answer.isWhole && isNoted { try QueryCompleteness.note(query, at: now, in: transaction) }
    }
    let suspects = try await store.write(origin: .remote) { transaction in
      var pull = try PullApplication(transaction, now: now)
      pull.asked = pulled
      for record in answer.records { try pull.apply(record) }
      let suspects = try Self.lacking(answer.ids, compared, in: transaction)
      if suspects.isEmpty { try complete(in: transaction) }
      return suspects
    }
    guard !suspects.isEmpty else { return }
    let there: [ServerRecord]
    do {
      // A record that another server lacks was not deleted.
      try await remote.verify()
      there = try await request(query.type, ids: suspects.map(\.id))
    } catch { throw BothyError(error) }
    let present = Set(there.map(\.id.id))
    try await store.write(origin: .remote) { transaction in
      var pull = try PullApplication(transaction, now: now)
      pull.asked = pulled
      for record in there { try pull.apply(record) }
      let table = try transaction.catalog.table(query.type)
      for suspect in suspects where !present.contains(suspect.id) {
        guard let version = suspect.version, try OutboxQueue.mark(suspect.recordID, in: transaction) == nil
        else {
          continue
        }
        // Unless a sync has brought a newer one meanwhile.
        _ = try transaction.evict(table, id: suspect.id, upTo: version)
      }
      try complete(in: transaction)
    }
  }

  // MARK: conditions that only the server can evaluate

  /// Returns the reason why the query can't be evaluated here, or `nil`: it names a field that this schema lacks. The
  /// server may have a newer schema, or none. Throws `BothyError` for a query that is wrong in another way.
  func reasonForServerOnly(_ query: AnyQuery) throws -> BothyError? {
    do {
      _ = try query.checked(for: store.catalog.table(query.type).schema)
      return nil
    } catch {
      guard error.code == .unknownField else { throw error }
      return error
    }
  }

  /// The server's own answer, in its order. What it brings is stored, and nothing removed for it. Without the server
  /// the read has no answer.
  func fromServerAlone<Value: Identifiable<String> & Sendable>(
    _ query: AnyQuery, because reason: BothyError, _ policy: ReadPolicy, _ options: RequestOptions,
    _ convert: @Sendable (AnyRecord) throws -> Value
  ) async throws -> FetchResult<Value> {
    do {
      guard policy != .local && policy != .localThenRemote else {
        throw BothyError.notLocallyEvaluable(reason)
      }
      let pulled = try await pulledStates()
      let found: [ServerRecord]
      do { found = try await remote.all(query) } catch {
        if error.errorClass == .unreachable && policy != .remote {
          throw BothyError.notLocallyEvaluable(reason)
        }
        throw BothyError(error)
      }
      if options.cacheResults ?? true && configuration.cache == .enabled {
        try await catchUp(with: found)
        try await take(found, since: pulled)
      }
      let values = try await unmerged(query, found).map(convert)
      return FetchResult(records: values, origin: .remote, isComplete: true, age: .zero)
    } catch let error as BothyError where error.code == .notLocallyEvaluable {
      guard configuration.unevaluable == .empty else { throw error }
      return FetchResult(records: [], origin: .local, isComplete: false, age: nil)
    }
  }

  /// The answer with nothing stored: local records with pending changes replace the server's.
  ///
  /// - Parameter pending: the ids of records that are added as they are here.
  func unmerged(
    _ query: AnyQuery, _ records: [ServerRecord], with pending: Set<String> = []
  ) async throws -> [AnyRecord] {
    try await store.read { transaction in
      let table = try transaction.catalog.table(query.type)
      let own = try pending.compactMap { try transaction.record(RecordID(type: query.type, id: $0)) }
      let others = pending.isEmpty ? records : records.filter { !pending.contains($0.id.id) }
      return try own
        + others.compactMap { record -> AnyRecord? in
          if let mark = try OutboxQueue.mark(record.id, in: transaction), !mark.isHidden {
            return mark.kind == .delete ? nil : try transaction.record(record.id)
          }
          var repaired = false
          // One that can't be read is quarantined by the pull that brings it.
          guard case .success(let row) = UnreadableTable.read(record, table, repaired: &repaired) else {
            return nil
          }
          return AnyRecord(id: record.id.id, row, table)
        }
    }
  }
}

/// Showing an answer of the server together with what belongs to it.
///
/// An answer is of one moment, and the file of an earlier one. Of what the file follows, all changes up to the answer are
/// pulled and shown at once before a record of it is, so that no read shows a part of a transaction.
extension SyncedStore {
  /// Pulls where an answer has news of what the file follows; else it costs one read. Throws `BothyError` where the pull
  /// does not get through: then nothing of the answer is shown.
  ///
  /// - Parameter window: the query, with the part of it that the answer covers, and the ids of the answer: a local record
  ///   in that part that the answer lacks is news too.
  func catchUp(
    with records: [ServerRecord], lacking window: (query: AnyQuery, ids: Set<String>)? = nil
  ) async throws {
    // Inside a sync, one of its own can't be waited for.
    guard !engine.isInside else { return }
    // A sync that was running already may have asked before the answer was made.
    for _ in 0..<2 {
      let pulls = try await store.read { try Self.pulls(for: records, lacking: window, in: $0) }
      guard !pulls.isEmpty else { return }
      let report = await engine.sync(
        SyncRunner.Request(scope: .pull, pulls: pulls, ignoresRetryTimes: true))
      if let reason = report.stop { throw BothyError(reason) }
    }
  }

  /// All that the file follows and has in full, where an answer has news of any of it; else nothing.
  private static func pulls(
    for records: [ServerRecord], lacking window: (query: AnyQuery, ids: Set<String>)?,
    in transaction: ReadTransaction
  ) throws -> [SyncScope] {
    let scopes = try PullState.all(in: transaction).filter(\.isComplete).map(\.scope)
    guard !scopes.isEmpty else { return [] }
    func isFollowed(_ container: String) -> Bool { scopes.contains { $0.contains(container) } }
    let pending = try OutboxQueue.pending(in: transaction)
    if try records.contains(where: { try isFollowed($0.container) && isNews($0, pending, in: transaction) }) {
      return scopes
    }
    guard let window else { return [] }
    return try lacking(window.ids, window.query, in: transaction).contains { isFollowed($0.container) }
      ? scopes : []
  }

  /// True if a record is newer than the last version of it that the server is known to have.
  private static func isNews(
    _ record: ServerRecord, _ pending: PendingLookup, in transaction: ReadTransaction
  ) throws -> Bool {
    guard let table = transaction.catalog.tableIfKnown(record.id.type) else { return false }
    let known =
      try pending(record.id).map { $0.reported?.version }
      ?? transaction.row(table, id: record.id.id)?.version
    if let known, !record.version.isNewer(than: known) { return false }
    // A version that is kept aside was pulled, though the row is older.
    let kept = try UnreadableTable.version(of: record.id, in: transaction)
    return kept.map { record.version.isNewer(than: $0) } ?? true
  }

  /// The local records of a query that should be in the server's answer: each changed there, or is gone.
  static func lacking(
    _ found: Set<String>, _ window: AnyQuery, in transaction: ReadTransaction
  ) throws -> [AnyRecord] {
    try transaction.fetch(window).filter { record in
      try record.version != nil && !found.contains(record.id)
        && OutboxQueue.mark(record.recordID, in: transaction) == nil
    }
  }
}

/// Bringing what changed on the server without a sync.
extension SyncedStore {
  /// Takes in the pages of a scope from a cursor on, or from the first with `nil`, and passes each to `body` with the cursor
  /// that it was requested at. One round trip and one transaction for each. Pending changes are not touched.
  ///
  /// Throws `BothyError`: `.cancelled` when the task is cancelled, before the next page, and `.serverError` when the
  /// server's answers bring it no further. The pages that were taken in stay.
  package func bringPages(
    of scope: SyncScope, since token: String?, _ body: (SyncResponse.Page, String?) -> Void
  ) async throws {
    let limit = configuration.pageSize
    var (cursor, fruitless) = (token, 0)
    while true {
      let page: SyncResponse.Page
      do {
        let pulled = try await pulledStates()
        page = try await self.page(of: scope, at: cursor, limit: limit)
        try await take(page, since: pulled)
      } catch let error as BothyError where error.code == .cancelled {
        throw BothyError(SyncStop.cancelled)
      }
      body(page, cursor)
      fruitless = page.cursor == cursor ? fruitless + 1 : 0
      cursor = page.cursor
      guard page.more else { return }
      if fruitless > SyncRunner.fruitlessLimit { throw BothyError(SyncRunner.noProgress) }
    }
  }

  private func page(
    of scope: SyncScope, at cursor: String?, limit: Int
  ) async throws(BothyError) -> SyncResponse.Page {
    if Task.isCancelled { throw BothyError(SyncStop.cancelled) }
    let request = SyncRequest(
      device: device, schemaVersion: store.schema.version, pulls: [.init(scope, cursor: cursor)], limit: limit
    )
    let response: SyncResponse
    do { response = try await remote.exchange(request) } catch {
      throw Task.isCancelled ? BothyError(SyncStop.cancelled) : BothyError(error)
    }
    guard let page = response.pages.first(where: { $0.scope == scope }) else {
      throw BothyError(.protocolViolation, "The server gave no page of '\(scope.container)'.")
    }
    return page
  }

  private func take(_ page: SyncResponse.Page, since pulled: [PullState]) async throws {
    let now = clock.now()
    try await store.write(origin: .remote) { transaction in
      var pull = try PullApplication(transaction, now: now)
      pull.asked = pulled
      for change in page.changes { try pull.apply(change) }
      for id in page.outOfScope {
        if try OutboxQueue.mark(id, in: transaction) == nil { try pull.leave(id, from: page.scope) }
      }
    }
  }

  /// Returns the states of all pulled scopes, which are read before the server is asked.
  func pulledStates() async throws -> [PullState] { try await store.read { try PullState.all(in: $0) } }

  /// Takes in what a query brought. Each record is applied unless something at least as new is here; where it has
  /// pending work it is kept beside that, for the merge policy. One transaction.
  ///
  /// - Parameters:
  ///   - ifNewer: false to apply a record with the version that is here too.
  ///   - pulled: the pulled scopes before the query. A record that pulls have removed since stays away.
  func take(
    _ records: [ServerRecord], ifNewer: Bool = true, since pulled: [PullState]
  ) async throws {
    let now = clock.now()
    try await store.write(origin: .remote) { transaction in
      var pull = try PullApplication(transaction, now: now)
      pull.asked = pulled
      for record in records { try pull.apply(record, ifNewer: ifNewer) }
    }
  }
}
