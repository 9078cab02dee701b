import BothyStore
import BothySync

/// A remote whose exchanges a test changes. All other requests are sent to the server unchanged.
struct RewritingRemote: CompleteRemote {
  typealias Exchange =
    @Sendable (SyncRequest, any RemoteStorage) async throws(RemoteError) -> SyncResponse

  private let remote: any RemoteStorage
  private let rewrite: Exchange

  init(_ remote: any RemoteStorage, _ rewrite: @escaping Exchange) {
    self.remote = remote
    self.rewrite = rewrite
  }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    try await rewrite(request, remote)
  }
  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    try await remote.query(query)
  }
  func count(_ query: AnyQuery) async throws(RemoteError) -> Int { try await remote.count(query) }
  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    try await remote.digest(scope)
  }
  func notifications() -> AsyncThrowingStream<Void, any Error> { AsyncThrowingStream { $0.finish() } }
}
