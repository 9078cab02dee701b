public import BothyStore
public import BothySync

/// The local side of a bridge between two storages: containers with their validators and locks, and live changes.
extension SyncedStore {
  /// The path of the document of what was pending in a file that did not fit the schema and was created
  /// again, or `nil`.
  ///
  /// The document is JSON beside the file, named like it with `.pending-1.json` or a higher number. `nil` if
  /// the file fitted or nothing was pending. It names the document of this opening, or of an earlier one that was
  /// interrupted. Later openings leave the document in its place. See `SyncOptions.SchemaMismatch.resetCache`.
  public var recoveredDocument: String? { setAside }

  // MARK: what waits

  /// Returns the pending changes of a container and those below it, in the order of sending.
  ///
  /// Reads the whole outbox, and makes no request. Empty if nothing is pending. Of a record that several
  /// transactions changed it has the first, which is sent first.
  ///
  /// - Parameters:
  ///   - container: the path of the container; `""` means all.
  ///   - includingQuarantined: true adds the changes that aren't sent until the app decides about them.
  /// - Throws: `BothyError` for a file that can't be read.
  public func pendingChanges(
    in container: String, includingQuarantined: Bool = false
  ) async throws -> [Outbox.Entry] {
    try await outbox.pending(in: container, includingQuarantined: includingQuarantined)
  }

  /// Returns the containers with changes to send, by name. One look at each pending change, no request.
  ///
  /// - Parameter age: adds the subscribed containers that were not pulled for this long, in whole seconds, or
  ///   never. The subscription of the whole space is `""`.
  /// - Throws: `BothyError` for a file that can't be read.
  public func containersToSync(notPulledFor age: Duration? = nil) async throws -> [String] {
    try await FileWork.run { try self.containersNeedingSync(notPulledFor: age) }
  }

  // MARK: validators

  /// Returns the validator of the next pull of a container, or `nil` before the first.
  ///
  /// It is the token of the last complete pull of the narrowest scope that has the container. Only pulls
  /// change it. The text is opaque: compare it with an earlier one. Reads the file on the calling thread.
  ///
  /// - Throws: `BothyError` for a file that can't be read.
  public func lastValidator(of container: String) throws -> String? { try validator(for: container) }

  /// Makes the next pull of a container, and of those below it, bring everything.
  ///
  /// Each subscription that has any of these containers starts over as a whole, that of the whole space too.
  /// The local records stay readable until then. A sync that is running does not store the old validator
  /// again. One transaction, on the calling thread.
  ///
  /// - Throws: `BothyError` for a file that can't be written.
  public func removeValidator(of container: String) throws { try resetValidator(of: container) }

  // MARK: locks

  /// Runs `body` while the container counts as being written. A sync of it waits, for at most five seconds.
  ///
  /// Never waits itself, and makes no request. The count ends with `body`, however that ends, and with the
  /// process. A sync that `body` starts doesn't wait for it. Other processes don't see the count. Throws what
  /// `body` throws.
  public func lockingWrites<Result>(
    to container: String, _ body: () async throws -> Result
  ) async rethrows -> Result { try await withWriteLock(container, body) }

  /// Runs `body` when no task writes in the container or below it and no sync of it is running, or after five
  /// seconds whatever writers do. Syncs wait for it, for a minute at most.
  ///
  /// `body` may sync, save and lock the container again. Other processes don't see the lock. A sync that
  /// waited for too long ends with `SyncObstacle.rejected`.
  ///
  /// - Throws: `CancellationError` if cancelled while it waits. `BothyError` `locked` if the body of another
  ///   such lock does not end in time. Otherwise the error of `body`.
  public func lockingSyncs<Result>(
    of container: String, _ body: () async throws -> Result
  ) async throws -> Result { try await withSyncLock(container, body) }

  // MARK: the server

  /// The estimate of the server's reachability, and the time since the last sign of it. No call is made.
  ///
  /// A sign is a call that was answered or failed, or a change that the network monitor reported. Before the
  /// first both values are `nil`. A rejection counts as an answer.
  public var estimatedReachability: (isReachable: Bool?, age: Duration?) {
    let hint = reachabilityHint
    return (hint.isReachable, hint.age)
  }

  /// Returns true while records of a type can be written: the present answer, then each different one.
  ///
  /// False only for a type that is written on the server alone, while the server is believed to be out of
  /// reach. For other types the stream has one true and ends. For a screen to disable what can't succeed; a
  /// write tries all the same.
  public func canWrite(_ type: String) -> AsyncStream<Bool> { availability(of: type) }

  /// Queries the server alone, and stores nothing of the answer unless `storesResults` is true.
  ///
  /// One round trip for each thousand records, all of which are in memory. Pending changes of this device are
  /// part of the answer.
  ///
  /// - Throws: `BothyError` `.requiresNetwork` without an answer, and `.cancelled` for a task that is
  ///   cancelled between round trips.
  public func searchServer<E: Entity>(
    _ query: RecordQuery<E>, storesResults: Bool = false
  ) async throws -> FetchResult<E> { try await search(query, keepsResults: storesResults) }

  /// Applies a change that arrived on a live stream, such as a socket. It is visible here at once, before any
  /// sync.
  ///
  /// Duplicates, changes out of order and echoes of own work do no harm. A record with pending work isn't
  /// touched: the change is noted beside that work. Waits for a running sync of the container. Costs one
  /// transaction and no request.
  ///
  /// - Parameters:
  ///   - record: The record as the server has it since, or a tombstone for a deletion.
  ///   - operation: The id of the operation that made the change, by which a device recognizes its own.
  /// - Returns: True if the change was applied or noted. False if it is outdated, the device's own, or in no
  ///   subscription.
  /// - Throws: `BothyError` for a file that can't be written or a lock that is held too long, and
  ///   `CancellationError` while it waits.
  @discardableResult
  public func applyLive(_ record: ServerRecord, operation: String? = nil) async throws -> Bool {
    switch try await apply(PushedChange(record, operation: operation)) {
    case .applied, .noted: true
    case .outdated, .ownEcho, .ignored: false
    }
  }
}

/// What `searchServer` calls, also for a type without an entity.
extension SyncedStore {
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
