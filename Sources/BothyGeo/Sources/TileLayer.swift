public import BothyCache

/// The tiles of one source through a cache, for showing a map.
///
/// It returns at once a tile in memory, or part of a coarser one. The tile itself follows when it is loaded.
///
/// ```swift
/// if let shown = layer.bestAvailable(tile) { draw(shown.resource, shown.part) }
/// draw(try await layer.value(tile))
/// ```
///
/// A value type. All methods are safe from any thread.
public struct TileLayer: Sendable {
  /// The source of the tiles.
  package let source: ResourceSource
  /// The cache that tiles are read through.
  package let cache: ResourceCache

  /// Creates a layer. Reads nothing.
  ///
  /// - Parameter cache: a cache that knows the source. Without it, reads throw `BothyError` `unknownSource`.
  public init(_ source: ResourceSource, in cache: ResourceCache) {
    self.source = source
    self.cache = cache
  }

  /// Returns the tile if it is in memory, at any age. Posts no event and costs less than a microsecond.
  ///
  /// Doesn't wait, so it may be called while a frame is drawn. `nil` also for a zoom that the source lacks.
  public func peek(_ tile: Tile) -> CachedResource? {
    guard let key = try? source.key(tile) else { return nil }  // of another zoom: never stored
    return cache.peek(key)
  }

  /// Returns the tile from the first place that has it, as exactly one result.
  ///
  /// A stale stored tile is returned at once and refreshed in the background. `states` reports the newer version. A
  /// tile that the server doesn't have is a result too, with `isAbsent` and no bytes.
  ///
  /// - Throws: `BothyError` `zoomOutOfRange` for a tile beyond the last zoom, see `bestAvailable`. Throws `.notCached`
  ///   with the policy `.local`, and the errors of a request.
  public func value(
    _ tile: Tile, policy: ReadPolicy = .localElseRemote, priority: ResourceCache.Priority = .visible
  ) async throws(BothyError) -> CachedResource {
    try await cache.value(source.key(tile), policy: policy, priority: priority)
  }

  /// Returns the states of a tile to show: loading, the stored version, the version from the network, or an error.
  ///
  /// An error of a read is a state, as the sequence doesn't throw.
  ///
  /// - Throws: `BothyError` `zoomOutOfRange` for a zoom that the source lacks.
  public func states(
    _ tile: Tile, policy: ReadPolicy = .localThenRemote, priority: ResourceCache.Priority = .visible
  ) throws(BothyError) -> some AsyncSequence<ResourceState, Never> & Sendable {
    cache.states(try source.key(tile), policy: policy, priority: priority)
  }

  /// Returns the tile, or the nearest coarser one in memory with the part of its picture to show.
  ///
  /// Returns `nil` if memory has neither. Beyond the source's last zoom, the search begins at that zoom.
  ///
  /// Reads only memory: at most one look-up for each zoom, each of less than a microsecond.
  public func bestAvailable(_ tile: Tile) -> ShownTile? {
    for (candidate, part) in candidates(tile) {
      if let resource = peek(candidate), !resource.isAbsent {
        return ShownTile(tile: candidate, square: part, resource: resource)
      }
    }
    return nil
  }

  /// Like `bestAvailable`, but also searches the disk and the tiles that came with the app. Sends no request.
  ///
  /// Costs at most one read of the disk for each zoom. Throws `BothyError` if the disk can't be read.
  public func bestStored(_ tile: Tile) async throws(BothyError) -> ShownTile? {
    for (candidate, part) in candidates(tile) {
      do throws(BothyError) {
        let resource = try await value(candidate, policy: .local)
        if !resource.isAbsent { return ShownTile(tile: candidate, square: part, resource: resource) }
      } catch {
        guard error.code == .notCached else { throw error }
      }
    }
    return nil
  }

  /// Returns the tiles that show the area of a tile, the finest first.
  private func candidates(_ tile: Tile) -> [(Tile, TilePart)] {
    guard let best = source.zoomRange.stand(in: tile) else { return [] }
    return ([best.tile] + best.tile.ancestors).compactMap { candidate in
      guard source.zooms.contains(candidate.zoom) else { return nil }
      return tile.part(of: candidate).map { (candidate, $0) }
    }
  }
}
