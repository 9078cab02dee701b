import BothyCache
import Synchronization

/// Keeping regions and the cache of one mind: which tiles are pinned, and which are there.
extension OfflineRegions {
  /// Begins to put back pins that the cache has lost, unless that is under way or done.
  @discardableResult
  func restore() -> Task<Void, any Error> {
    state.withLock { state in
      if let known = state.restoring { return known }
      let work = Task { [cache, file, lockPath] in try await Self.putPinsBack(cache, file, lockPath) }
      state.restoring = work
      return work
    }
  }

  /// Returns when the pins are back. When they can't be put back now, the next call tries again.
  func restored() async {
    let work = restore()
    // A cache that can't be read or written will tell the caller itself.
    guard (try? await work.value) == nil else { return }
    state.withLock { if $0.restoring == work { $0.restoring = nil } }
  }

  /// A region pins all of its tiles while it is loaded; what has fewer pins has lost some.
  private static func putPinsBack(
    _ cache: ResourceCache, _ file: RegionFile, _ lockPath: (Region.ID) -> String
  ) async throws {
    guard cache.hasDisk else { return }
    for region in try await file.all() where region.state != .waiting {
      guard try await cache.pinCount(by: region.holder) < region.tiles else { continue }
      // Whoever holds the lock loads the region, and pins it.
      guard let lock = try RegionLock(lockPath(region.id)) else { continue }
      defer { lock.release() }
      // Gone meanwhile.
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

  /// A region as it is: who loads it holds its lock, and a complete one has all of its tiles on the disk.
  func seen(_ region: Region) async -> Region {
    var region = region
    switch region.state {
    case .loading:
      // A lock that can't be looked at says nothing.
      guard let lock = try? RegionLock(lockPath(region.id)) else { return region }
      lock.release()
      region.state = .interrupted
    case .complete:
      // A cache that can't be read says nothing of its tiles.
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
