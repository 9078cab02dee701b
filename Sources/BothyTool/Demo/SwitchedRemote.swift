import BothyStore
import BothySync
import Synchronization

/// A connection to a server with a switch. When it is off, all requests fail, as without a network.
final class SwitchedRemote: CompleteRemote {
  private let remote: any RemoteStorage
  private let isOn = Mutex(true)
  /// The network status that the device receives.
  let feed = NetworkFeed(.reachable)

  init(_ remote: any RemoteStorage) { self.remote = remote }

  var isOnline: Bool {
    get { isOn.withLock { $0 } }
    set {
      isOn.withLock { $0 = newValue }
      feed.send(newValue ? .reachable : .notReachable)
    }
  }

  private static let off = RemoteError(.unreachable, "The network of this device is switched off.")

  private func pass() throws(RemoteError) { if !isOnline { throw Self.off } }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    try pass()
    return try await remote.exchange(request)
  }

  var isConfidential: Bool { remote.isConfidential }

  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    try pass()
    return try await remote.query(query)
  }

  func page(_ query: AnyQuery, after cursor: String?) async throws(RemoteError) -> RemotePage {
    try pass()
    return try await remote.page(query, after: cursor)
  }

  func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    try pass()
    return try await remote.count(query)
  }

  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    try pass()
    return try await remote.digest(scope)
  }

  func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    try pass()
    return try await remote.history(query)
  }

  func joinedLists() async throws(RemoteError) -> [JoinedList] {
    try pass()
    return try await remote.joinedLists()
  }

  /// Drops the server's notifications while the switch is off. Changes of that time are pulled when it is on again.
  func notifications() -> AsyncThrowingStream<Void, any Error> {
    let notifications = remote.notifications()
    return AsyncThrowingStream { continuation in
      let task = Task {
        do {
          for try await _ in notifications where isOnline { continuation.yield() }
          continuation.finish()
        } catch { continuation.finish(throwing: error) }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}
