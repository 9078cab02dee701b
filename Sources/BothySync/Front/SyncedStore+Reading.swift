public import BothyStore

/// Reading by policy.
extension SyncedStore {
  /// The records a query selects, by the fetch policy of `options`, else the configured one.
  ///
  /// Cost: one local query; with a network policy one round trip before it for each thousand records, and one
  /// transaction to merge them. Throws `SyncError` `.unreachable` where the policy needs the server.
  public func fetch<E: Entity>(
    _ query: Query<E>, options: RequestOptions = RequestOptions()
  ) async throws -> FetchResult<E> {
    try await answer(query.recordQuery, options, { try $0.fetch(query) }, { try $0.entity(E.self) })
  }

  /// The same for any type.
  public func fetch(
    _ query: RecordQuery, options: RequestOptions = RequestOptions()
  ) async throws -> FetchResult<Record> {
    try await answer(query, options, { try $0.fetch(query) }, { $0 })
  }

  private func answer<Value: Sendable>(
    _ query: RecordQuery, _ options: RequestOptions,
    _ read: @escaping @Sendable (ReadTransaction) throws -> [Value],
    _ convert: @Sendable (Record) throws -> Value
  ) async throws -> FetchResult<Value> {
    switch options.fetchPolicy ?? configuration.fetchPolicy {
    case .cacheOnly: return try await local(query, read)
    case .cacheElseNetwork:
      let cached = try await local(query, read)
      return cached.values.isEmpty ? try await fromNetwork(query, options, read, convert) : cached
    case .networkOnly: return try await fromNetwork(query, options, read, convert)
    case .networkElseCache:
      do { return try await fromNetwork(query, options, read, convert) } catch let error as SyncError
        where error.code == .unreachable
      { return try await local(query, read) }
    case .syncThenCache:
      let report = await sync(.both, container: query.container)
      var result = try await local(query, read)
      if report.skipped == nil { result.origin = .network }
      return result
    case .cacheThenRefresh:
      engine.ask()
      return try await local(query, read)
    }
  }

  /// One record by id, by policy. Nil when there is none.
  public func fetch<E: Entity>(_ type: E.Type, id: String, options: RequestOptions = RequestOptions())
    async throws -> E?
  {
    try await fetch(Query<E>().where(.compare(field: "id", .equal, .text(id))), options: options).values.first
  }

  /// The number of records a query selects, by policy. Network answers are the server's own count, one round
  /// trip, unless records of the type are pending here: then the records are fetched.
  public func count(_ query: RecordQuery, options: RequestOptions = RequestOptions()) async throws -> Int {
    let policy = options.fetchPolicy ?? configuration.fetchPolicy
    switch policy {
    case .networkOnly, .networkElseCache:
      do { return try await networkCount(query, options) } catch let error as SyncError
        where policy == .networkElseCache && error.code == .unreachable
      { return try await store.read { try $0.count(query) } }
    case .cacheElseNetwork:
      let cached = try await store.read { try $0.count(query) }
      return cached > 0 ? cached : try await networkCount(query, options)
    case .syncThenCache, .cacheOnly, .cacheThenRefresh:
      return try await fetch(query, options: options).values.count
    }
  }

  // MARK: parts

  /// The server's count where nothing of the type is pending here; otherwise the records are brought and counted
  /// together with what is pending (rule R2).
  private func networkCount(_ query: RecordQuery, _ options: RequestOptions) async throws -> Int {
    let isPending = try await store.read { transaction in
      try !Outbox.entries(where: "type = ?", [.text(query.type)], limit: 1, in: transaction).isEmpty
    }
    guard isPending else {
      do { return try await remote.count(query) } catch { throw SyncError(error) }
    }
    var options = options
    options.fetchPolicy = .networkOnly
    return try await fetch(query, options: options).values.count
  }

  private func local<Value: Sendable>(
    _ query: RecordQuery, _ read: @escaping @Sendable (ReadTransaction) throws -> [Value]
  ) async throws -> FetchResult<Value> {
    let now = clock.now()
    let scopes = configuration.pullScopes
    return try await store.read { transaction in
      let covering = try PullState.all(in: transaction).first {
        $0.isComplete && scopes.contains($0.scope) && $0.scope.contains(query.container ?? query.type)
      }
      return FetchResult(
        values: try read(transaction), origin: .cache, isComplete: covering != nil,
        age: covering?.pulledAt.map { .milliseconds(max(0, now - $0)) })
    }
  }

