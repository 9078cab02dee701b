import BothyStore

/// No server: every change stays pending, and every request fails with `.unreachable`.
///
/// ```swift
/// let store = try SyncedStore.inMemory([Todo.self])  // `.none` is the default remote there
/// ```
public struct NoRemote: RemoteStorage {
  /// Makes the remote, which has nothing to configure. `.none` is shorter.
  public init() {}

  private var error: RemoteError {
    RemoteError(.unreachable, "This store has no server. Open it with a remote to sync it.")
  }

  /// Throws `RemoteError` of the class `unreachable` at once, without a request.
  public func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse { throw error }
}

extension NoRemote: CompleteRemote {
  package var hasNotifications: Bool { false }
  package func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] { throw error }
  package func count(_ query: AnyQuery) async throws(RemoteError) -> Int { throw error }
  package func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest { throw error }
}
