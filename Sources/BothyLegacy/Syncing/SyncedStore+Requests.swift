public import BothyStore
public import BothySync

/// The mobile SDK's options of one call: requests without a copy, counts by policy, batches, downloads ahead of need.
extension SyncedStore {
  /// Fetches by a read policy. With `storesResults` false nothing that the server sends is stored here.
  ///
  /// - Parameter timeout: The longest time that `.syncThenLocal` waits for its sync, which continues after that.
  public func fetchResult<E: Entity>(
    _ query: RecordQuery<E>, policy: ReadPolicy? = nil, storesResults: Bool, timeout: Duration? = nil
  ) async throws -> FetchResult<E> {
    try await fetchResult(
      query, options: RequestOptions(readPolicy: policy, cacheResults: storesResults, timeout: timeout))
  }

  /// Counts the records of a query by a read policy. One round trip where the policy uses the server.
  public func count<E: Entity>(_ query: RecordQuery<E>, policy: ReadPolicy) async throws -> Int {
    try await count(query.recordQuery, options: RequestOptions(readPolicy: policy))
  }

  /// Saves a record by a write policy. With `storesResults` false the server's answer is not stored here.
  @discardableResult
  public func save<E: Entity>(
    _ record: E, in container: String? = nil, policy: WritePolicy? = nil, storesResults: Bool
  ) async throws -> SaveReceipt<E> {
    try await save(
      record, in: container, options: RequestOptions(writePolicy: policy, cacheResults: storesResults))
  }

  /// Deletes a record that this device may not have. The next sync sends the deletion, in case the server has it.
  @discardableResult
  public func deleteAnywhere(_ record: RecordID) async throws -> SaveReceipt<AnyRecord> {
    try await delete(record, options: RequestOptions(assumesRemote: true))
  }

  /// Saves and deletes several records by the write policy, and returns the result of each.
  ///
  /// Under `.localThenRemote` and `.local` all of them are one local transaction, which throws as a whole. Under the
  /// network policies each is sent by itself, inserts before updates before deletions. One that is rejected keeps no
  /// other back.
  @discardableResult
  public func saveEach(
    _ records: [AnyRecord], deleting ids: [RecordID] = []
  ) async throws -> [(record: RecordID, result: Result<SaveReceipt<AnyRecord>, any Error>)] {
    try await save(records, deleting: ids).map { ($0.record, $0.result) }
  }

  /// Downloads the records of a query and the records that they refer to, for use without a network.
  ///
  /// Uses the read policy, or `.remoteElseLocal` if that is `.local`. Costs one fetch, then one round trip for each
  /// step, type and thousand records that are missing. Pending changes are never replaced. Throws `BothyError`.
  ///
  /// - Parameters:
  ///   - paths: The references to follow, such as `"author.avatar"`. Without any, every reference is followed.
  ///   - depth: The number of steps, three at most.
  /// - Returns: The ids of the records that are here now, and of those that could not be had.
  @discardableResult
  public func prefetch<E: Entity>(
    _ query: RecordQuery<E>, including paths: String..., depth: Int = 3
  ) async throws -> (records: Set<RecordID>, missing: Set<RecordID>) {
    let found = try await prefetch(
      query.recordQuery, including: paths.map { ReferencePath($0) }, depth: depth)
    return (found.records, found.missing)
  }

  /// Downloads what has changed on the server since the moment that `token` marks; `nil` downloads everything.
  ///
  /// The moment is one of the server's order of changes, not of any clock, so no change between two calls is missed.
  /// Pending changes are not touched, and nothing is sent. One round trip and one transaction for each page. Throws
  /// `BothyError`; pages that were stored stay, and the next call with `token` downloads them again.
  ///
  /// - Parameter container: Only this container and those below it; `nil` means the whole space.
  public func downloadChanges(
    in container: String? = nil, since token: String? = nil
  ) async throws -> DownloadedChanges {
    let refresh = try await refresh(container, since: token.map { ServerToken(text: $0) })
    return DownloadedChanges(
      changed: refresh.changed, removed: refresh.removed, token: refresh.token.text,
      isFromStart: refresh.startedOver)
  }
}

/// The changes that `SyncedStore.downloadChanges` downloaded.
public struct DownloadedChanges: Sendable, Hashable {
  /// The records that were inserted or changed on the server, in its order.
  public var changed: [RecordID]
  /// The records that were deleted there, left the container, or may no longer be seen.
  public var removed: [RecordID]
  /// The token of the next call. It can be stored.
  public var token: String
  /// True if the server could not continue from the token and sent everything again, without deletions.
  public var isFromStart: Bool
}
