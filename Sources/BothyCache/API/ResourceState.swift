/// The state to show for a resource. The app supplies the pictures.
public enum ResourceState: Sendable {
  /// The cache has no entry, and the request is running.
  case loading
  /// The resource. `resource.freshness` says if a better version may follow.
  case loaded(CachedResource)
  /// The server has said that the resource does not exist.
  case absent
  /// The cache has no entry, and the network is suspended.
  case suspended
  /// The cache has no entry, and the request failed. The error says why.
  case failed(BothyError)

  /// The resource to show, or `nil`.
  package var resource: CachedResource? {
    guard case .loaded(let resource) = self else { return nil }
    return resource
  }
}
