/// What to show in the place of a resource: the pictures are the app's.
public enum ResourceState: Sendable {
  /// Nothing is stored and the server is being asked.
  case loading
  /// Something to show; `resource.freshness` says whether better is on its way.
  case loaded(CachedResource)
  /// The server has said that there is nothing.
  case absent
  /// Nothing is stored and the network is suspended.
  case suspended
  /// Nothing is stored, and the server could not be asked or answered badly; why is in the error.
  case failed(CacheError)

  /// Whether there is something to show.
  public var resource: CachedResource? {
    guard case .loaded(let resource) = self else { return nil }
    return resource
  }
}
