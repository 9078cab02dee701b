public import BothyCache
public import BothyStore
import Synchronization

/// Loads the tiles that a map is likely to show next, while the cache has no other work.
///
/// ```swift
/// let ahead = TilePrefetcher(layer)
/// ahead.show(visibleTiles)  // with each change of the screen
/// ahead.move(to: position, course: 45, speed: 1.4)  // with each position, if the map follows one
/// ```
///
/// It looks at where the map moves or was dragged, how fast, and at the zooms that were shown before. Of a source that
/// doesn't allow bulk downloads, or whose provider forbids them, it loads one ring around the shown tiles and no more.
///
/// Tiles that are stored at any age cost no request. A tile isn't tried twice within five minutes, and failures are left
/// to the reader of the tile.
public final class TilePrefetcher: Sendable {
  private let state: TilesAhead
  private let prefetcher: Prefetcher<Tile>
  private let listener: Int

  /// The maximum number of tiles to wait for.
  private static let limit = 96

  /// Creates a prefetcher. It loads nothing until tiles are shown.
  ///
  /// - Parameters:
  ///   - policy: the networks on which it loads, and the number of simultaneous loads.
  ///   - bytesPerHour: the bytes that it may load within an hour, by default 25 MB. It is a tenth on a network where
  ///     each byte may cost money, unless the policy includes such networks, and nothing where people ask for restraint.
  public init(_ layer: TileLayer, policy: PrefetchPolicy = PrefetchPolicy(), bytesPerHour: Int = 25_000_000) {
    let state = TilesAhead(layer, PrefetchAllowance(bytesPerHour: bytesPerHour, policy: policy))
    // The allowance decides about networks that cost money.
    var running = policy
    running.onMeteredNetworks = true
    running.remembered = Self.limit
    let prefetcher = Prefetcher(running, isAllowed: { _ in true }, load: state.load)
    let cache = layer.cache
    // Tiles that the former network didn't allow are planned again.
    listener = cache.followNetwork { [weak prefetcher] in
      guard let prefetcher else { return }
      prefetcher.setNetwork(cache.networkState)
      state.plan(limit: Self.limit, for: prefetcher, after: { _ in })
    }
    prefetcher.setNetwork(cache.networkState)
    (self.state, self.prefetcher) = (state, prefetcher)
  }

  deinit { state.layer.cache.unfollowNetwork(listener) }

  /// Notes the tiles that the screen shows now, and loads those that are likely to be next. The latest wishes replace
  /// the earlier ones.
  public func show(_ tiles: some Sequence<Tile>) { note { $0.show(tiles) } }

  /// Notes a position that the map follows, and loads the tiles ahead of it.
  ///
  /// - Parameters:
  ///   - course: degrees clockwise from north, or `nil` to take the direction from the last position.
  ///   - speed: metres a second.
  public func move(to position: Coordinate, course: Double? = nil, speed: Double) {
    note { $0.move(to: position, course: course, speed: speed) }
  }

  /// Returns when all wishes are loaded or no load can start.
  package func idle() async { await prefetcher.idle() }

  private func note(_ change: (inout MapActivity) -> Void) {
    state.plan(limit: Self.limit, for: prefetcher, after: change)
  }
}

/// The activity on a map and the loads ahead of it. The locks guard both.
private final class TilesAhead: Sendable {
  private struct Known {
    var activity = MapActivity()
    /// The times of the last attempts, in milliseconds since 1970.
    var attempts: [Tile: Int64] = [:]
  }

  let layer: TileLayer
  private let known = Mutex(Known())
  private let allowance: Mutex<PrefetchAllowance>

  /// The time within which a tile isn't tried again, in milliseconds.
  private static let pause: Int64 = 300_000
  /// The number of attempts to remember.
  private static let remembered = 4096

  init(_ layer: TileLayer, _ allowance: PrefetchAllowance) {
    self.layer = layer
    self.allowance = Mutex(allowance)
  }

  /// Plans again after a change. The plans of calls at the same time replace one another in the order of their changes.
  func plan(limit: Int, for prefetcher: Prefetcher<Tile>, after change: (inout MapActivity) -> Void) {
    let (source, now) = (layer.source, layer.cache.now)
    let allowsBulk = layer.cache.allowsBulk(
      ResourceKey(source.id, zoom: source.zooms.lowerBound, x: 0, y: 0))
    known.withLock { known in
      change(&known.activity)
      let tiles = PrefetchPlan.tiles(
        known.activity, in: source.zoomRange, isRingOnly: !allowsBulk, limit: limit)
      let due = tiles.filter { tile in
        known.attempts[tile].map { now < $0 || now - $0 >= Self.pause } ?? true
      }
      prefetcher.want(due, replacing: true)
    }
  }

  /// Loads a tile that isn't stored. One that is stored at any age is shown at once, and refreshed by its reader.
  @Sendable func load(_ tile: Tile) async {
    let cache = layer.cache
    if (try? await layer.value(tile, policy: .local, priority: .prefetch)) != nil { return note(tile) }
    let network = cache.networkState
    guard !cache.isNetworkSuspended, let estimate = allowance.withLock({ $0.begin(at: cache.now, network) })
    else { return }
    note(tile)
    // Bytes that came also count if the tile failed, as one in whose place a page came.
    let came = Mutex((bytes: 0, last: 0))
    let options = ResourceCache.Options(priority: .prefetch) { progress in
      let received = Int(clamping: progress.received)
      came.withLock { $0 = ($0.bytes + (received < $0.last ? received : received - $0.last), received) }
    }
    // A failure is left to the tile's reader.
    let resource = try? await cache.value(layer.source.key(tile), options)
    let loaded = resource.flatMap { $0.origin == .network ? $0.bytes?.count ?? 0 : nil }
    let bytes = came.withLock { $0.bytes }
    allowance.withLock { $0.end(estimate, bytes: bytes > 0 ? bytes : loaded, at: cache.now) }
  }

  private func note(_ tile: Tile) {
    known.withLock { known in
      if known.attempts.count >= Self.remembered { known.attempts.removeAll() }
      known.attempts[tile] = layer.cache.now
    }
  }
}
