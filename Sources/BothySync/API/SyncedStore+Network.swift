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
    let (pending, marks) = try await store.read { transaction in
      (
        isCut || !isStored ? try OutboxQueue.ids(of: query.type, in: transaction) : Set<String>(),
        try Refetch.open(query, in: transaction).filter { !$0.id.isEmpty && !$0.type.isEmpty }
      )
    }
    let found: NetworkAnswer
    do { found = try await ask(query, without: pending) } catch { throw BothyError(error) }
    var shown = query
    shown.offset = query.offset - found.offset
    guard isStored else {
      let records = try await unmerged(query, found.records, with: pending)
      let schema = try store.catalog.table(query.type).schema
      let values = try shown.evaluate(over: records, schema: schema).map(convert)
      return FetchResult(records: values, origin: .remote, isComplete: true, age: .zero)
    }
    try await merge(found, query, ending: marks)
    for field in query.include { try await fetchTargets(of: field, in: found.records) }
    if !found.isWhole {
      // What else there is of the type here may have changed there since.
      let ids = pending.union(found.records.map(\.id.id))
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
    var records: [ServerRecord] = []
    /// How many records of the server's answer were left out before the first.
    var offset = 0
    /// Whether no record of the server's answer follows.
    var isExhausted = false
    /// Whether these are all the records there are for the query.
    var isWhole: Bool { offset == 0 && isExhausted }
  }

  private static let pageSize = 1000

  /// Requests as many records as the query wants besides those that are pending here, since these are shown as they are
  /// here. One round trip for each thousand.
  func ask(
    _ query: AnyQuery, without pending: Set<String> = []
  ) async throws(RemoteError) -> NetworkAnswer {
    var answer = NetworkAnswer(offset: pending.isEmpty ? query.offset : 0)
    let wanted = query.limit.map { $0.addingClamped(query.offset - answer.offset) }
    var counted = 0
    var page = query
    while true {
      let size = min(wanted.map { $0 - counted } ?? Self.pageSize, Self.pageSize)
      page.limit = size
      page.offset = answer.offset.addingClamped(answer.records.count)
      let found = try await remote.query(page)
      answer.records += found
      counted += pending.isEmpty ? found.count : found.count { !pending.contains($0.id.id) }
      answer.isExhausted = found.count < size
      if answer.isExhausted || counted == wanted { return answer }
    }
  }

  /// The records with these ids, as the server has them. One round trip for each thousand.
  private func ask(_ type: String, ids: [String]) async throws(RemoteError) -> [ServerRecord] {
    var records: [ServerRecord] = []
    var rest = ids[...]
    while !rest.isEmpty {
      let some = rest.prefix(Self.pageSize)
      rest = rest.dropFirst(Self.pageSize)
      records += try await ask(AnyQuery(type, where: .oneOf(field: "id", some.map { .text($0) }))).records
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
    let now = clock.now()
    let found: [ServerRecord]
    do { found = try await ask(type, ids: ids.sorted()) } catch { throw BothyError(error) }
    try await catchUp(with: found)
    try await store.write(origin: .remote) { transaction in
      var pull = try PullApplication(transaction, now: now)
      for record in found { try pull.apply(record) }
    }
  }

  /// Stores what came, and finds out what became of records that belong into the answer here and are not in it: they
  /// changed or are gone. A limited answer says so of those before its last record. Ends the marks that the answer
  /// settles: those of its records, and all of a whole answer without a condition.
  private func merge(_ answer: NetworkAnswer, _ query: AnyQuery, ending marks: [Refetch.Mark]) async throws {
    var window = query
    window.offset = answer.offset
    window.limit = answer.isExhausted ? nil : answer.records.count
    let compared = window
    let arrived = Set(answer.records.map(\.id))
    let isAll = answer.isWhole && query.filter == .all
    let settled = marks.filter { isAll || arrived.contains($0.record) }
    try await catchUp(with: answer.records, lacking: compared)
    let now = clock.now()
    @Sendable func complete(in transaction: WriteTransaction) throws {
      try Refetch.end(settled, in: transaction)
      if answer.isWhole { try QueryCompleteness.note(query, at: now, in: transaction) }
    }
    let suspects = try await store.write(origin: .remote) { transaction in
      var pull = try PullApplication(transaction, now: now)
      for record in answer.records { try pull.apply(record) }
      let suspects = try Self.lacking(answer.records, compared, in: transaction)
      if suspects.isEmpty { try complete(in: transaction) }
      return suspects
    }
    guard !suspects.isEmpty else { return }
    let there: [ServerRecord]
    do {
      // What another server does not have was not deleted.
      try await remote.verify()
      there = try await ask(query.type, ids: suspects.map(\.id))
    } catch { throw BothyError(error) }
    let present = Set(there.map(\.id.id))
    try await store.write(origin: .remote) { transaction in
      var pull = try PullApplication(transaction, now: now)
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

  /// What keeps the query from being evaluated here: it names a field that this schema does not declare. The server
  /// may know it: it has a newer schema, or none. Throws `BothyError` for a query that is wrong in another way.
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
      let found: NetworkAnswer
      do { found = try await ask(query) } catch {
        if error.errorClass == .unreachable && policy != .remote {
          throw BothyError.notLocallyEvaluable(reason)
        }
        throw BothyError(error)
      }
      if options.cacheResults ?? true && configuration.cache == .enabled {
        try await catchUp(with: found.records)
        try await take(found.records)
      }
      let values = try await unmerged(query, found.records).map(convert)
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
          // One that can't be read is set aside by the pull that brings it.
          guard case .success(let row) = UnreadableTable.read(record, table, repaired: &repaired) else {
            return nil
          }
          return AnyRecord(id: record.id.id, row, table)
        }
    }
  }
}
