import BothyHTTP
import BothyStore
import BothySync

/// A database's server, or none: the place where the tool picks its remote and its network stack.
struct RemoteConnection: Sendable {
  let remote: any RemoteStorage
  private let address: RemoteAddress?
  private let transport: (any HTTPTransport)?

  /// Makes no connection yet. `schema` is what a server that keeps none answers queries by.
  init(to address: RemoteAddress?, schema: StoreSchema? = nil) {
    self.address = address
    guard let address else {
      (remote, transport) = (NoRemote(), nil)
      return
    }
    let transport = Self.makeTransport()
    self.transport = transport
    remote = NamedRemote(address: address, remote: Self.remote(at: address, schema, transport))
  }

  private static func remote(
    at address: RemoteAddress, _ schema: StoreSchema?, _ transport: any HTTPTransport
  ) -> any RemoteStorage {
    let token = address.token
    guard let url = address.kintoURL else {
      return BothyRemote(
        url: address.url, space: address.space, transport: transport, allowsHTTP: address.allowsHTTP,
        token: { token })
    }
    let parts =
      token?.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init) ?? []
    let credentials: KintoCredentials =
      switch parts.count {
      case 0: .none
      case 1: .bearer { token }
      default: .basic(user: parts[0], password: parts[1])
      }
    var options = KintoOptions()
    options.allowsHTTP = address.allowsHTTP
    return KintoRemote(
      url: url, space: address.space, transport: transport, credentials: credentials, schema: schema,
      options: options)
  }

  /// Whether the server answers now; nil when there is none. One round trip of at most two seconds.
  func isReachable() async -> Bool? {
    guard let address, let transport else { return nil }
    if let url = address.kintoURL { return await KintoRemote.isReachable(url: url, transport: transport) }
    return await ServerHealth.check(url: address.url, transport: transport)
  }

  #if canImport(Darwin)
    static func makeTransport() -> any HTTPTransport { URLSessionTransport() }
  #else
    static func makeTransport() -> any HTTPTransport { AsyncHTTPClientTransport() }
  #endif
}

extension RemoteAddress {
  /// The address of a Kinto server, written with `kinto+` before it; nil for one of Bothy's own.
  fileprivate var kintoURL: String? {
    let prefix = "kinto+"
    return url.lowercased().hasPrefix(prefix) ? String(url.dropFirst(prefix.count)) : nil
  }
}

/// Says in each failure which server it was.
private struct NamedRemote: RemoteStorage {
  let address: RemoteAddress
  let remote: any RemoteStorage

  var isConfidential: Bool { remote.isConfidential }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    do { return try await remote.exchange(request) } catch { throw named(error) }
  }

  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    do { return try await remote.query(query) } catch { throw named(error) }
  }

  func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    do { return try await remote.count(query) } catch { throw named(error) }
  }

  func digest(_ scope: PullScope) async throws(RemoteError) -> ScopeDigest {
    do { return try await remote.digest(scope) } catch { throw named(error) }
  }

  func digest(_ scope: PullScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    do { return try await remote.digest(scope, parts: parts) } catch { throw named(error) }
  }

  func stamps(_ scope: PullScope, parts: Int, in chosen: [Int]) async throws(RemoteError) -> [RecordStamp]? {
    do { return try await remote.stamps(scope, parts: parts, in: chosen) } catch { throw named(error) }
  }

  func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    do { return try await remote.history(query) } catch { throw named(error) }
  }

  var givesHints: Bool { remote.givesHints }

  func hints() -> AsyncThrowingStream<Void, any Error> { remote.hints() }

  var blobs: (any BlobRemote)? { remote.blobs }

  private func named(_ error: RemoteError) -> RemoteError {
    var error = error
    let verb = error.errorClass == .unreachable ? "can't be reached" : "says"
    error.message = "The server \(address.url) \(verb): \(error.message)"
    return error
  }
}

/// Stands where a database has no server: everything is unreachable.
struct NoRemote: RemoteStorage {
  private static let error = RemoteError(.unreachable, "This database has no server; give one with --server.")

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse { throw Self.error }
  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] { throw Self.error }
  func count(_ query: AnyQuery) async throws(RemoteError) -> Int { throw Self.error }
  func digest(_ scope: PullScope) async throws(RemoteError) -> ScopeDigest { throw Self.error }
  func hints() -> AsyncThrowingStream<Void, any Error> {
    AsyncThrowingStream { $0.finish(throwing: Self.error) }
  }
}
