public import BothyHTTP
public import BothyStore
public import BothySync

/// A stock Kinto server as the remote of a `SyncedStore`. A space is a bucket, and a type is a collection.
///
/// It uses Kinto's conditional writes (`If-Match`, `If-None-Match`), listings by `_since` with tombstones, batches,
/// growing waits and `Retry-After`. Kinto's protocol lacks:
///
/// - **Operation ids.** Each write leaves its id in the record, under the device's name. A repeated push after a lost
///   response is therefore recognised, even if other devices have changed the record since. Two cases remain. An insert
///   that was applied and then deleted by another device creates the record again. A repeated deletion is reported as
///   already done.
/// - **Compare-and-swap.** Kinto compares and writes in two steps. The pull in the same exchange finds most of the
///   writes that replaced this device's write in between, and reports them as conflicts. A later one isn't noticed.
/// - **Transactions.** Each operation is separate. Changes that were written together may become visible one by one,
///   and references are not checked.
/// - **One order of changes.** Each type has its own order. A pull brings every type up to its newest change.
/// - **An epoch.** A collection has an epoch from its creation, which reveals a server that lost its data. Timestamps
///   that decrease reveal one too. Nothing is removed before `maintenance.adoptServer`, and pending changes stay.
/// - **Permanent tombstones.** They may be purged without notice. See `KintoOptions.snapshotAfter`.
/// - **Queries and digests.** The server filters by equality. Other queries read all records of the type, and a digest
///   reads all records of the space.
/// - **Notifications, owners, permissions for each type.** See `KintoOptions.pollInterval`.
/// - **Sharing and lists.** An operation with any of them is rejected as `unsupported`. The bucket's own permissions
///   apply.
///
/// See `docs/kinto.md` for details. All methods may be called from any task. An exchange costs one request for each 25
/// operations (the server's `batch_max_requests`) and one for each 24 types.
public struct KintoRemote: RemoteStorage, CompleteRemote {
  private let client: KintoClient
  private let space: KintoSpace
  private let options: KintoOptions
  private let schema: StoreSchema?
  private let clock: SyncClock
  private let answerCache = KintoAnswerCache()

  /// Creates a remote.
  /// - Parameters:
  ///   - url: The server's address, with or without `/v1`.
  ///   - space: The space's name. The bucket is created if it is missing.
  ///   - transport: The network stack.
  ///   - schema: The store's schema for queries. Without it full-text search is refused, and fields have the kinds that
  ///     the query's values suggest.
  public init(
    url: String, space: String, transport: any HTTPTransport = .system, credentials: KintoCredentials = .none,
    schema: StoreSchema? = nil, options: KintoOptions = KintoOptions()
  ) {
    self.init(
      url: url, space: space, transport: transport, credentials: credentials, schema: schema,
      options: options, clock: SyncClock())
  }

  /// Creates a remote with a clock in place of the device's.
  package init(
    url: String, space: String, transport: any HTTPTransport = .system, credentials: KintoCredentials = .none,
    schema: StoreSchema? = nil, options: KintoOptions = KintoOptions(), clock: SyncClock
  ) {
    client = KintoClient(
      url: url, transport: transport, credentials: credentials, options: options, now: { clock.now() })
    self.space = KintoSpace(client: client, space: space)
    self.options = options
    self.schema = schema?.asOnTheWire
    self.clock = clock
  }

  /// False, because a stock Kinto can't protect sensitive fields. They stay on the device.
  package var isConfidential: Bool { false }

  /// Sends the operations in their order, then reads the pages.
  ///
  /// If the network fails between two batches, only the outcomes up to then are returned. The other operations are in
  /// doubt, and the next exchange reports the failure.
  public func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    try await client.checkPause()
    var pushed = KintoPush.Result()
    let push = KintoPush(space: space, device: request.device, now: clock.now())
    if !request.operations.isEmpty { pushed = try await push.send(request.operations) }
    var response = SyncResponse(serverTime: 0)
    var serverTime = pushed.serverTime
    if pushed.interruption == nil {
      do {
        for page in try await pages(request, pushed) {
          response.pages.append(page.page)
          serverTime = page.serverTime ?? serverTime
          push.verify(&pushed, against: page.records)
        }
      } catch {
        // The push is done, and its outcomes must not be lost with the pages.
        guard !pushed.outcomes.isEmpty else { throw error }
        response.pages = []
      }
    }
    response.outcomes = pushed.outcomes
    // A `Date` is in whole seconds, and on average half a second has passed since.
    response.serverTime = serverTime.map { $0.addingClamped(500) } ?? clock.now()
    return response
  }

  private func pages(
    _ request: SyncRequest, _ pushed: KintoPush.Result
  ) async throws(RemoteError) -> [KintoPull.Result] {
    let pull = KintoPull(
      space: space, now: clock.now(), overlap: options.overlap.wholeMilliseconds,
      snapshotAfter: options.snapshotAfter?.wholeMilliseconds)
    let written = Dictionary(
      pushed.written.values.map { ($0.record, $0.version) }, uniquingKeysWith: { max($0, $1) })
    var results: [KintoPull.Result] = []
    for scope in request.pulls {
      results.append(try await pull.read(scope, limit: max(1, request.limit), leavingOut: written))
    }
    return results
  }

  /// Returns the records of a query. Costs one request for each thousand records that Kinto's filters select.
  ///
  /// A query's further pages cost no listing as long as the type has not changed.
  package func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    try await client.checkPause()
    if query.offset > 0, let kept = try await answerCache.records(of: query, space: space) {
      return Array(kept.dropFirst(query.offset).prefix(query.limit ?? .max))
    }
    let answer = try await KintoQuery(space: space, schema: schema).answer(query)
    await answerCache.keep(answer, to: query)
    return Array(answer.records.dropFirst(query.offset).prefix(query.limit ?? .max))
  }

  /// Returns the number of records of a query. Costs one request for all of a type.
  ///
  /// With a condition the records are read, as for `query`.
  package func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    try await client.checkPause()
    return try await KintoQuery(space: space, schema: schema).count(query)
  }

  /// Computes the digest of a scope on the device. Reads every record of the space.
  package func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    try await client.checkPause()
    return try await KintoQuery(space: space, schema: schema).digest(scope)
  }

  /// Returns an element after each `pollInterval`, or none without it, because Kinto sends no notifications.
  public func notifications() -> AsyncThrowingStream<Void, any Error> {
    let (notifications, continuation) = AsyncThrowingStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    guard let interval = options.pollInterval else { return notifications }
    let task = Task {
      do {
        while true {
          try await Task.sleep(for: interval)
          continuation.yield()
        }
      } catch { continuation.finish(throwing: error) }
    }
    continuation.onTermination = { _ in task.cancel() }
    return notifications
  }
}

extension KintoRemote {
  /// Returns true if a Kinto server responds at `url` within `timeout`. Costs one request and never throws.
  package static func isReachable(
    url: String, transport: any HTTPTransport, timeout: Duration = .seconds(2)
  ) async -> Bool {
    var options = KintoOptions()
    options.timeout = timeout
    let client = KintoClient(url: url, transport: transport, credentials: .none, options: options, now: { 0 })
    do {
      _ = try await client.serverSettings()
      return true
    } catch { return false }  // a missing response means false
  }
}
