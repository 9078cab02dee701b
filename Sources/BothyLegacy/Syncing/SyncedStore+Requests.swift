public import BothyStore
public import BothySync

/// The mobile SDK's options of one call: requests without a copy, counts by policy, batches, downloads ahead of need.
extension SyncedStore {
  /// Fetches by a read policy. With `storesResults` false nothing that the server sends is stored here.
  ///
  /// Costs one local query, and under a policy that uses the server one round trip for each thousand records.
  /// All records are in memory, with the pending changes of this device.
  ///
  /// - Parameters:
  ///   - policy: the source of the records; `nil` means the read policy in force.
  ///   - storesResults: false leaves the file as it is. A sync under `.syncThenLocal` stores its records all
  ///     the same.
  ///   - timeout: The longest time that `.syncThenLocal` waits for its sync, which continues after that.
  /// - Throws: `BothyError` `.unreachable` where the policy needs the server.
  public func fetchResult<E: Entity>(
    _ query: RecordQuery<E>, policy: ReadPolicy? = nil, storesResults: Bool, timeout: Duration? = nil
  ) async throws -> FetchResult<E> {
    try await fetchResult(
      query, options: RequestOptions(readPolicy: policy, cacheResults: storesResults, timeout: timeout))
  }

  /// Counts the records of a query by a read policy. One round trip where the policy uses the server.
  ///
  /// Pending changes count. If the type has any, the server's records are fetched to be counted, with one
  /// round trip for each thousand. Under a policy that reads here, the records are counted in memory.
  ///
  /// - Throws: `BothyError` `.unreachable` where the policy needs the server.
  public func count<E: Entity>(_ query: RecordQuery<E>, policy: ReadPolicy) async throws -> Int {
    try await count(query.recordQuery, options: RequestOptions(readPolicy: policy))
  }

  /// Saves a record by a write policy. With `storesResults` false the server's answer is not stored here.
  ///
  /// It matters under the policies that send first. The file then has the record as before, until a sync
  /// brings it. Costs and throws as `save(_:in:policy:)`.
  ///
  /// - Parameters:
  ///   - container: the path of the container; `nil` leaves the record where it is, or puts a new one into
  ///     its type's.
  ///   - policy: the destination that is reached first; `nil` means the write policy in force.
  @discardableResult
  public func save<E: Entity>(
    _ record: E, in container: String? = nil, policy: WritePolicy? = nil, storesResults: Bool
  ) async throws -> SaveReceipt<E> {
    try await save(
      record, in: container, options: RequestOptions(writePolicy: policy, cacheResults: storesResults))
  }

  /// Deletes a record that this device may not have. The next sync sends the deletion, in case the server has
  /// it.
  ///
  /// Follows the write policy in force, in one transaction under one that writes here first. For an unknown
  /// record the deletion applies to every version that the server has.
  ///
  /// - Throws: `BothyError`, such as `.denied` by a delete rule. Under a policy that sends first, also the
  ///   server's rejection.
  @discardableResult
  public func deleteAnywhere(_ record: RecordID) async throws -> SaveReceipt<AnyRecord> {
    try await delete(record, options: RequestOptions(assumesRemote: true))
  }

  /// Saves and deletes several records by the write policy, and returns the result of each.
  ///
  /// Under `.localThenRemote` and `.local` all of them are one local transaction, which throws as a whole.
  /// Under the network policies each is sent by itself, inserts before updates before deletions. One that is
  /// rejected keeps no other back. Each of these costs a round trip, one after the other. The results are in
  /// the order in which the changes were made.
  ///
  /// - Throws: `BothyError` for the transaction. Under the network policies the results have the errors.
  @discardableResult
  public func saveEach(
    _ records: [AnyRecord], deleting ids: [RecordID] = []
  ) async throws -> [(record: RecordID, result: Result<SaveReceipt<AnyRecord>, any Error>)] {
    try await save(records, deleting: ids).map { ($0.record, $0.result) }
  }

