/// The freshness of a resource.
package enum ResourceFreshness: Sendable, Hashable {
  /// Current under the source's rule, or just loaded or confirmed.
  case fresh
  /// Expired, with the reason why it was returned anyway.
  case stale(StaleReason)

  /// True if the resource is stale.
  package var isStale: Bool { self != .fresh }
}
