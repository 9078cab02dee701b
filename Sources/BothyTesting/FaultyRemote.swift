public import BothyStore
public import BothySync
import Synchronization

/// A remote between a device and its server that fails as networks do, by a script.
public final class FaultyRemote: RemoteStorage {
  /// What happens to one exchange.
  public enum Fault: Sendable, Hashable {
    case none
    /// The request never arrives.
    case lostRequest
    /// The server carries it out; the answer never arrives.
    case lostAnswer
    /// The request arrives twice; the second answer is delivered.
    case duplicated
    /// The server answers with this status and does nothing.
    case status(Int, retryAfter: Double?)
  }

  private struct State: Sendable {
    var script: @Sendable () -> Fault = { .none }
    var duringExchange: @Sendable () async -> Void = {}
    var beforeSending: @Sendable (SyncRequest) async -> Void = { _ in }
    var isOffline = false
    var requests: [SyncRequest] = []
    var reads = 0
    var blobScript: @Sendable (BlobRequest) -> Fault = { _ in .none }
    var afterBlobs: @Sendable (BlobRequest) async -> Void = { _ in }
    var blobRequests: [BlobRequest] = []
    var hints: [AsyncThrowingStream<Void, any Error>.Continuation] = []
  }

  private let remote: any RemoteStorage
  private let state = Mutex(State())

  public init(_ remote: any RemoteStorage) { self.remote = remote }

  /// While true, nothing gets through.
  public var isOffline: Bool {
    get { state.withLock { $0.isOffline } }
    set { state.withLock { $0.isOffline = newValue } }
  }

  /// The exchanges that were tried, in order.
  public var requests: [SyncRequest] { state.withLock { $0.requests } }

  /// The number of queries, counts and digests that were asked for.
  public var reads: Int { state.withLock { $0.reads } }

  /// The requests for blobs that were made, in order.
  public var blobRequests: [BlobRequest] { state.withLock { $0.blobRequests } }

  public func forgetRequests() {
    state.withLock { state in
      state.requests = []
      state.blobRequests = []
      state.reads = 0
    }
  }

  /// Sets what happens to each exchange from now on.
  public func setScript(_ script: @escaping @Sendable () -> Fault) { state.withLock { $0.script = script } }

  /// Sets what happens to each request for a blob from now on.
  public func setBlobScript(_ script: @escaping @Sendable (BlobRequest) -> Fault) {
    state.withLock { $0.blobScript = script }
  }

  /// Sets what runs after the server has answered a request for a blob.
  public func setAfterBlobs(_ body: @escaping @Sendable (BlobRequest) async -> Void) {
    state.withLock { $0.afterBlobs = body }
  }

  public var blobs: (any BlobRemote)? {
    guard let blobs = remote.blobs else { return nil }
    return FaultyBlobs(
      remote: blobs,
      fault: { request in
        self.state.withLock { state in
          state.blobRequests.append(request)
          return state.isOffline ? .lostRequest : state.blobScript(request)
        }
      },
      afterwards: { request in await self.state.withLock { $0.afterBlobs }(request) })
  }

  /// Sets what runs after the server has answered and before the device hears of it.
  public func setDuringExchange(_ body: @escaping @Sendable () async -> Void) {
    state.withLock { $0.duringExchange = body }
  }

  /// Sets what runs before a request leaves.
  public func setBeforeSending(_ body: @escaping @Sendable (SyncRequest) async -> Void) {
    state.withLock { $0.beforeSending = body }
  }

  public func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    let (fault, isOffline, during, before) = state.withLock { state in
      state.requests.append(request)
      return (state.script(), state.isOffline, state.duringExchange, state.beforeSending)
    }
    await before(request)
    if isOffline { throw Self.unreachable }
    switch fault {
    case .lostRequest: throw Self.unreachable
    case .status(let status, let retryAfter):
      let error = RemoteError(
        status: status, message: "The server answered \(status).", retryAfter: retryAfter)
      throw error ?? Self.unreachable
    case .lostAnswer:
      _ = try await remote.exchange(request)
      await during()
      throw Self.unreachable
    case .duplicated:
      _ = try await remote.exchange(request)
      let answer = try await remote.exchange(request)
      await during()
      return answer
    case .none:
      let answer = try await remote.exchange(request)
      await during()
      return answer
    }
  }

  public func query(_ query: RecordQuery) async throws(RemoteError) -> [ServerRecord] {
    try failRead()
    return try await remote.query(query)
  }

  public func count(_ query: RecordQuery) async throws(RemoteError) -> Int {
    try failRead()
    return try await remote.count(query)
  }

  public func digest(_ scope: PullScope) async throws(RemoteError) -> ScopeDigest {
    try failRead()
    return try await remote.digest(scope)
  }

  /// A question that changes nothing: what is lost on the way there or back makes no difference.
  private func failRead() throws(RemoteError) {
    let (fault, isOffline) = state.withLock { state in
      state.reads += 1
      return (state.script(), state.isOffline)
    }
    if isOffline { throw Self.unreachable }
    switch fault {
    case .none, .duplicated: return
    case .lostRequest, .lostAnswer: throw Self.unreachable
    case .status(let status, let retryAfter):
      let error = RemoteError(
        status: status, message: "The server answered \(status).", retryAfter: retryAfter)
      throw error ?? Self.unreachable
    }
  }

  /// A stream of hints that `hint()` feeds; it never ends by itself.
  public func hints() -> AsyncThrowingStream<Void, any Error> {
    AsyncThrowingStream { continuation in state.withLock { $0.hints.append(continuation) } }
  }

  /// Tells whoever listens that there is news.
  public func hint() {
    for listener in state.withLock({ $0.hints }) { listener.yield() }
  }

  public static let unreachable = RemoteError(.unreachable, "The server can't be reached.")
}
