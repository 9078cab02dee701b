package import BothyStore

/// What of the server is believed to be within reach, and questions that only it can answer.
extension SyncedStore {
  /// Whether the server is believed to be reachable. No call is made.
  package var reachabilityHint: ReachabilityHint { belief.hint(at: clock.now()) }

  /// Whether records of a type can be written now: the present answer, then each different one. Always true for
  /// types that can be written offline; for those written on the server only, false while the server is believed to
  /// be out of reach. For a screen to disable what can't succeed; a write tries all the same.
  package func availability(of type: String) -> AsyncStream<Bool> {
    let isRemoteOnly = type == UserList.typeName || store.schema[type]?.writeMode == .remoteOnly
    return AsyncStream { continuation in
      guard isRemoteOnly else {
        continuation.yield(true)
        continuation.finish()
        return
      }
      let task = Task { [belief] in
        var last: Bool?
        for await status in belief.values() where last != (status != .notReachable) {
          last = status != .notReachable
          continuation.yield(status != .notReachable)
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// Like `availability(of:)` with a type's name, but for an entity type.
  package func availability<E: Entity>(of type: E.Type) -> AsyncStream<Bool> { availability(of: E.typeName) }

  /// Queries the server alone, and keeps nothing of the answer here unless told to: for what only the server can find,
  /// such as people to befriend. Pending changes show in the answer as everywhere.
  ///
  /// Cost: one round trip for each thousand records. Throws `BothyError` `.requiresNetwork` without an answer.
  package func search<E: Entity>(_ query: RecordQuery<E>, keepsResults: Bool = false) async throws
    -> FetchResult<E>
  {
    try await searching {
      try await fetchResult(
        query, options: RequestOptions(readPolicy: .remote, cacheResults: keepsResults))
    }
  }

  /// Like `search(_:keepsResults:)` with a typed query, but for any type of the schema.
  package func search(_ query: AnyQuery, keepsResults: Bool = false) async throws -> FetchResult<AnyRecord> {
    try await searching {
      try await fetchResult(
        query, options: RequestOptions(readPolicy: .remote, cacheResults: keepsResults))
    }
  }

  private func searching<Value>(_ fetch: () async throws -> Value) async throws -> Value {
    do { return try await fetch() } catch let error as BothyError where error.code == .unreachable {
      throw BothyError(
        .requiresNetwork, "Only the server can answer this, and it can't be reached.", underlying: error)
    }
  }
}
