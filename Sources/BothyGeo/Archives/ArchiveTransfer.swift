public import BothyCache
import BothyStore
import Foundation
import HTTPTypes

extension Tile {
  /// The key of this tile of a source in the cache.
  package func key(in source: SourceID) -> ResourceKey { ResourceKey(source, zoom: zoom, x: x, y: y) }
}

/// The result of copying tiles between an archive and a cache.
package struct ArchiveTransferReport: Sendable, Hashable {
  /// The number of tiles that were written.
  package var written = 0
  /// The tiles that weren't written: too large for the store, without room in it, or not in the cache.
  package var left: [Tile] = []
}

extension TileArchive {
  /// Writes the tiles of the archive to the store of a cache, as responses received at `time`.
  ///
  /// Tiles that the archive packs with gzip are unpacked once, to check them. A store with pages keeps the packed bytes,
  /// any other one the content. Tiles that are packed with Brotli or Zstandard are stored as they are, and
  /// `Content-Encoding` names that. Pictures without bytes are tiles that the archive lacks.
  ///
  /// - Parameters:
  ///   - source: the source whose tiles they are from now on. If the store has tiles of another one with its id, all are
  ///     left.
  ///   - area: the area to copy, or `nil` for all of it. Of a remote archive, only that area is read, with few requests.
  ///   - zooms: the zooms to copy, or `nil` for all.
  /// - Returns: the number of stored tiles, and those that were left: too large for the store, without room in it, or
  ///   evicted for later ones.
  ///
  /// Runs a transaction of the store for about every 4 MB of tiles. Throws the errors of the archive and of the store.
  /// Tiles that were stored before the error stay.
  public func copy(
    into store: some DiskCache.Store, as source: ResourceSource, at time: Timestamp,
    freshFor: Duration = .seconds(604_800), in area: RegionArea? = nil, zooms: ZoomRange? = nil
  ) async throws -> (written: Int, left: [Tile]) {
    let freshness = FreshnessMetadata(lifetime: Int64(freshFor / .milliseconds(1)), origin: .rule)
    let info = info
    let id = source.id
    var left: [Tile] = []
    var batch: [(key: ResourceKey, entry: CacheEntry)] = []
    var packed: [ResourceKey: Data] = [:]
    var (tiles, bytes): ([Tile], Int) = ([], 0)
    let disk = store as? DiskStore
    /// The numbers of the tiles of the archive that the store has.
    var held: Set<Int64> = []
    func flush() throws {
      let done = try disk?.store(batch, of: source, packed: packed) ?? store.store(batch)
      for tile in tiles {
        if done.refused[tile.key(in: id)] == nil {
          held.insert(tile.rowNumber)
        } else {
          left.append(tile)
        }
      }
      for key in done.evicted where key.source == id {
        if let tile = Tile(key.base), held.remove(tile.rowNumber) != nil { left.append(tile) }
      }
      batch.removeAll(keepingCapacity: true)
      packed.removeAll(keepingCapacity: true)
      tiles.removeAll(keepingCapacity: true)
      bytes = 0
    }
    try await forEachTile(in: area, zooms: zooms) { tile, data in
      try Task.checkCancellation()
      if data.isEmpty, !info.keepsEmpty { return }
      let content = try TileEntry(data, of: tile, info)
      var metadata = EntryMetadata(
        status: 200, fields: content.fields, requestedAt: time.milliseconds, receivedAt: time.milliseconds,
        validatedAt: time.milliseconds, freshness: freshness)
      metadata.cameCoded = content.wasPacked
      let key = tile.key(in: id)
      if content.wasPacked { packed[key] = data }
      batch.append((key, CacheEntry(metadata: metadata, body: content.body)))
      tiles.append(tile)
      bytes += content.body.count
      if bytes > 4 << 20 || batch.count >= 1000 { try flush() }
    }
    try flush()
    try disk?.pack()
    return (held.count, left)
  }
}
