/// Loads into a cache what will probably be wanted soon, when nothing else is to be done.
///
///     let ahead = ResourcePrefetcher(cache)
///     ahead.want(tilesAround(position, moving: heading))      // the most likely first; again with each move
///
/// It stands back behind whatever somebody asks for, never takes a host's last free connection, and what it is loading
/// when somebody asks for it becomes that reader's load. Resources that are stored and fresh cost no request. Sources
/// that do not allow bulk downloads are left alone.
public final class ResourcePrefetcher: Sendable {
  private let prefetcher: Prefetcher<ResourceKey>
  private let cache: ResourceCache
  private let listener: Int

  /// Nothing is loaded until there is a wish. Keeps the cache open in memory, but not its network if that is suspended.
  ///
  /// Follows what the cache's loader says of the network: with URLSession on Apple's platforms nothing else is to be
  /// done for the policy to hold.
  public init(_ cache: ResourceCache, policy: PrefetchPolicy = PrefetchPolicy()) {
    prefetcher = Prefetcher(policy) {
      cache.source($0.source)?.allowsBulkDownload ?? false
    } load: { key in
      // A prefetch that fails is the next reader's to try; the cache has counted it.
      if !cache.isNetworkSuspended { _ = try? await cache.value(key, priority: .prefetch) }
    }
    self.cache = cache
    let network = cache.network
    listener = network.listen { [weak prefetcher] in prefetcher?.setNetwork(network.current) }
    prefetcher.setNetwork(network.current)
  }

  deinit { cache.network.unlisten(listener) }

  /// What is wanted soon, the most wanted first. Goes before earlier wishes; the oldest beyond the policy's number are
  /// forgotten.
  ///
  /// - Returns: how many of these will be loaded: not those of sources that forbid it.
  @discardableResult
  public func want(_ keys: [ResourceKey]) -> Int { prefetcher.want(keys).accepted }

  /// Forgets all wishes and calls off what is being loaded, unless a reader waits for it.
  public func cancelAll() { prefetcher.cancelAll() }

  /// Begins nothing new until resumed.
  public func pause() { prefetcher.pause() }
  /// Begins again with what is still wished for, the newest wishes first.
  public func resume() { prefetcher.resume() }

  /// Tells of the network where the cache's loader knows nothing of it; holds until that says something. Wishes wait for
  /// a better one.
  public func setNetwork(_ conditions: NetworkConditions) { prefetcher.setNetwork(conditions) }
  /// Takes another policy from now on; what is being loaded goes on.
  public func setPolicy(_ policy: PrefetchPolicy) { prefetcher.setPolicy(policy) }

  /// Why nothing is begun at present; nil when nothing stands in the way.
  public var obstacle: PrefetchPolicy.Obstacle? { prefetcher.obstacle }

  /// How many wishes wait.
  public var waiting: Int { prefetcher.counts.waiting }

  /// Returns when everything wished for is loaded or nothing can be begun.
  public func idle() async { await prefetcher.idle() }
}
