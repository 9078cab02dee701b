import BothyStore

/// Asking the server, and bringing its answer into the local store.
extension SyncedStore {
  func fromNetwork<Value: Identifiable<String> & Sendable>(
    _ query: RecordQuery, _ options: RequestOptions,
    _ read: @escaping @Sendable (ReadTransaction) throws -> [Value],
    _ convert: @Sendable (Record) throws -> Value
  ) async throws -> FetchResult<Value> {
    let found: NetworkAnswer
    do { found = try await ask(query) } catch { throw SyncError(error) }
    guard options.cacheResults ?? true, configuration.cache == .enabled else {
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

  struct NetworkAnswer: Sendable {
    var records: [ServerRecord]
    /// Whether these are all the records there are for the query.
    var isWhole: Bool
  }

  private static let pageSize = 1000

  func ask(_ query: RecordQuery) async throws(RemoteError) -> NetworkAnswer {
    var records: [ServerRecord] = []
    var page = query
    while true {
      let left = query.limit.map { $0 - records.count } ?? Self.pageSize
      page.limit = min(left, Self.pageSize)
      page.offset = query.offset.addingClamped(records.count)
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
      let suspects = try transaction.fetch(query).filter { record in
        try record.version != nil && !found.contains(record.id)
          && Outbox.mark(record.recordID, in: transaction) == nil
      }
      if suspects.isEmpty { try Coverage.note(query, at: now, in: transaction) }
      return suspects
    }
    guard !suspects.isEmpty else { return }
    let answer: NetworkAnswer
    do {
      // What another server does not have was not deleted.
      try await remote.verify()
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
      try Coverage.note(query, at: now, in: transaction)
    }
  }

  // MARK: conditions that only the server can evaluate

  /// What keeps the query from being evaluated here: it names a field that this schema does not declare. The server
  /// may know it: it has a newer schema, or none. Throws `StoreError` for a query that is wrong in another way.
  func reasonForServerOnly(_ query: RecordQuery) throws -> StoreError? {
    do {
      _ = try query.checked(for: store.catalog.table(query.type).schema)
      return nil
    } catch {
      guard error.code == .unknownField else { throw error }
      return error
    }
  }

  /// The server's own answer, in its order. What it brings is stored, and nothing removed for it. Without the server
  /// there is no answer.
  func fromServerAlone<Value: Identifiable<String> & Sendable>(
    _ query: RecordQuery, because reason: StoreError, _ policy: FetchPolicy, _ options: RequestOptions,
    _ convert: @Sendable (Record) throws -> Value
  ) async throws -> FetchResult<Value> {
    do {
      guard policy != .cacheOnly && policy != .cacheThenRefresh else {
        throw SyncError.notLocallyEvaluable(reason)
      }
      let found: NetworkAnswer
      do { found = try await ask(query) } catch {
        if error.errorClass == .unreachable && policy != .networkOnly {
          throw SyncError.notLocallyEvaluable(reason)
        }
        throw SyncError(error)
      }
      if options.cacheResults ?? true && configuration.cache == .enabled {
        try await take(found.records)
      }
      let values = try await unmerged(query, found.records).map(convert)
      return FetchResult(values: values, origin: .network, isComplete: true, age: .zero)
    } catch let error as SyncError where error.code == .notLocallyEvaluable {
      guard configuration.unevaluable == .empty else { throw error }
      return FetchResult(values: [], origin: .cache, isComplete: false, age: nil)
    }
  }

  /// The answer with nothing stored: what is pending here replaces what the server has of it.
  func unmerged(_ query: RecordQuery, _ records: [ServerRecord]) async throws -> [Record] {
    try await store.read { transaction in
      let table = try transaction.catalog.table(query.type)
      return try records.compactMap { record -> Record? in
        if let mark = try Outbox.mark(record.id, in: transaction) {
          return mark.kind == .delete ? nil : try transaction.record(record.id)
        }
        var repaired = false
        // One that can't be read is set aside by the pull that brings it.
        guard case .success(let row) = UnreadableTable.read(record, table, repaired: &repaired) else {
          return nil
        }
        return Record(id: record.id.id, row, table)
      }
    }
  }
}
