public import BothyStore

/// No server: every change stays pending, and every request fails with `.unreachable`.
///
/// ```swift
/// let store = try SyncedStore.inMemory([Todo.self])  // `.none` is the default remote there
/// ```
public struct NoRemote: RemoteStorage {
  /// Has nothing to configure.
  public init() {}

  private var error: RemoteError {
    RemoteError(.unreachable, "This store has no server. Open it with a remote to sync it.")
  }

  public var givesHints: Bool { false }

  public func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse { throw error }
  public func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] { throw error }
  public func count(_ query: AnyQuery) async throws(RemoteError) -> Int { throw error }
  public func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest { throw error }
  public func hints() -> AsyncThrowingStream<Void, any Error> { AsyncThrowingStream { $0.finish() } }
}

extension RemoteStorage where Self == NoRemote {
  /// No server: every change stays pending.
  public static var none: NoRemote { NoRemote() }
}
