package import BothyStore
public import BothySync
import Synchronization

/// A remote between a device and its server that fails as networks do, by a script.
///
/// Each device of a `SimulatedWorld` has one. Exchanges and reads follow one script, requests for blobs another, and a
/// cut affects all of them. It adds no waits, keeps every request in memory until `forgetRequests()`, and may be used
/// from any task.
///
/// ```swift
/// let device = try SimulatedWorld().addDevice(schema: [Todo.self])
/// device.remote.setScript { .lostAnswer }
/// try await device.store.save(todo)
/// await device.store.sync()  // the server has the change, and the device sends it again
/// device.remote.setScript { .none }
/// ```
///
/// Changes on the server cause no notifications: only `notify()` sends them.
public final class FaultyRemote: RemoteStorage, CompleteRemote {
  /// The outcome of one exchange.
  ///
  /// For a query, a count, a digest or a history, `lostAnswer` and `late` act as `lostRequest`, and `duplicated` as
  /// `none`. For a request for a blob, `late` acts as `lostRequest`. A device receives `RemoteError` `unreachable` for
  /// all that is lost.
  public enum Fault: Sendable, Hashable {
    /// The request arrives, and so does the response.
    ///
    /// A refusal by the server is passed on.
    case none
    /// The request never arrives.
    ///
    /// The device can't distinguish it from `lostAnswer`.
    case lostRequest
    /// The server executes the request, but the response never arrives.
    ///
    /// The device sends the operations again, with the same ids. A refusal by the server still reaches the device.
    case lostAnswer
    /// The request arrives twice, and the second response is delivered.
    ///
    /// If the server refuses the first, its error is delivered, and the second isn't sent.
    case duplicated
    /// The device times out. The request arrives after the next one, and its response is discarded.
    ///
    /// The device receives the error at once, without a wait. Without a later exchange that the server answers, the
    /// request never arrives.
    case late
    /// The server answers with this status and does nothing.
    ///
    /// `retryAfter` is in seconds, an hour at most. The status decides the class of the `RemoteError`. Statuses below
    /// 400 and those of a gateway, such as 502 or a 503 without `retryAfter`, count as `unreachable`.
    case status(Int, retryAfter: Double?)
  }

  /// The directions in which a network is cut.
  ///
  /// Exchanges distinguish them. Queries, counts, digests, histories and requests for blobs fail in every cut, without
  /// reaching the server.
  public enum Cut: Sendable, Hashable, CaseIterable {
    /// Both ways are open.
    ///
    /// The script still decides each request.
    case none
    /// Requests arrive and are executed, but their responses are lost.
    ///
    /// Exchanges alone arrive. A refusal by the server still reaches the device.
    case inbound
    /// No request arrives.
    ///
    /// The response to an exchange that is under way still does.
    case outbound
    /// No request arrives, and responses that are under way are lost.
    case both
  }

  private struct State: Sendable {
    var script: @Sendable (SyncRequest?) -> Fault = { _ in .none }
    var duringExchange: @Sendable () async -> Void = {}
    var beforeSending: @Sendable (SyncRequest) async -> Void = { _ in }
    var cut = Cut.none
    var late: [SyncRequest] = []
    var requests: [SyncRequest] = []
    var reads = 0
    var blobScript: @Sendable (BlobRequest) -> Fault = { _ in .none }
    var afterBlobs: @Sendable (BlobRequest) async -> Void = { _ in }
    var blobRequests: [BlobRequest] = []
    var notifications: [Int: AsyncThrowingStream<Void, any Error>.Continuation] = [:]
    var nextListener = 0
  }

  private let remote: any RemoteStorage
  private let state = Mutex(State())

  /// Creates a remote in front of another one.
  ///
  /// - Parameter remote: the server behind this remote. All requests pass until a script or a cut is set.
  public init(_ remote: any RemoteStorage) { self.remote = remote }

  /// The directions that are cut. A cut also affects the responses to exchanges that are under way.
  ///
  /// By default none. It stays until it is set again, also over a restart of the device. Open streams of notifications
  /// stay open.
  public var cut: Cut {
    get { state.withLock { $0.cut } }
    set { state.withLock { $0.cut = newValue } }
  }

