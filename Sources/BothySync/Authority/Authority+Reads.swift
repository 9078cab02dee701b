public import BothyStore

/// The authority's answers to single questions: one record, a query, a digest, a validator.
extension Authority {
  /// The record, a tombstone, or nil when there is none that the principal may see.
  public func record(space: String, principal: Principal, _ id: RecordID) async throws -> ServerRecord? {
    let found = try await ledger.read(space: space) { try $0.records([id])[id]?.record }
    guard let found, rules.shows(found, to: principal) else { return nil }
    return found
  }

  /// Applies one operation with no device and no memory of its id: a person's request.
  public func perform(space: String, principal: Principal, _ operation: Operation) async throws
    -> Outcome.Verdict
  {
    let now = now()
    return try await ledger.write(space: space) { ledger in
      var batch = OperationBatch(
        judgement: Judgement(rules: rules, principal: principal, now: now), head: ledger.head,
        records: try ledger.records(
          [operation.record] + rules.references(in: operation.fields, of: operation.record.type)))
      let verdict = try batch.apply(operation)
      try ledger.put(batch.written)
      return verdict
    }
  }

  /// The most records that one query gives: a client may count on a thousand, whatever the page limit.
  private var queryLimit: Int { max(rules.pageLimit, 1000) }

  /// The live records that a query selects and the principal may see, at most `queryLimit`. Where each record has
  /// its own readers, all that the query selects are read, so that limit and offset count what may be seen.
  /// Throws `AuthorityError` or `StoreError` for a query that does not fit the schema.
  public func query(space: String, principal: Principal, _ query: RecordQuery) async throws -> [ServerRecord]
  {
    let limit = min(query.limit ?? queryLimit, queryLimit)
    let isRestricted = readersDiffer(of: query.type)
    var selected = query
    selected.limit = isRestricted ? nil : limit
    selected.offset = isRestricted ? 0 : query.offset
    let final = selected
    let found = try await ledger.read(space: space) { ledger in
      try ledger.query(final, schema: rules.schema).map(\.record).filter { rules.shows($0, to: principal) }
    }
    return isRestricted ? Array(found.dropFirst(query.offset).prefix(limit)) : found
  }

  private func readersDiffer(of type: String) -> Bool {
    guard let access = rules.schema?[type]?.permissions?.read else { return false }
    return access != .anyone && access != .authenticated
  }

  /// The number of records that a query selects, with no regard to its limit.
  public func count(space: String, principal: Principal, _ query: RecordQuery) async throws -> Int {
    if readersDiffer(of: query.type) {
      var all = query
      all.limit = nil
      let final = all
      return try await ledger.read(space: space) { ledger in
        try ledger.query(final, schema: rules.schema).count { rules.shows($0.record, to: principal) }
      }
    }
    guard rules.allows(.read, query.type, principal, owner: nil) else { return 0 }
    return try await ledger.read(space: space) { try $0.count(query, schema: rules.schema) }
  }

  /// The digest of the records of a scope that the principal may see. Reads all of them.
  public func digest(space: String, principal: Principal, _ scope: PullScope) async throws -> ScopeDigest {
    try await ledger.read(space: space) { ledger in
      var sum = DigestSum()
      try ledger.forEachRecord(in: scope) { entry in
        guard rules.shows(entry.record, to: principal) else { return }
        sum.add(entry.record.id, fields: entry.record.fields.bytes)
      }
      return sum.digest(of: scope, position: ledger.head)
    }
  }

  /// A text that changes whenever a record of the scope does: for `ETag` and 304.
  public func validator(space: String, _ scope: PullScope) async throws -> String {
    try await ledger.read(space: space) { "\($0.epoch).\(try $0.position(of: scope))" }
  }
}
