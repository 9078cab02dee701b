/// Loads resources into a cache before they are needed, while it has no other work.
///
/// ```swift
/// let ahead = ResourcePrefetcher(cache)
/// let keys = try (0..<4).map { try tiles.key(zoom: 16, x: 10472 + $0, y: 22982) }
/// ahead.want(keys)  // the most likely first; again with each move
/// ```
///
/// Requests of readers run before it, and it never takes a host's last free connection, unless the source allows a
/// single one. A reader of a resource that is being prefetched joins its load. Resources that are stored and fresh cost
/// no request. Sources that do not allow bulk downloads are ignored, and so are hosts whose terms forbid them. Releasing
/// the prefetcher cancels its loads.
public final class ResourcePrefetcher: Sendable {
  private let prefetcher: Prefetcher<ResourceKey>
  private let cache: ResourceCache
  private let listener: Int

  /// Creates a prefetcher. Loads nothing until `want` is called.
  ///
  /// It keeps the cache open in memory, but does not use its network while that is suspended. It follows the conditions
  /// that the cache's loader reports. With URLSession on Apple's platforms, the policy needs no further code.
  public init(_ cache: ResourceCache, policy: PrefetchPolicy = PrefetchPolicy()) {
    prefetcher = Prefetcher(policy) {
      cache.allowsBulk($0)
    } load: { key in
      var options = ResourceCache.Options(priority: .prefetch)
      // No user waits. A load that went on behind a copy would count as ended, and could not be cancelled.
      options.waitsForEnd = true
      // A failed prefetch is left to the next reader. The cache has counted it.
      if !cache.isNetworkSuspended { _ = try? await cache.value(key, options) }
    }
    self.cache = cache
    let network = cache.network
    listener = network.listen { [weak prefetcher] in prefetcher?.setNetwork(network.current) }
    prefetcher.setNetwork(network.current)
  }

  deinit { cache.network.unlisten(listener) }

  /// Adds resources that are needed soon, the most important first.
  ///
  /// They precede earlier ones, and one that waits already moves up. The oldest beyond the policy's number are
  /// forgotten. Returns at once, and loads as the conditions allow. A load that fails isn't repeated. With `pause`, or
  /// offline, they wait.
  ///
  /// - Returns: the number of these resources that will be loaded, without those whose sources forbid it and those
  ///   whose load is running. Sources that aren't registered forbid it.
  @discardableResult
  public func want(_ keys: [ResourceKey]) -> Int { prefetcher.want(keys).accepted }

  /// Forgets all waiting resources and cancels running loads, unless a reader waits for them.
  ///
  /// Returns at once. Later calls of `want` start loads again.
  public func cancelAll() { prefetcher.cancelAll() }

  /// Stops starting loads until `resume`. Running loads complete.
  ///
  /// Calls of `want` still add resources.
  public func pause() { prefetcher.pause() }
  /// Starts loads of the waiting resources again, the newest first.
  ///
  /// Without a pause it does nothing.
  public func resume() { prefetcher.resume() }

  /// Sets the network's state, for loaders that do not report it. A report of the loader replaces them.
  ///
  /// Waiting resources stay until the policy allows their loads.
  package func setNetwork(_ network: NetworkState) { prefetcher.setNetwork(network) }
  /// Sets another policy. Running loads complete.
  package func setPolicy(_ policy: PrefetchPolicy) { prefetcher.setPolicy(policy) }

  /// The reason why no load starts at present, or `nil` if loads may start.
  package var obstacle: PrefetchPolicy.Obstacle? { prefetcher.obstacle }

  /// The number of waiting resources.
  package var waiting: Int { prefetcher.counts.waiting }

  /// Returns when all resources are loaded or no load can start.
  package func idle() async { await prefetcher.idle() }
}
