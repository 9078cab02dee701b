import BothyStore

/// The parts of the space that this device keeps in agreement with the server: `store.subscriptions`.
///
/// The file keeps them. A store that is opened with other `SyncOptions.scopes` than the last time changes them
/// too.
///
/// ```swift
/// try await store.subscriptions.add(.container("trips/oslo"))
/// await store.sync()
/// ```
public struct StoreSubscriptions: Sendable {
  let synced: SyncedStore

  /// The scopes that a sync pulls, in the order in which they were given. Reads memory alone.
  ///
  /// By default it is the whole space. Empty after `set([])`: syncs then send changes and pull nothing.
  public var current: [SyncScope] { synced.followedScopes }

  /// Adds a scope. Its records come with the next sync, which `run()` starts at once.
  ///
  /// Waits for a running sync. One transaction, and nothing for a scope that is among the present ones. Until
  /// the first complete pull `isComplete(_:)` returns false. Throws `BothyError` for a file that can't be
  /// written.
  public func add(_ scope: SyncScope) async throws {
    try await synced.follow { $0.contains(scope) ? $0 : $0 + [scope] }
  }

  /// Removes a scope and its records. Records of other scopes stay, and so do records with pending changes
  /// until these are sent.
  ///
  /// Waits for a running sync. One transaction with a scan of the tables. Returns the number of deleted local
  /// records. A scope that isn't among the present ones changes nothing.
  @discardableResult
  public func remove(_ scope: SyncScope) async throws -> Int {
    let removed = synced.store.catalog.wireNames.present([scope])
    return try await synced.follow { $0.filter { !removed.contains($0) } }
  }

  /// Replaces all subscriptions. The file keeps them.
  ///
  /// Local records outside of all scopes are deleted at once, and those with pending changes once these are sent. New
  /// scopes come with the next sync. Records outside of all scopes can still be written and sent. Waits for a running
  /// sync. One transaction with a scan of the tables, and no request. Throws `BothyError`. Returns the number of deleted
  /// local records.
  @discardableResult
  public func set(_ scopes: [SyncScope]) async throws -> Int { try await synced.follow { _ in scopes } }

  /// Returns true if the scope was downloaded in full, by itself or as a part of another. One scan of the
  /// scopes.
  ///
  /// Others may have changed it on the server since. True also without a network.
  public func isComplete(_ scope: SyncScope) async throws -> Bool {
    let present = synced.store.catalog.wireNames.present([scope])
    return try await FileWork.run { try synced.containers() }.contains { found in
      found.isComplete && present.allSatisfy { found.scope.contains($0) }
    }
  }
}

extension SyncedStore {
  /// The parts of the space that this device keeps in agreement with the server. Making it reads nothing.
  public var subscriptions: StoreSubscriptions { StoreSubscriptions(synced: self) }
}

extension StoreSubscriptions {
  /// The progress of the pull of a scope.
  package struct ScopeStatus: Sendable, Hashable {
    /// The container, with or without those below it.
    package var scope: SyncScope
    /// The position of the next pull, opaque; nil before the first complete one, and after a reset.
    package var cursor: String?
    /// True if a pull was completed before.
    package var isComplete: Bool
    /// True if pages of a pull are waiting for the last one.
    package var isFilling: Bool
    /// The time of the last completed pull, in milliseconds since 1970, or `nil` if none was completed.
    package var pulledAt: Int64?
  }
}

extension StoreSubscriptions.ScopeStatus {
  /// A scope of which no pull has begun.
  package init(notBegun scope: SyncScope) {
    self.init(scope: scope, cursor: nil, isComplete: false, isFilling: false, pulledAt: nil)
  }
}

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
  package func follow(_ scopes: [SyncScope]) async throws -> Int { try await follow { _ in scopes } }

  /// Follows the scopes that `change` makes of the present ones. Changes that are made at once come one after another.
  @discardableResult
  func follow(_ change: @escaping @Sendable ([SyncScope]) -> [SyncScope]) async throws -> Int {
    let removed = try await engine.exclusively { () -> Int in
      // Another store on the file may have changed them.
      let (scopes, removed) = try await store.write(origin: .remote) { [followed] transaction in
        let scopes = change(try SubscriptionTable.stored(in: transaction) ?? followed.current)
        let present = transaction.catalog.wireNames.present(scopes)
        return (present, try SubscriptionTable.change(to: present, in: transaction))
      }
      followed.current = scopes
      return removed
    }
    engine.request()
    return removed
  }

  // MARK: what waits

  /// The containers in which anything waits to be sent, by name; with an age also the followed ones that were not
  /// pulled since. None is left out. One look at each pending entry, no request.
  package func containersNeedingSync(notPulledFor age: Duration? = nil) throws -> [String] {
    let limit = age.map { clock.now().subtractingClamped($0.wholeMilliseconds) }
    let scopes = followed.current
    return try store.read { transaction in
      var names = Set(try OutboxQueue.containersToSend(in: transaction))
      if let limit {
        for scope in scopes {
          let heard = engine.runner.heard.time(of: try PullState.load(scope, in: transaction))
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
  /// `CancellationError` when cancelled while it waits, `BothyError` `.locked` when another body of such a lock does not
  /// end in time, else what `body` throws.
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

  /// Returns a stream that is true while a container is being synced. It has the present state, then each change. It is
  /// false before a sync's report is delivered.
  package func isSyncing(_ container: String) -> AsyncStream<Bool> {
    statuses.changes { $0.isSyncing(container) }
  }
}
