import BothyCache
import Synchronization

/// Keeps regions and the cache consistent: the pins of tiles, and the tiles that are available.
extension OfflineRegions {
  /// Starts to check the list and to restore pins that the cache has lost, unless this is running or done.
  @discardableResult
  func restore() -> Task<Void, any Error> {
    state.withLock { state in
      if let known = state.restoring { return known }
      let work = Task { [cache, file, lockPath, planFile] in
        if let repair = try await file.checked() { cache.reportReplacement(repair) }
        if cache.hasDisk {
          try await Self.recover(cache, file, planFile)
          try await Self.restoreStages(cache, file, lockPath)
        }
        try await Self.putPinsBack(cache, file, lockPath)
      }
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
      if region.run.isFlipping { await finishFlip(region, cache, file, lockPath) }
      guard try await cache.pinCount(by: region.holder) < region.tiles else { continue }
      // Another run has the lock; it loads the region and pins it.
      guard let lock = try await RegionLock.acquired(lockPath(region.id), attempts: 2, on: cache) else {
        continue
      }
      defer { lock.release() }
      // The region was deleted in the meantime.
      guard (try? await file.region(region.id)) != nil else { continue }
      for keys in try Batches(region, of: 512) { try await cache.pin(keys, by: region.holder) }
    }
  }

  /// Continues the replacement of a region's tiles that a kill has interrupted.
  private static func finishFlip(
    _ region: Region, _ cache: ResourceCache, _ file: RegionDatabase, _ lockPath: (Region.ID) -> String
  ) async {
    // Without the lock, another run continues it.
    guard let lock = try? await RegionLock.acquired(lockPath(region.id), attempts: 2, on: cache) else {
      return
    }
    defer { lock.release() }
    do {
      try await flip(region, cache, file)
      try await releaseSurplus(of: region, cache)
      try await file.finish(region.id, at: cache.now)
    } catch {
      // Each tile is still its older or its newer version. The next opening or run continues.
    }
  }

  /// Returns a region in its actual state: if a run has its lock, if the tiles of its manifest are on the disk, and if
  /// these are what its style needs.
  ///
  /// A region that was complete once is complete, outdated or damaged, whatever stopped its last run. One that the user
  /// paused stays paused.
  func seen(_ region: Region) async -> Region {
    var region = region
    if region.state == .loading {
      // If the lock can't be checked, the stored state counts.
      if RegionLock.isTaken(lockPath(region.id)) { return region }
      region.state = .interrupted
    }
    guard region.completedAt != nil, region.state != .paused, region.state != .waiting else { return region }
    // If the disk can't be read, the stored state counts.
    guard let found = try? await Self.compare(region, cache, file) else { return region }
    if found.lost > 0 {
      region.state = .damaged
      region.reason =
        "\(found.lost) of its \(region.tiles) tiles are no longer on the disk. Resume it to load them again."
    } else if region.state != .complete {
      region.state = .outdated
      region.reason = region.reason ?? "Its last refresh was not finished. Resume it to continue."
    } else if await isRestyled(region) {
      region.state = .outdated
      region.reason =
        "Its style has changed with another region of the style. Resume it to load what the style needs now."
    }
    return region
  }
}
