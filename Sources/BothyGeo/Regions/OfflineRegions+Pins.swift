import BothyCache
import Synchronization

/// Keeps regions and the cache consistent: the pins of tiles, and the tiles that are available.
extension OfflineRegions {
  /// Starts to restore pins that the cache has lost, unless this is running or done.
  @discardableResult
  func restore() -> Task<Void, any Error> {
    state.withLock { state in
      if let known = state.restoring { return known }
      let work = Task { [cache, file, lockPath] in try await Self.putPinsBack(cache, file, lockPath) }
      state.restoring = work
      return work
    }
  }

  /// Waits until the pins are restored. If this fails, the next call tries again.
  func restored() async {
    let work = restore()
    // A cache that can't be read or written reports this to the caller itself.
    guard (try? await work.value) == nil else { return }
    state.withLock { if $0.restoring == work { $0.restoring = nil } }
  }

  /// Pins the tiles of regions that have lost pins. A region pins all of its tiles while it is loaded.
  private static func putPinsBack(
    _ cache: ResourceCache, _ file: RegionDatabase, _ lockPath: (Region.ID) -> String
  ) async throws {
    guard cache.hasDisk else { return }
    for region in try await file.all() where region.state != .waiting {
      guard try await cache.pinCount(by: region.holder) < region.tiles else { continue }
      // Another run has the lock; it loads the region and pins it.
      guard let lock = try RegionLock(lockPath(region.id)) else { continue }
      defer { lock.release() }
      // The region was deleted in the meantime.
      guard (try? await file.region(region.id)) != nil else { continue }
      var keys: [ResourceKey] = []
      for tile in try region.plan.tiles() {
        keys.append(tile.key(in: region.plan.source))
        if keys.count == 512 {
          try await cache.pin(keys, by: region.holder)
          keys.removeAll(keepingCapacity: true)
        }
      }
      if !keys.isEmpty { try await cache.pin(keys, by: region.holder) }
    }
  }

  /// Returns a region in its actual state: if a run has its lock, and if the tiles of a complete region are on the
  /// disk.
  func seen(_ region: Region) async -> Region {
    var region = region
    switch region.state {
    case .loading:
      // If the lock can't be checked, the stored state counts.
      guard let lock = try? RegionLock(lockPath(region.id)) else { return region }
      lock.release()
      region.state = .interrupted
    case .complete:
      // If the cache can't be read, the stored state counts.
      guard let stored = try? await cache.totals(heldBy: region.holder).count, stored < region.tiles else {
        return region
      }
      region.state = .lacking
      region.reason =
        "\(region.tiles - stored) of its \(region.tiles) tiles are no longer on the disk. Resume it to load them again."
    case .waiting, .paused, .interrupted, .partial, .lacking: break
    }
    return region
  }
}
