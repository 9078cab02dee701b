import BothyStore
import BothySync
import BothyTesting
import Synchronization

/// A remote whose server can be replaced while devices keep using it.
final class SwitchedRemote: CompleteRemote {
  private let current = Mutex<InProcessRemote?>(nil)

  var target: InProcessRemote? {
    get { current.withLock { $0 } }
    set { current.withLock { $0 = newValue } }
  }

  private func remote() throws(RemoteError) -> InProcessRemote {
    guard let target else { throw FaultyRemote.unreachable }
    return target
  }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    try await remote().exchange(request)
  }
  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    try await remote().query(query)
  }
  func count(_ query: AnyQuery) async throws(RemoteError) -> Int { try await remote().count(query) }
  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    try await remote().digest(scope)
  }
  func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    try await remote().digest(scope, parts: parts)
  }
  func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError) -> [RecordStamp]? {
    try await remote().stamps(scope, parts: parts, in: chosen)
  }
  func notifications() -> AsyncThrowingStream<Void, any Error> { AsyncThrowingStream { $0.finish() } }
}
