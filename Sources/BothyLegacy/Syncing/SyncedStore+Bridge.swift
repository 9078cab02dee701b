public import BothyStore
public import BothySync

/// The local side of a bridge between two storages: containers with their validators and locks, and live changes.
extension SyncedStore {
  /// The document of what was pending in a file that did not fit the schema and was created again, or `nil`. See
  /// `SyncOptions.SchemaMismatch.resetCache`.
  public var recoveredDocument: String? { setAside }

  // MARK: what waits

  /// Returns the pending changes of a container and those below it, in the order of sending. Reads the whole outbox.
  public func pendingChanges(
    in container: String, includingQuarantined: Bool = false
  ) async throws -> [Outbox.Entry] {
    try await outbox.pending(in: container, includingQuarantined: includingQuarantined)
  }

  /// Returns the containers with changes to send, by name. With an age it also has the subscribed ones that were not
  /// pulled since. One look at each pending change, no request.
  public func containersToSync(notPulledFor age: Duration? = nil) async throws -> [String] {
    try await subscriptions.containersNeedingSync(notPulledFor: age)
  }

  // MARK: validators

  /// Returns the validator of the next pull of a container, or `nil` before the first. It is the token of the last
  /// complete pull of the narrowest scope that has the container. Only pulls change it.
  public func lastValidator(of container: String) throws -> String? { try validator(for: container) }

  /// Makes the next pull of a container, and of those below it, bring everything. A sync that is running does not store
  /// the old validator again. One transaction.
  public func removeValidator(of container: String) throws { try resetValidator(of: container) }

  // MARK: locks

  /// Runs `body` while the container counts as being written. A sync of it waits, for at most `SyncOptions.maxWait`.
  /// Never waits itself. The count ends with `body`, however that ends, and with the process.
  public func lockingWrites<Result>(
    to container: String, _ body: () async throws -> Result
  ) async rethrows -> Result { try await withWriteLock(container, body) }

  /// Runs `body` when no task writes in the container or below it and no sync of it is running, or after
  /// `SyncOptions.maxWait` whatever writers do. Syncs wait for it, for a minute at most.
  ///
  /// `body` may sync, save and lock the container again. Throws `CancellationError` if cancelled while it waits,
  /// `BothyError` if the body of another such lock does not end in time, else what `body` throws.
  public func lockingSyncs<Result>(
    of container: String, _ body: () async throws -> Result
  ) async throws -> Result { try await withSyncLock(container, body) }

  // MARK: the server

  /// The estimate of the server's reachability, and the time since the last call was answered or failed. `nil` before
  /// the first. No call is made.
  public var estimatedReachability: (status: NetworkStatus, age: Duration?) {
    let hint = reachabilityHint
    return (hint.belief, hint.age)
  }

  /// Returns true while records of a type can be written: the present answer, then each different one. Always true for
  /// types that can be written offline. For a screen to disable what can't succeed.
  public func canWrite(_ type: String) -> AsyncStream<Bool> { availability(of: type) }

  /// Queries the server alone, and stores nothing of the answer unless told to. One round trip for each thousand
  /// records. Throws `BothyError` `.requiresNetwork` without an answer.
  public func searchServer<E: Entity>(
    _ query: RecordQuery<E>, storesResults: Bool = false
  ) async throws -> FetchResult<E> { try await search(query, keepsResults: storesResults) }

  /// Applies a change that arrived on a live stream, such as a socket. It is visible here at once, before any sync.
  ///
  /// Duplicates, changes out of order and echoes of own work do no harm. A record with pending work isn't touched: the
  /// change is noted beside that work. Waits for a running sync of the container. Costs one transaction and no request.
  /// Throws `BothyError`, `CancellationError`.
  ///
  /// - Parameters:
  ///   - record: The record as the server has it since, or a tombstone for a deletion.
  ///   - operation: The id of the operation that made the change, by which a device recognizes its own.
  /// - Returns: True if the change was applied or noted. False if it is outdated, the device's own, or in no
  ///   subscription.
  @discardableResult
  public func applyLive(_ record: ServerRecord, operation: String? = nil) async throws -> Bool {
    switch try await apply(PushedChange(record, operation: operation)) {
    case .applied, .noted: true
    case .outdated, .ownEcho, .ignored: false
    }
  }
}
