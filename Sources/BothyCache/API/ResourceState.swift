/// The state to show for a resource. The app supplies the pictures.
///
/// `ResourceCache.states` posts one after the other, and none of them throws.
public enum ResourceState: Sendable {
  /// Memory has no entry. The disk is being read, or a request is running.
  case loading
  /// The resource. `resource.freshness` says if a better version may follow.
  ///
  /// After a failed refresh it comes again, with the error in `staleReason`.
  case loaded(CachedResource)
  /// The server has said that the resource does not exist, now or in a stored response.
  case absent
  /// The cache has nothing stored that may be used, and the network is suspended or missing.
  ///
  /// Show a sign of being offline. After `resumeNetwork` ask for the states again.
  case suspended
  /// The request failed, and no entry was returned before. The error says why.
  ///
  /// An entry may be stored that the policy or the server forbids to use. The next call of `states` tries again.
  case failed(BothyError)

  /// The resource to show, or `nil`.
  package var resource: CachedResource? {
    guard case .loaded(let resource) = self else { return nil }
    return resource
  }
}