  package var isConfidential: Bool { remote.isConfidential }

  /// While true, nothing gets through.
  ///
  /// It is true for `Cut.both` alone. False opens both ways, whatever the cut was before.
  public var isOffline: Bool {
    get { cut == .both }
    set { cut = newValue ? .both : .none }
  }

  /// The exchanges that were tried, in order.
  ///
  /// Those that a fault or a cut stopped are included. A late or duplicated one is there once. Queries, counts, digests
  /// and histories aren't included.
  public var requests: [SyncRequest] { state.withLock { $0.requests } }

  /// The number of queries, counts and digests that were asked for.
  package var reads: Int { state.withLock { $0.reads } }

  /// The requests for blobs that were made, in order.
  ///
  /// Those that a fault or a cut stopped are included.
  package var blobRequests: [BlobRequest] { state.withLock { $0.blobRequests } }

  /// Empties `requests` and `blobRequests`, for the next part of a story. Scripts and cuts stay.
  ///
  /// Late requests that haven't arrived yet still do.
  public func forgetRequests() {
    state.withLock { state in
      state.requests = []
      state.blobRequests = []
      state.reads = 0
    }
  }

  /// Sets what happens to each exchange from now on.
  ///
  /// It decides queries, counts, digests and histories too, and replaces the script before. An exchange that is under
  /// way keeps its fault. The script survives a restart of the device.
  ///
  /// - Parameter script: returns the fault of one request. It is called once for each, also while the network is cut.
  ///   It must not use this remote, whose lock is held meanwhile.
  public func setScript(_ script: @escaping @Sendable () -> Fault) {
    state.withLock { $0.script = { _ in script() } }
  }

  /// Sets what happens to each exchange from now on, by what it carries; other calls are left alone.
  package func setScript(forExchange script: @escaping @Sendable (SyncRequest) -> Fault) {
    state.withLock { $0.script = { $0.map(script) ?? .none } }
  }

  /// Sets what happens to each request for a blob from now on.
  ///
  /// It replaces the script before.
  ///
  /// ```swift
  /// let device = try SimulatedWorld().addDevice(schema: [Todo.self])
  /// device.remote.setBlobScript { if case .upload(_, let offset) = $0, offset > 0 { .lostAnswer } else { .none } }
  /// ```
  ///
  /// - Parameter script: returns the fault of one request. It isn't called while the network is cut. It must not use
  ///   this remote, whose lock is held meanwhile.
  package func setBlobScript(_ script: @escaping @Sendable (BlobRequest) -> Fault) {
    state.withLock { $0.blobScript = script }
  }

  /// Sets what runs after the server has answered a request for a blob.
  package func setAfterBlobs(_ body: @escaping @Sendable (BlobRequest) async -> Void) {
    state.withLock { $0.afterBlobs = body }
  }

  package var blobs: (any BlobRemote)? {
    guard let blobs = remote.blobs else { return nil }
    return FaultyBlobs(
      remote: blobs,
      fault: { request in
        self.state.withLock { state in
          state.blobRequests.append(request)
          return state.cut == .none ? state.blobScript(request) : .lostRequest
        }
      },
      afterwards: { request in await self.state.withLock { $0.afterBlobs }(request) })
  }

  /// Sets a function that runs after the server has answered and before the device receives the answer.
  package func setDuringExchange(_ body: @escaping @Sendable () async -> Void) {
    state.withLock { $0.duringExchange = body }
  }

  /// Sets a function that runs before a request is sent.
  package func setBeforeSending(_ body: @escaping @Sendable (SyncRequest) async -> Void) {
    state.withLock { $0.beforeSending = body }
  }