  /// Returns the record that a reference points at, by the read policy in force. One look-up, and one round trip
  /// where the policy uses the server.
  ///
  /// The record that refers to it stays readable. `fetch(_:policy:)` with a reference returns `nil` where nothing is
  /// there.
  ///
  /// - Throws: `BothyError` `.relatedRecordUnavailable`, which names the record, if it isn't here and could not be
  ///   had. `.unreachable` under `.remote`.
  public func resolve<Target: Entity>(_ reference: Reference<Target>) async throws -> Target {
    let found = try await resolve([RecordID(Target.self, id: reference.id)])
    return try found[0].entity(Target.self)
  }

  /// Downloads the records of a query and the records that they refer to, for use without a network.
  ///
  /// Uses the read policy, or `.remoteElseLocal` if that is `.local`. Costs one fetch, then one round trip
  /// for each step, type and thousand records that are missing. Pending changes are never replaced.
  ///
  /// - Parameters:
  ///   - paths: The references to follow, such as `"author.avatar"`. Without any, every reference is
  ///     followed.
  ///   - depth: The number of steps, from none to three.
  /// - Returns: The ids of the records that are here now, and of those that could not be had.
  /// - Throws: `BothyError` `invalidQuery` for a field that isn't a reference or more than three steps, and
  ///   `.unreachable` where the policy needs the server.
  @discardableResult
  public func prefetch<E: Entity>(
    _ query: RecordQuery<E>, including paths: String..., depth: Int = 3
  ) async throws -> (records: Set<RecordID>, missing: Set<RecordID>) {
    let found = try await prefetch(
      query.recordQuery, including: paths.map { ReferencePath($0) }, depth: depth)
    return (found.records, found.missing)
  }

  /// Downloads what has changed on the server since the moment that `token` marks; `nil` downloads
  /// everything.
  ///
  /// The moment is one of the server's order of changes, not of any clock, so no change between two calls is
  /// missed. Pending changes are not touched, and nothing is sent. One round trip and one transaction for
  /// each page.
  ///
  /// - Parameters:
  ///   - container: Only this container and those below it; `nil` means the whole space.
  ///   - token: `DownloadedChanges.token` of an earlier call for the same container.
  /// - Throws: `BothyError`: `.cancelled` for a cancelled task, before the next page, and others for the
  ///   server and the file. Pages that were stored stay, and the next call with `token` downloads them again.
  public func downloadChanges(
    in container: String? = nil, since token: String? = nil
  ) async throws -> DownloadedChanges {
    let scope = container.map { SyncScope(container: $0, includesChildren: true) } ?? .everything
    var found = DownloadedChanges(changed: [], removed: [], token: token ?? "", isFromStart: false)
    try await bringPages(of: scope, since: token) { page, cursor in
      if page.reset && cursor != nil { found.isFromStart = true }
      found.changed += page.changes.filter { !$0.isDeleted }.map(\.id)
      found.removed += page.changes.filter(\.isDeleted).map(\.id) + page.outOfScope
      found.token = page.cursor
    }
    return found
  }
}

/// The changes that `SyncedStore.downloadChanges` downloaded, by the ids of their records.
///
/// The records are in the store. All ids are in memory.
public struct DownloadedChanges: Sendable, Hashable {
  /// The records that were inserted or changed on the server, in its order.
  ///
  /// A record with pending changes is named too, and the store shows it with these.
  public var changed: [RecordID]
  /// The records that were deleted there, left the container, or may no longer be seen.
  ///
  /// Those with pending changes are still here.
  public var removed: [RecordID]
  /// The token of the next call. It can be stored, and is valid after a relaunch.
  public var token: String
  /// True if the server could not continue from the token and sent everything again, without deletions.
  ///
  /// Records that were deleted there meanwhile may then still be here. The next sync of their container
  /// removes them.
  public var isFromStart: Bool
}
