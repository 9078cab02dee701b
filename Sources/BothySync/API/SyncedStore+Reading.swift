package import BothyStore

/// Reading by policy.
extension SyncedStore {
  /// The records a query selects, by the fetch policy of `options`, else the configured one.
  ///
  /// Costs one local query. A network policy adds one round trip before it for each thousand records, and one
  /// transaction to merge them. An answer with news of what the file follows costs a pull more, so that no part of a
  /// transaction is shown. Throws `BothyError` `.unreachable` where the policy needs the server.
  package func fetchResult<E: Entity>(
    _ query: RecordQuery<E>, options: RequestOptions = RequestOptions()
  ) async throws -> FetchResult<E> {
    try await answer(
      query.recordQuery, options,
      { transaction, asked in
        var typed = query
        typed.recordQuery = asked
        return try transaction.fetch(typed)
      }, { try $0.entity(E.self) })
  }

  /// Like `fetchResult(_:options:)` with a typed query, but for any type.
  package func fetchResult(
    _ query: AnyQuery, options: RequestOptions = RequestOptions()
  ) async throws -> FetchResult<AnyRecord> {
    try await answer(query, options, { try $0.fetch($1) }, { $0 })
  }

  private func answer<Value: Identifiable<String> & Sendable>(
    _ query: AnyQuery, _ options: RequestOptions,
    _ read: @escaping LocalRead<Value>,
    _ convert: @escaping @Sendable (AnyRecord) throws -> Value
  ) async throws -> FetchResult<Value> {
    let configuration = configuration
    let policy = try self.policy(for: query.type, options, configuration)
    if let reason = try reasonForServerOnly(query) {
      return try await fromServerAlone(query, because: reason, policy, options, convert)
    }
    switch policy {
    case .local: return try await local(query, read)
    case .localElseRemote:
      let cached = try await local(query, read)
      let isKnownEmpty = configuration.trustsCompleteness && cached.isComplete
      guard cached.stale.isEmpty && (!cached.records.isEmpty || isKnownEmpty) else {
        do { return try await fromNetwork(query, options, read, convert) } catch let error as BothyError
          where error.leavesTheFile && !cached.records.isEmpty
        { return cached }
      }
      return cached
    case .remote: return try await fromNetwork(query, options, read, convert)
    case .remoteElseLocal:
      do { return try await fromNetwork(query, options, read, convert) } catch let error as BothyError
        where error.leavesTheFile && configuration.cache == .enabled
      { return try await local(query, read) }
    case .syncThenLocal:
      let report = await sync(
        container: query.container, within: options.timeout ?? configuration.readTimeout)
      var result = try await local(query, read)
      if let report, report.stop == nil { result.origin = .remote }
      return result
    case .localThenRemote:
      engine.ask()
      return try await local(query, read)
    }
  }

  /// The policy of a call. Types that are not synced have nothing to ask a server; without a cache the server is the
  /// only one to ask.
  func policy(
    for type: String, _ options: RequestOptions, _ configuration: SyncOptions
  ) throws -> ReadPolicy {
    let policy = options.readPolicy ?? readPolicy
    if store.schema[type]?.isSynced == false { return .local }
    guard configuration.cache == .disabled else { return policy }
    if policy == .local { throw BothyError.cacheDisabled }
    return .remote
  }

  /// Syncs both ways; after `timeout` the sync continues by itself, and nil is returned. So it is while `run()` waits
  /// after a failure.
  func sync(container: String?, within timeout: Duration?) async -> SyncReport? {
    // The loop tries again by itself.
    if engine.isWaitingToRetry { return nil }
    guard let timeout else { return await sync(.both, container: container, ifRunning: .join) }
    // Not cancelled with the wait for it.
    let sync = Task { await self.sync(.both, container: container, ifRunning: .join) }
    return await Bounded.run(within: timeout, sleep: configuration.sleep) { await sync.value }
  }

  /// One record by id, by policy. Nil when it doesn't exist. Costs and throws as a query.
  package func fetch<E: Entity>(_ type: E.Type, id: String, options: RequestOptions) async throws -> E? {
    try await fetchResult(RecordQuery<E>().where(.compare(field: "id", .equal, .text(id))), options: options)
      .records
      .first
  }

  /// The number of records a query selects, by policy. Network answers are the server's own count, one round
  /// trip, unless records of the type are pending here: then the records are fetched. Throws as `fetch`.
  package func count(_ query: AnyQuery, options: RequestOptions = RequestOptions()) async throws -> Int {
    let configuration = configuration
    let policy = try self.policy(for: query.type, options, configuration)
    if try reasonForServerOnly(query) != nil {
      return try await fetchResult(query, options: options).records.count
    }
    switch policy {
    case .remote, .remoteElseLocal:
      do { return try await networkCount(query, options) } catch let error as BothyError
        where policy == .remoteElseLocal && error.leavesTheFile && configuration.cache == .enabled
      { return try await store.read { try $0.count(query) } }
    case .localElseRemote:
      let cached = try await local(query) { try $0.fetch($1) }
      let isKnownEmpty = configuration.trustsCompleteness && cached.isComplete
      return cached.records.isEmpty && !isKnownEmpty
        ? try await networkCount(query, options) : cached.records.count
    case .syncThenLocal, .local, .localThenRemote:
      return try await fetchResult(query, options: options).records.count
    }
  }

  // MARK: parts

  /// The server's count where nothing of the type is pending here; otherwise the records are brought and counted
  /// together with the pending ones.
  private func networkCount(_ query: AnyQuery, _ options: RequestOptions) async throws -> Int {
    let isPending = try await store.read { transaction in
      try !OutboxQueue.entries(where: "type = ?", [query.type], limit: 1, in: transaction).isEmpty
    }
    guard isPending else {
      do { return try await remote.count(query) } catch { throw BothyError(error) }
    }
    var options = options
    options.readPolicy = .remote
    return try await fetchResult(query, options: options).records.count
  }

  func local<Value: Identifiable<String> & Sendable>(
    _ query: AnyQuery, _ read: @escaping LocalRead<Value>
  ) async throws -> FetchResult<Value> {
    let now = clock.now()
    let heard = engine.pass.heard
    let asked = SyncScope(
      container: query.container ?? query.type, includesChildren: query.includesChildren)
    return try await store.read { transaction in
      let pulled = try PullState.all(in: transaction).filter {
        $0.isComplete && $0.scope.contains(asked)
      }.compactMap(heard.time).max()
      let answered = try QueryCompleteness.time(of: query, in: transaction)
      let known =
        try Refetch.open(query, in: transaction).isEmpty ? [pulled, answered].compactMap { $0 }.max() : nil
      let values = try read(transaction, query)
      let stale = try StaleRows.ids(of: query.type, in: transaction)
      return FetchResult(
        records: values, origin: .local, isComplete: known != nil,
        age: known.map { .milliseconds(max(0, now - $0)) },
        stale: stale.isEmpty ? [] : stale.intersection(values.map(\.id)))
    }
  }
}
