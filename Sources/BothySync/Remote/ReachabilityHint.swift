/// The estimate of the server's reachability, and its age. Advice for screens and background work: an explicit call
/// ignores it.
package struct ReachabilityHint: Sendable, Hashable {
  /// The status by the last call or the system's report, or `.unknown` before either.
  package var reachability: SyncStatus.NetworkStatus
  /// The time since the last call was answered or failed, or the network changed. `nil` before the first of these.
  package var age: Duration?

  /// Creates the hint that `SyncedStore.reachabilityHint` returns.
  package init(reachability: SyncStatus.NetworkStatus, age: Duration?) {
    self.reachability = reachability
    self.age = age
  }
}
