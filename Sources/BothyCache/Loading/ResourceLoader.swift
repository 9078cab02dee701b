/// The interface to a network stack, which sends one request and returns the head of the response and its body in
/// pieces.
///
/// A loader follows no redirects, keeps no cookies and caches nothing, because the cache does so by its own rules. It
/// sends the fields unchanged and adds only those of the connection. It requests the content codings that it undoes
/// itself, unless the request names some, and undoes them once. It waits for a response without a limit of its own. It
/// stops soon after its task is cancelled or the body's stream is dropped.
public protocol ResourceLoader: Sendable {
  /// Sends a request and returns when the head of the response is there, whatever its status.
  ///
  /// - Throws: `BothyError` with the code `.timedOut`, `.cancelled` or `.refused` (a request that can't be sent). Any
  ///   other error means that no response came.
  func load(_ request: ResourceRequest) async throws -> ResourceResponse

  /// Returns the network's state, now and after each change, or `nil` if the loader does not know it.
  ///
  /// A cache listens as long as it is open. While the device has no network, reads return usable copies at once, except
  /// under `ReadPolicy.remote`.
  func networkStates() -> AsyncStream<NetworkState>?
}

extension ResourceLoader {
  /// Returns `nil`: the state is unknown, so every load is tried.
  ///
  /// Prefetching takes the network for present and free of cost then.
  public func networkStates() -> AsyncStream<NetworkState>? { nil }
}
