import BothyStore
public import struct Foundation.Date

/// The reading verbs, answered from the local file.
extension SyncedStore: ReadableStore {
  /// Runs a block on one snapshot of the local file, off the caller's thread. Makes no request. In a file it
  /// doesn't wait for writes.
  ///
  /// ```swift
  /// let (huts, bookings) = try await store.read { (try $0.fetch(Hut.self), try $0.fetch(Booking.self)) }
  /// ```
  ///
  /// Pending changes are part of the snapshot. Throws what the block throws, and `BothyError` for a file that
  /// can't be read.
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (ReadTransaction) throws -> Result
  ) async throws -> Result { try await store.read(body) }

  /// Returns the present value of a request, then each later one, whether a save here or a sync brought it.
  ///
  /// ```swift
  /// for try await count in store.values(of: Todo.where { !$0.done }.count()) { show("\(count) to do") }
  /// ```
  ///
  /// Makes no request. Costs one read at first, and one after each commit that concerns the request. A slow
  /// reader skips to the newest. Ends when the task is cancelled or the store is closed, and throws an error of
  /// the read.
  public func values<R: ReadRequest>(of request: R) -> LiveValues<R.Value> { store.values(of: request) }

  /// Fetches the records that a query selects, by a read policy; `nil` means the one in force.
  ///
  /// ```swift
  /// let open = try await store.fetch(Todo.where { !$0.done }.order(by: \.due).limit(20))
  /// let seats = try await store.fetch(Booking.where { $0.hut == "Corrour" }, policy: .remote)
  /// ```
  ///
  /// Costs one local query. A policy that uses the server adds a round trip for each thousand records, and
  /// stores what it brings. Pending changes are part of every answer. Without an order the records are sorted
  /// by id.
  ///
  /// - Throws: `BothyError` `.unreachable` where the policy needs the server, and `.cancelled` for a task that
  ///   is cancelled between round trips.
  public func fetch<E: Entity>(_ query: RecordQuery<E>, policy: ReadPolicy? = nil) async throws -> [E] {
    try await fetchResult(query, options: RequestOptions(readPolicy: policy)).records
  }

  /// Fetches by a read policy, and reports where the answer comes from. Costs and throws as `fetch(_:policy:)`.
  ///
  /// ```swift
  /// let found = try await store.fetchResult(Booking.where { $0.hut == "Corrour" }, policy: .remoteElseLocal)
  /// show(found.origin == .remote ? "\(found.count) bookings" : "\(found.count) bookings, as last known")
  /// ```
  public func fetchResult<E: Entity>(
    _ query: RecordQuery<E>, policy: ReadPolicy
  ) async throws -> FetchResult<E> {
    try await fetchResult(query, options: RequestOptions(readPolicy: policy))
  }

  /// Fetches every record of a type, ordered by id, by a read policy; `nil` means the one in force.
  ///
  /// All are in memory at once: `records(_:pageSize:)` reads pages. Costs and throws as a query.
  public func fetch<E: Entity>(_ type: E.Type, policy: ReadPolicy? = nil) async throws -> [E] {
    try await fetch(RecordQuery<E>(), policy: policy)
  }

  /// Fetches one record by a read policy, or `nil` if it doesn't exist or is deleted here.
  ///
  /// ```swift
  /// let corrour = try await store.fetch(Hut.self, id: "corrour", policy: .localElseRemote)
  /// ```
  ///
  /// One look-up, and one round trip under a policy that uses the server. Throws as a query.
  public func fetch<E: Entity>(_ type: E.Type, id: String, policy: ReadPolicy? = nil) async throws -> E? {
    try await fetch(type, id: id, options: RequestOptions(readPolicy: policy))
  }
}

extension ReadTransaction {
  /// Returns the times of creation and of the last edit and the owner of a record of a synced type, or `nil` if it isn't on
  /// this device. One row by primary key.
  ///
  /// ```swift
  /// let metadata = try await store.read { try $0.metadata(of: RecordID(trip)) }
  /// show(metadata?.owner ?? "no owner")
  /// ```
  ///
  /// A local change sets the times by the device's clock, corrected by the server's. Once the server has accepted it,
  /// they are the server's. Throws `BothyError` `unknownType`.
  public func metadata(of record: RecordID) throws -> (created: Date?, modified: Date?, owner: String?)? {
    let metadata = try row(catalog.table(record.type), id: record.id)?.metadata
    return metadata.map { ($0.created, $0.modified, $0.owner) }
  }
}

/// Reading by policy.
extension SyncedStore {
  /// The records a query selects, by the read policy of `options`, else the configured one.
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
      engine.request()
      return try await local(query, read)
    }
  }

  /// The policy of a call. Types that are not synced have nothing to ask a server; without a cache the server is the
  /// only one to ask.
  func policy(
    for type: String, _ options: RequestOptions, _ configuration: SyncOptions
  ) throws -> ReadPolicy {
    let policy = options.readPolicy ?? governor.readPolicy
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
    let heard = engine.runner.heard
    let asked =
      query.container.map { SyncScope(container: $0, includesChildren: query.includesChildren) }
      ?? .everything
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

/// The reachability of the server, and questions that only it can answer.
extension SyncedStore {
  /// The estimate of the server's reachability. No call is made.
  package var reachabilityHint: ReachabilityHint { reachability.hint(at: clock.now()) }

  /// Returns a stream that is true while records of a type can be written. It has the present answer, then each different
  /// one. It is false only for a type written on the server alone, while the server is believed to be out of reach. A
  /// screen disables with it what can't succeed; a write tries all the same.
  package func availability(of type: String) -> AsyncStream<Bool> {
    let isRemoteOnly = type == UserList.typeName || store.schema[type]?.writeMode == .remoteOnly
    guard isRemoteOnly else {
      return AsyncStream { continuation in
        continuation.yield(true)
        continuation.finish()
      }
    }
    return reachability.values().changes { $0 != false }
  }

  /// Like `availability(of:)` with a type's name, but for an entity type.
  package func availability<E: Entity>(of type: E.Type) -> AsyncStream<Bool> { availability(of: E.typeName) }
}
