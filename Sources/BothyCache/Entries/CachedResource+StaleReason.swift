extension CachedResource {
  /// The reason why a read returned a stale resource.
  ///
  /// Only a stale resource has one. An app can show it beside the content.
  public enum StaleReason: Sendable, Hashable {
    /// The read was limited to the cache, by `ReadPolicy.local` or `ResourceCache.peek`.
    case notChecked
    /// A request is running, and the next read may return a newer version.
    ///
    /// `ResourceCache.values` returns its result as the second value.
    case refreshing
    /// The network is suspended, or the loader reports that the device is offline, or the cache has no network. No
    /// request was sent.
    case noNetwork
    /// The request failed or its response wasn't usable. The error says why, and the next read tries again.
    case refreshFailed(BothyError)
  }
}
