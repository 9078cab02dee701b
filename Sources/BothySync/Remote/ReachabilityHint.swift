/// The estimate of the server's reachability, and its age. Advice for screens and background work: an explicit call
/// ignores it.
package struct ReachabilityHint: Sendable, Hashable {
  /// True if the server was reachable by the last call or the system's report, or `nil` before either.
  package var isReachable: Bool?
  /// The time since the last call was answered or failed, or the network changed. `nil` before the first of these.
  package var age: Duration?

  /// Creates the hint that `SyncedStore.reachabilityHint` returns.
  package init(isReachable: Bool?, age: Duration?) {
    self.isReachable = isReachable
    self.age = age
  }
}
