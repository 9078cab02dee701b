import BothyStore

/// Containers: the followed scopes, the changes that wait in them, their validators and locks.
extension SyncedStore {
  /// The scopes that syncs pull when nothing else is said.
  package var followedScopes: [SyncScope] { followed.current }

  /// Follows these scopes from now on, and after a relaunch with the same configuration.
  ///
  /// Records that are no longer in any of them are evicted at once; those with changes that the server does not have,
  /// as soon as it has them. Records new in them come with the next sync. Records outside of all scopes may still be
  /// written: they are sent, and stay as they were last known here. Waits for a sync that is running. One transaction,
  /// with a scan of the tables; no request. Throws `BothyError`. Returns the number of records removed.
  @discardableResult
  package func follow(_ scopes: [SyncScope]) async throws -> Int {
    let removed = try await engine.exclusively { () -> Int in
      let removed = try await store.write(origin: .remote) {
        try SubscriptionTable.change(to: scopes, in: $0)
      }
      followed.current = scopes
      return removed
    }
    engine.ask()
    return removed
  }

  // MARK: what waits

  /// The containers in which anything waits to be sent, by name; with an age also the followed ones that were not
  /// pulled since. None is left out. One look at each pending entry, no request.
  package func containersNeedingSync(notPulledFor age: Duration? = nil) throws -> [String] {
    let limit = age.map { clock.now() - $0.components.seconds * 1000 }
    let scopes = followed.current
    return try store.read { transaction in
      var names = Set(try OutboxQueue.containersToSend(in: transaction))
      if let limit {
        for scope in scopes {
          let heard = engine.pass.heard.time(of: try PullState.load(scope, in: transaction))
          guard heard ?? .min < limit else { continue }
          names.insert(scope.container)
        }
      }
      return names.sorted()
    }
  }

  /// The blocking form of `Outbox.pending(in:includingQuarantined:)`.
  package func pending(in container: String, includingQuarantined: Bool = false) throws -> [Outbox.Entry] {
    let scope = SyncScope(container: container, includesChildren: true)
    return try store.read {
      try OutboxQueue.entries(in: scope, includingQuarantined: includingQuarantined, in: $0)
    }
  }

  // MARK: validators

  /// The validator for the next pull of a container: the token of the last complete pull of the narrowest followed
  /// scope that holds it. Nil before the first. Only pulls change it; what this device sends does not.
  package func validator(for container: String) throws -> String? {
    try store.read { transaction in
      try PullState.all(in: transaction).filter { $0.scope.contains(container) }
        .max { $0.scope.container.utf8.count < $1.scope.container.utf8.count }?.cursor
    }
  }

  /// The next pull of a container and of those below it, and of each scope that holds any of them, brings everything.
  /// A sync that is running does not bring the old validator back. One transaction.
  package func resetValidator(of container: String) throws {
    let scope = SyncScope(container: container, includesChildren: true)
    try store.write(origin: .remote) { transaction in
      for followed in try PullState.scopes(in: transaction) where followed.overlaps(scope) {
        try PullState.reset(followed, in: transaction)
      }
    }
  }

  // MARK: locks

  /// Runs `body` while the container counts as being written: a sync of it waits, for at most
  /// `SyncOptions.maxWait`. Never waits itself. The count ends with `body`, however that ends, and with the
  /// process. Writes of this store count by themselves; use it around several that belong together.
  package func withWriteLock<Result>(_ container: String, _ body: () async throws -> Result) async rethrows
    -> Result
  {
    try await engine.locks.withWrite(container, body)
  }

  /// Runs `body` when no task writes in the container or below it, and no sync of it is running; after
  /// `SyncOptions.maxWait` whatever writers do. Syncs wait for it, for at most `SyncOptions.lockTimeout`.
  ///
  /// `body` may sync, save and take locks of the container again: what it holds itself never holds it up. Throws
  /// `CancellationError` when cancelled while it waits, `BothyError` `.locked` when another body of such a lock does not end
  /// in time, else what `body` throws.
  package func withSyncLock<Result>(_ container: String, _ body: () async throws -> Result) async throws
    -> Result
  {
    let scopes = [SyncScope(container: container, includesChildren: true)]
    do {
      return try await engine.locks.withSync(
        scopes, limits: ContainerLocks.Limits(configuration), isOfApp: true, body)
    } catch let held as ContainerLocks.Held { throw BothyError(.locked, "\(held)") }
  }

  // MARK: progress

  /// Whether a container is being synced: the present state, then each change. False before a sync's report is
  /// delivered.
  package func isSyncing(_ container: String) -> AsyncStream<Bool> {
    let statuses = statuses
    return AsyncStream { continuation in
      let task = Task {
        var last: Bool?
        for await status in statuses where status.isSyncing(container) != last {
          last = status.isSyncing(container)
          continuation.yield(status.isSyncing(container))
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}
