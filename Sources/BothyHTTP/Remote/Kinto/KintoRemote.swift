public import BothyStore
public import BothySync

/// A stock Kinto server as the remote of a `SyncedStore`: a space is a bucket, a type a collection, a record a record.
///
/// What Kinto's protocol gives is used as it is: conditional writes (`If-Match`, `If-None-Match`), listings by `_since`
/// with tombstones, batches, `Backoff` and `Retry-After`. What it lacks:
///
/// - **Operation ids.** Each write leaves its id in the record, under the device's name, so a push whose answer was lost
///   is recognised when it is repeated, whatever others did to the record since. Two cases remain: an insert that was
///   applied and then deleted by somebody else makes the record again, and a repeated deletion is told as already done.
/// - **Compare-and-swap.** Kinto compares and writes in two steps. The pull in the same exchange finds most of the writes
///   that went over ours in between and tells them as conflicts; one that comes later still is not noticed.
/// - **Transactions.** Each operation stands alone; what was written together may be seen apart, and references
///   are not checked.
/// - **One order of changes.** There is one for each type. A pull brings all types up to their own newest.
/// - **An epoch.** A collection carries one that was made with it; a server that lost its data is thereby noticed, as
///   is one whose timestamps went back. Nothing is removed before `SyncedStore.adoptServer`; pending work stays.
/// - **Tombstones that last.** They may be purged with no word: see `KintoOptions.snapshotAfter`.
/// - **Queries and digests.** Equality is asked of the server; anything else reads all records of the type, a digest those
///   of the whole space.
/// - **Hints, owners, permissions for each type.** See `KintoOptions.pollInterval`.
/// - **Sharing and lists.** An operation that carries any is refused as `unsupported`; the bucket's own permissions do.
///
/// `docs/kinto.md` says more of each. All methods may be called from any task. An exchange costs one round trip for each
/// 25 operations (the server's `batch_max_requests`) and one for each 24 types.
public struct KintoRemote: RemoteStorage {
  private let client: KintoClient
  private let space: KintoSpace
  private let options: KintoOptions
  private let schema: StoreSchema?
  private let clock: SyncClock
  private let shelf = KintoAnswerShelf()

  /// - Parameters:
  ///   - url: The server's address, with or without `/v1`.
  ///   - space: The space's name; the bucket is made when it is missing.
  ///   - transport: The network stack.
  ///   - schema: The store's schema, by which queries are answered. Without it full-text search is refused, and fields
  ///     have the kinds that the query's values suggest.
  ///   - clock: The device's clock.
  public init(
    url: String, space: String, transport: any HTTPTransport = .system, credentials: KintoCredentials = .none,
    schema: StoreSchema? = nil, options: KintoOptions = KintoOptions(),
    clock: SyncClock = SyncClock()
  ) {
    client = KintoClient(
      url: url, transport: transport, credentials: credentials, options: options, now: { clock.now() })
    self.space = KintoSpace(client: client, space: space)
    self.options = options
    self.schema = schema?.asOnTheWire
    self.clock = clock
  }

  /// False: a stock Kinto has no place for sensitive fields, so they stay on the device.
  public var isConfidential: Bool { false }

  /// Sends the operations in their order, then reads the pages.
  ///
  /// When the network is lost between two batches, the outcomes that came are returned alone; the other operations are
  /// in doubt, and the next exchange says what is wrong.
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
        // What was pushed is done; its outcomes are not to be lost with the pages.
        guard !pushed.outcomes.isEmpty else { throw error }
        response.pages = []
      }
    }
    response.outcomes = pushed.outcomes
    // A `Date` is in whole seconds: on average half a second has passed since.
    response.serverTime = serverTime.map { $0.addingClamped(500) } ?? clock.now()
    return response
  }

  private func pages(
    _ request: SyncRequest, _ pushed: KintoPush.Result
  ) async throws(RemoteError) -> [KintoPull.Result] {
    let pull = KintoPull(
      space: space, now: clock.now(), overlap: options.overlap.milliseconds,
      snapshotAfter: options.snapshotAfter?.milliseconds)
    let written = Dictionary(
      pushed.written.values.map { ($0.record, $0.version) }, uniquingKeysWith: { max($0, $1) })
    var results: [KintoPull.Result] = []
    for scope in request.pulls {
      results.append(try await pull.read(scope, limit: max(1, request.limit), leavingOut: written))
    }
    return results
  }

  /// The records that a query selects. One round trip for each thousand records that Kinto's filters select; a query's
  /// further pages cost none as long as the type has not changed.
  public func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    try await client.checkPause()
    if query.offset > 0, let kept = try await shelf.records(of: query, space: space) {
      return Array(kept.dropFirst(query.offset).prefix(query.limit ?? .max))
    }
    let answer = try await KintoQuery(space: space, schema: schema).answer(query)
    await shelf.keep(answer, to: query)
    return Array(answer.records.dropFirst(query.offset).prefix(query.limit ?? .max))
  }

  /// The number of records that a query selects: one round trip for all of a type; with a condition the records are
  /// read, as for `query`.
  public func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    try await client.checkPause()
    return try await KintoQuery(space: space, schema: schema).count(query)
  }

  /// The digest of a scope, made here: reads every record of the space.
  public func digest(_ scope: PullScope) async throws(RemoteError) -> ScopeDigest {
    try await client.checkPause()
    return try await KintoQuery(space: space, schema: schema).digest(scope)
  }

  /// Kinto sends none: an element after each `pollInterval`, or none at all.
  public func hints() -> AsyncThrowingStream<Void, any Error> {
    let (hints, continuation) = AsyncThrowingStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    guard let interval = options.pollInterval else { return hints }
    let task = Task {
      do {
        while true {
          try await Task.sleep(for: interval)
          continuation.yield()
        }
      } catch { continuation.finish(throwing: error) }
    }
    continuation.onTermination = { _ in task.cancel() }
    return hints
  }
}

extension KintoRemote {
  /// Whether a Kinto server answers at `url` within `timeout`. One round trip; never throws.
  public static func isReachable(
    url: String, transport: any HTTPTransport, timeout: Duration = .seconds(2)
  ) async -> Bool {
    var options = KintoOptions()
    options.timeout = timeout
    let client = KintoClient(url: url, transport: transport, credentials: .none, options: options, now: { 0 })
    do {
      _ = try await client.serverSettings()
      return true
    } catch { return false }  // no answer is the answer
  }
}

extension Duration {
  var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
