import BothyHTTP
import BothyKinto
import BothyStore
import BothySync

/// The connection to a database's server, if it has one. It selects the tool's remote and its network stack.
struct RemoteConnection: Sendable {
  let remote: any RemoteStorage
  private let address: RemoteAddress?
  private let transport: (any HTTPTransport)?

  /// Creates the value without connecting. A server without a schema uses `schema` for queries.
  init(to address: RemoteAddress?, schema: StoreSchema? = nil) {
    self.address = address
    guard let address else {
      (remote, transport) = (NoRemote(), nil)
      return
    }
    let transport = SystemTransport(compression: true)
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

  /// Returns true if the server responds now, or `nil` without a server. Takes one round trip of at most two seconds.
  func isReachable() async -> Bool? {
    guard let address, let transport else { return nil }
    if let url = address.kintoURL { return await KintoRemote.isReachable(url: url, transport: transport) }
    return await BothyRemote.Health.check(url: address.url, transport: transport)
  }
}

extension RemoteAddress {
  /// The address of a Kinto server, which is written with the prefix `kinto+`, or `nil` for a Bothy server.
  fileprivate var kintoURL: String? {
    let prefix = "kinto+"
    return url.lowercased().hasPrefix(prefix) ? String(url.dropFirst(prefix.count)) : nil
  }
}

/// A remote that adds the name of the server to each error.
private struct NamedRemote: CompleteRemote {
  let address: RemoteAddress
  let remote: any RemoteStorage

  var isConfidential: Bool { remote.isConfidential }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    do { return try await remote.exchange(request) } catch { throw named(error) }
  }

  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    do { return try await remote.query(query) } catch { throw named(error) }
  }

  func page(_ query: AnyQuery, after cursor: String?) async throws(RemoteError) -> RemotePage {
    do { return try await remote.page(query, after: cursor) } catch { throw named(error) }
  }

  func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    do { return try await remote.count(query) } catch { throw named(error) }
  }

  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    do { return try await remote.digest(scope) } catch { throw named(error) }
  }

  func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    do { return try await remote.digest(scope, parts: parts) } catch { throw named(error) }
  }

  func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError) -> [RecordStamp]? {
    do { return try await remote.stamps(scope, parts: parts, in: chosen) } catch { throw named(error) }
  }

  func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    do { return try await remote.history(query) } catch { throw named(error) }
  }

  func joinedLists() async throws(RemoteError) -> [JoinedList] {
    do { return try await remote.joinedLists() } catch { throw named(error) }
  }

  var hasNotifications: Bool { remote.hasNotifications }

  func notifications() -> AsyncThrowingStream<Void, any Error> { remote.notifications() }

  var blobs: (any BlobRemote)? { remote.blobs }

  private func named(_ error: RemoteError) -> RemoteError {
    var error = error
    let verb =
      switch error.code {
      case "insecureAddress": "was not asked"
      default: error.errorClass == .unreachable ? "can't be reached" : "says"
      }
    error.message = "The server \(address.url) \(verb): \(error.message)"
    return error
  }
}

/// The remote of a database without a server. All of its requests fail as unreachable.
struct NoRemote: CompleteRemote {
  private static let error = RemoteError(.unreachable, "This database has no server; give one with --server.")

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse { throw Self.error }
  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] { throw Self.error }
  func count(_ query: AnyQuery) async throws(RemoteError) -> Int { throw Self.error }
  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest { throw Self.error }
  func notifications() -> AsyncThrowingStream<Void, any Error> {
    AsyncThrowingStream { $0.finish(throwing: Self.error) }
  }
}