  private func fromNetwork<Value: Sendable>(
    _ query: RecordQuery, _ options: RequestOptions,
    _ read: @escaping @Sendable (ReadTransaction) throws -> [Value],
    _ convert: @Sendable (Record) throws -> Value
  ) async throws -> FetchResult<Value> {
    let found: NetworkAnswer
    do { found = try await ask(query) } catch { throw SyncError(error) }
    guard options.cacheResults ?? true else {
      let values = try await unmerged(query, found.records).map(convert)
      return FetchResult(values: values, origin: .network, isComplete: true, age: .zero)
    }
    try await merge(found, query)
    for field in query.include { try await fetchTargets(of: field, in: found.records) }
    var result = try await local(query, read)
    result.origin = .network
    result.isComplete = true
    result.age = .zero
    return result
  }

  private struct NetworkAnswer: Sendable {
    var records: [ServerRecord]
    /// Whether these are all the records there are for the query.
    var isWhole: Bool
  }

  private static let pageSize = 1000

  private func ask(_ query: RecordQuery) async throws(RemoteError) -> NetworkAnswer {
    var records: [ServerRecord] = []
    var page = query
    while true {
      let left = query.limit.map { $0 - records.count } ?? Self.pageSize
      page.limit = min(left, Self.pageSize)
      page.offset = query.offset + records.count
      let found = try await remote.query(page)
      records += found
      if found.count < page.limit ?? 0 || records.count == query.limit { break }
    }
    return NetworkAnswer(records: records, isWhole: query.limit == nil && query.offset == 0)
  }

  /// Brings the records that a reference field names. One round trip for each thousand.
  private func fetchTargets(of field: String, in records: [ServerRecord]) async throws {
    guard let first = records.first, let type = store.schema[first.id.type]?[field]?.kind.target?.type else {
      return
    }
    var ids: Set<String> = []
    for record in records {
      let value = try record.fields.members()[field]
      ids.formUnion(value?.stringValue.map { [$0] } ?? value?.arrayValue?.compactMap(\.stringValue) ?? [])
    }
    guard !ids.isEmpty else { return }
    let now = clock.now()
    let targets = RecordQuery(type, where: .oneOf(field: "id", ids.sorted().map { .text($0) }))
    let found: NetworkAnswer
    do { found = try await ask(targets) } catch { throw SyncError(error) }
    try await store.write(origin: .remote) { transaction in
      var pull = try PullApplication(transaction, now: now)
      for record in found.records { try pull.apply(record) }
    }
  }

  /// Stores what came, and finds out what became of records that match here and not there: an answer that is
  /// whole says that they changed or are gone, a limited one says nothing.
  private func merge(_ whole: NetworkAnswer, _ query: RecordQuery) async throws {
    let now = clock.now()
    let found = Set(whole.records.map(\.id.id))
    let suspects = try await store.write(origin: .remote) { transaction in
      var pull = try PullApplication(transaction, now: now)
      for record in whole.records { try pull.apply(record) }
      guard whole.isWhole else { return [Record]() }
      return try transaction.fetch(query).filter { record in
        try record.version != nil && !found.contains(record.id)
          && Outbox.mark(record.recordID, in: transaction) == nil
      }
    }
    guard !suspects.isEmpty else { return }
    let answer: NetworkAnswer
    do {
      answer = try await ask(
        RecordQuery(query.type, where: .oneOf(field: "id", suspects.map { .text($0.id) })))
    } catch { throw SyncError(error) }
    let present = Set(answer.records.map(\.id.id))
    try await store.write(origin: .remote) { transaction in
      var pull = try PullApplication(transaction, now: now)
      for record in answer.records { try pull.apply(record) }
      let table = try transaction.catalog.table(query.type)
      for suspect in suspects where !present.contains(suspect.id) {
        guard let version = suspect.version, try Outbox.mark(suspect.recordID, in: transaction) == nil else {
          continue
        }
        // Unless a sync has brought a newer one meanwhile.
        _ = try transaction.evict(table, id: suspect.id, upTo: version)
      }
    }
  }

  /// The answer with nothing stored: what is pending here replaces what the server has of it.
  private func unmerged(_ query: RecordQuery, _ records: [ServerRecord]) async throws -> [Record] {
    try await store.read { transaction in
      let table = try transaction.catalog.table(query.type)
      return try records.compactMap { record -> Record? in
        if let mark = try Outbox.mark(record.id, in: transaction) {
          return mark.kind == .delete ? nil : try transaction.record(record.id)
        }
        var repaired = false
        let row = try table.row(
          record.fields, container: record.container, version: record.version, repaired: &repaired)
        return Record(id: record.id.id, row, table)
      }
    }
  }
}

/// An answer, and where it comes from.
public struct FetchResult<Value: Sendable>: Sendable {
  public enum Origin: String, Sendable, Hashable {
    case network
    case cache
  }

  public var values: [Value]
  public var origin: Origin
  /// Whether all there is for the query is known to be here.
  public var isComplete: Bool
  /// How long ago the server was last asked; nil when it never was.
  public var age: Duration?
}
