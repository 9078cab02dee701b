import BothyStore
import BothySync

/// A remote on which a test acts after a read was answered, and before the device has the answer.
struct InterposedRemote: CompleteRemote {
  let remote: any RemoteStorage
  let answered: @Sendable () async -> Void

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    try await remote.exchange(request)
  }
  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    let found = try await remote.query(query)
    await answered()
    return found
  }
  func page(_ query: AnyQuery, after cursor: String?) async throws(RemoteError) -> RemotePage {
    let found = try await remote.page(query, after: cursor)
    await answered()
    return found
  }
  func count(_ query: AnyQuery) async throws(RemoteError) -> Int { try await remote.count(query) }
  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    try await remote.digest(scope)
  }
  func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    try await remote.digest(scope, parts: parts)
  }
  func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError) -> [RecordStamp]? {
    let found = try await remote.stamps(scope, parts: parts, in: chosen)
    await answered()
    return found
  }
  func notifications() -> AsyncThrowingStream<Void, any Error> { AsyncThrowingStream { $0.finish() } }
}
