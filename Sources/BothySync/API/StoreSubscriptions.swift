import BothyStore

/// The parts of the space that this device keeps in agreement with the server: `store.subscriptions`.
///
/// ```swift
/// try await store.subscriptions.add(.container("trips/oslo"))
/// await store.sync()
/// ```
public struct StoreSubscriptions: Sendable {
  let synced: SyncedStore

  /// The scopes that a sync pulls.
  public var current: [SyncScope] { synced.followedScopes }

  /// Adds a scope. Its records come with the next sync, which `run()` starts at once. One transaction.
  public func add(_ scope: SyncScope) async throws {
    let current = current
    guard !current.contains(scope) else { return }
    try await set(current + [scope])
  }

  /// Removes a scope and its records. Records with pending changes stay until these are sent. One transaction with a scan
  /// of the tables. Returns the number of deleted local records.
  @discardableResult
  public func remove(_ scope: SyncScope) async throws -> Int { try await set(current.filter { $0 != scope }) }

  /// Replaces all subscriptions. The file keeps them.
  ///
  /// Local records outside of all scopes are deleted at once, and those with pending changes once these are sent. New
  /// scopes come with the next sync. Records outside of all scopes can still be written and sent. Waits for a running
  /// sync. One transaction with a scan of the tables, and no request. Throws `BothyError`. Returns the number of deleted
  /// local records.
  @discardableResult
  public func set(_ scopes: [SyncScope]) async throws -> Int { try await synced.follow(scopes) }

  /// Returns true if the scope was downloaded in full. One scan of the scopes.
  public func isComplete(_ scope: SyncScope) async throws -> Bool {
    try await statuses().contains { $0.scope.contains(scope) && $0.isComplete }
  }

  /// Returns the progress of each scope of which a pull has begun. One scan of the scopes.
  public func statuses() async throws -> [ScopeStatus] {
    try await FileWork.run { try synced.containers() }
  }

  /// Returns the containers with pending changes, by name. Looks at each pending change, and makes no request.
  ///
  /// - Parameter age: adds the subscribed containers that were not pulled for this long.
  package func containersNeedingSync(notPulledFor age: Duration? = nil) async throws -> [String] {
    try await FileWork.run { try synced.containersNeedingSync(notPulledFor: age) }
  }
}

extension SyncedStore {
  /// The parts of the space that this device keeps in agreement with the server.
  public var subscriptions: StoreSubscriptions { StoreSubscriptions(synced: self) }
}

extension StoreSubscriptions {
  /// The progress of the pull of a scope.
  public struct ScopeStatus: Sendable, Hashable {
    /// The container, with or without those below it.
    public var scope: SyncScope
    /// The position of the next pull, opaque; nil before the first complete one, and after a reset.
    package var cursor: String?
    /// True if a pull was completed before.
    public var isComplete: Bool
    /// True if pages of a pull are waiting for the last one.
    package var isFilling: Bool
    /// The time of the last completed pull, in milliseconds since 1970, or `nil` if none was completed.
    package var pulledAt: Int64?
  }
}

extension StoreSubscriptions.ScopeStatus {
  /// A scope of which no pull has begun.
  package init(notBegun scope: SyncScope) {
    self.init(scope: scope, cursor: nil, isComplete: false, isFilling: false, pulledAt: nil)
  }
}
