public import BothyCache

/// The tiles of one source through a cache, as a map shows them: at once what is in memory, if need be a part of a
/// coarser tile, and the tile itself when it has come.
///
///     if let shown = layer.bestAvailable(tile) { draw(shown.resource, shown.part) }
///     draw(try await layer.value(tile), .whole)
///
/// A value; all methods may be called from any thread.
public struct TileLayer: Sendable {
  /// The source whose tiles are shown.
  public let source: ResourceSource
  /// The cache that they are read through.
  public let cache: ResourceCache

  /// - Parameter cache: one that knows the source.
  public init(_ source: ResourceSource, in cache: ResourceCache) {
    self.source = source
    self.cache = cache
  }

  /// The tiles of a provider in one style; `cache` must know the source's `resource`.
  public init(_ source: TileSource, in cache: ResourceCache) { self.init(source.resource, in: cache) }

  /// The tile if it is in memory, whatever its age. Posts no event; costs less than a microsecond.
  public func peek(_ tile: Tile) -> CachedResource? {
    guard let key = try? source.key(tile) else { return nil }  // of another zoom: never held
    return cache.peek(key)
  }

  /// The tile from the first place that has it: exactly one answer. A stored one that is stale is answered at once, and
  /// refreshed behind; `states` tells when better has come. A tile beyond the last zoom is refused, see
  /// `bestAvailable`.
  public func value(
    _ tile: Tile, mode: ReadMode = .cacheElseNetwork, priority: LoadPriority = .visible
  ) async throws(CacheError) -> CachedResource {
    try await cache.value(source.key(tile), mode: mode, priority: priority)
  }

  /// What to show in the tile's place: loading, what is stored, what the network brings, or why there is nothing.
  public func states(
    _ tile: Tile, mode: ReadMode = .staleThenFresh, priority: LoadPriority = .visible
  ) throws(CacheError) -> ResourceStates {
    cache.states(try source.key(tile), mode: mode, priority: priority)
  }

  /// The tile, or the nearest coarser one that is in memory, and which part of its picture to show; nil when there is
  /// none. Beyond the source's last zoom the search begins there.
  ///
  /// Looks in memory alone: at most one look-up for each zoom, each less than a microsecond.
  public func bestAvailable(_ tile: Tile) -> ShownTile? {
    for (candidate, part) in candidates(tile) {
      if let resource = peek(candidate), !resource.isAbsent {
        return ShownTile(tile: candidate, part: part, resource: resource)
      }
    }
    return nil
  }

  /// As `bestAvailable`, on disk and in what came with the app too; asks no server.
  public func bestStored(_ tile: Tile) async throws(CacheError) -> ShownTile? {
    for (candidate, part) in candidates(tile) {
      do throws(CacheError) {
        let resource = try await value(candidate, mode: .cacheOnly)
        if !resource.isAbsent { return ShownTile(tile: candidate, part: part, resource: resource) }
      } catch {
        guard error.code == .notCached else { throw error }
      }
    }
    return nil
  }

  /// The tiles that show the place of one, the finest first.
  private func candidates(_ tile: Tile) -> [(Tile, TilePart)] {
    guard let best = source.zoomRange.stand(in: tile) else { return [] }
    return ([best.tile] + best.tile.ancestors).compactMap { candidate in
      guard source.zooms.contains(candidate.zoom) else { return nil }
      return tile.part(of: candidate).map { (candidate, $0) }
    }
  }
}

/// A tile that is there, in the place of one that may not be.
public struct ShownTile: Sendable {
  /// The tile asked for or one that contains it.
  public let tile: Tile
  /// The part of its picture that shows what was asked for.
  public let part: TilePart
  /// The tile's bytes, where they were found, and whether they are still good.
  public let resource: CachedResource

  /// Whether it is the tile that was asked for.
  public var isExact: Bool { part == .whole }
}
