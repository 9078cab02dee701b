package import BothyStore
public import BothySync
import Synchronization

/// A remote between a device and its server that fails as networks do, by a script.
public final class FaultyRemote: RemoteStorage, CompleteRemote {
  /// The outcome of one exchange.
  public enum Fault: Sendable, Hashable {
    /// The request arrives, and so does the response.
    case none
    /// The request never arrives.
    case lostRequest
    /// The server executes the request, but the response never arrives.
    case lostAnswer
    /// The request arrives twice, and the second response is delivered.
    case duplicated
    /// The device times out. The request arrives after the next one, and its response is discarded.
    case late
    /// The server answers with this status and does nothing.
    case status(Int, retryAfter: Double?)
  }

  /// The directions in which a network is cut.
  public enum Cut: Sendable, Hashable, CaseIterable {
    /// Both ways are open.
    case none
    /// Requests arrive and are executed, but their responses are lost.
    case inbound
    /// No request arrives.
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

  /// - Parameter remote: the server behind this remote. All requests pass until a script or a cut is set.
  public init(_ remote: any RemoteStorage) { self.remote = remote }

  /// The directions that are cut. A cut also affects the responses to exchanges that are under way.
  public var cut: Cut {
    get { state.withLock { $0.cut } }
    set { state.withLock { $0.cut = newValue } }
  }

  package var isConfidential: Bool { remote.isConfidential }

  /// While true, nothing gets through.
  public var isOffline: Bool {
    get { cut == .both }
    set { cut = newValue ? .both : .none }
  }

  /// The exchanges that were tried, in order.
  public var requests: [SyncRequest] { state.withLock { $0.requests } }

  /// The number of queries, counts and digests that were asked for.
  package var reads: Int { state.withLock { $0.reads } }

  /// The requests for blobs that were made, in order.
  public var blobRequests: [BlobRequest] { state.withLock { $0.blobRequests } }

  /// Empties `requests` and `blobRequests`, for the next part of a story. Scripts and cuts stay.
  public func forgetRequests() {
    state.withLock { state in
      state.requests = []
      state.blobRequests = []
      state.reads = 0
    }
  }

  /// Sets what happens to each exchange from now on.
  public func setScript(_ script: @escaping @Sendable () -> Fault) {
    state.withLock { $0.script = { _ in script() } }
  }

  /// Sets what happens to each exchange from now on, by what it carries; other calls are left alone.
  package func setScript(forExchange script: @escaping @Sendable (SyncRequest) -> Fault) {
    state.withLock { $0.script = { $0.map(script) ?? .none } }
  }

  /// Sets what happens to each request for a blob from now on.
  public func setBlobScript(_ script: @escaping @Sendable (BlobRequest) -> Fault) {
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