  /// Passes the request on to the server, as the cut and the script allow.
  ///
  /// It is added to `requests` first. Requests that were sent late arrive after it.
  ///
  /// - Throws: `RemoteError` `unreachable` if the request or its answer is lost. Otherwise the error of the script's
  ///   status, or that of the server.
  public func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    let (fault, during, before) = state.withLock { state in
      state.requests.append(request)
      return (state.script(request), state.duringExchange, state.beforeSending)
    }
    await before(request)
    let cut = cut
    guard cut == .none || cut == .inbound else { throw Self.unreachable }
    switch fault {
    case .lostRequest: throw Self.unreachable
    case .late:
      state.withLock { $0.late.append(request) }
      throw Self.unreachable
    case .status(let status, let retryAfter): throw Self.error(status, retryAfter)
    case .duplicated: _ = try await remote.exchange(request)
    case .lostAnswer, .none: break
    }
    let answer = try await remote.exchange(request)
    await deliverLate()
    await during()
    if fault == .lostAnswer || self.cut == .inbound || self.cut == .both { throw Self.unreachable }
    return answer
  }

  /// Delivers the requests that were sent late, and discards the responses.
  private func deliverLate() async {
    let late = state.withLock { state in
      defer { state.late = [] }
      return state.late
    }
    for request in late { _ = try? await remote.exchange(request) }
  }

  package func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    try failRead()
    return try await remote.query(query)
  }

  package func page(_ query: AnyQuery, after cursor: String?) async throws(RemoteError) -> RemotePage {
    try failRead()
    return try await remote.page(query, after: cursor)
  }

  package func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    try failRead()
    return try await remote.count(query)
  }

  package func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    try failRead()
    return try await remote.digest(scope)
  }

  package func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    try failRead()
    return try await remote.digest(scope, parts: parts)
  }

  package func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError)
    -> [RecordStamp]?
  {
    try failRead()
    return try await remote.stamps(scope, parts: parts, in: chosen)
  }

  package func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    try failRead()
    return try await remote.history(query)
  }

  package func joinedLists() async throws(RemoteError) -> [JoinedList] {
    try failRead()
    return try await remote.joinedLists()
  }

  /// Fails a read by the script. A read changes nothing, so a lost request and a lost response have one effect.
  private func failRead() throws(RemoteError) {
    let (fault, cut) = state.withLock { state in
      state.reads += 1
      return (state.script(nil), state.cut)
    }
    guard cut == .none else { throw Self.unreachable }
    switch fault {
    case .none, .duplicated: return
    case .lostRequest, .lostAnswer, .late: throw Self.unreachable
    case .status(let status, let retryAfter): throw Self.error(status, retryAfter)
    }
  }

  /// A stream of notifications that `notify()` sends.
  ///
  /// Like the stream of a server, it begins with one notification, and it can't be opened while the network is cut.
  /// Then it ends at once with `RemoteError` `unreachable`. Several streams may be open. Notifications that aren't read
  /// yet are kept.
  public func notifications() -> AsyncThrowingStream<Void, any Error> {
    AsyncThrowingStream { continuation in
      guard cut == .none else { return continuation.finish(throwing: Self.unreachable) }
      defer { continuation.yield() }
      let id = state.withLock { state in
        state.nextListener += 1
        state.notifications[state.nextListener] = continuation
        return state.nextListener
      }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { state in state.notifications[id] = nil }
      }
    }
  }

  /// The number of open streams of notifications.
  package var listeners: Int { state.withLock { $0.notifications.count } }

  /// Sends a notification to every open stream.
  ///
  /// It returns at once, also during a cut. Without a running `SyncedStore.run()` no stream is open, and nothing
  /// happens.
  public func notify() {
    for listener in state.withLock({ Array($0.notifications.values) }) { listener.yield() }
  }

  /// Ends every stream of notifications, as a lost connection does.
  package func dropNotifications() {
    for listener in state.withLock({ Array($0.notifications.values) }) {
      listener.finish(throwing: Self.unreachable)
    }
  }

  private static func error(_ status: Int, _ retryAfter: Double?) -> RemoteError {
    RemoteError(status: status, message: "The server answered \(status).", retryAfter: retryAfter)
      ?? unreachable
  }

  /// The error that a device receives if the server does not answer.
  package static let unreachable = RemoteError(.unreachable, "The server can't be reached.")
}
