extension CachedResource {
  /// The freshness of a resource.
  package enum Freshness: Sendable, Hashable {
    /// Current under the source's rule, or just loaded or confirmed.
    case fresh
    /// Expired, with the reason why it was returned anyway.
    case stale(CachedResource.StaleReason)

    /// True if the resource is stale.
    package var isStale: Bool {
      if case .stale = self { true } else { false }
    }
  }
}
