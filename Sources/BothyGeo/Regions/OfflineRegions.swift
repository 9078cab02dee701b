public import BothyCache
import BothyStore
public import Foundation
import Synchronization

/// Regions of the map for use without a network: loaded in advance, excluded from the cache's limits, refreshed and
/// deleted.
///
/// ```swift
/// let regions = try OfflineRegions(cache: cache, folder: folder)
/// let plan = OfflineRegions.Plan(name: "Oslo", source: "trails", area: .box(oslo), zooms: try ZoomRange(0, 14))
/// print(try await regions.estimate(plan))
/// let region = try await regions.create(plan)
/// Task { for await progress in regions.progress(of: region.id) { print(progress) } }
/// try await regions.resume(region.id)
/// ```
///
/// Tiles are entries of the cache. Stored tiles aren't loaded again, regions share tiles, and any read of the cache
/// finds them.
///
/// A region pins its tiles before it requests them. Only the cache's entries record which tiles are available. So a run
/// that ended in any way, even by `kill -9`, continues where it was, and complete tiles aren't requested twice. A run
/// has one batch of 256 tiles in memory, for a region of any size.
///
/// All methods are safe from any thread. Several processes may use one folder.
public final class OfflineRegions: Sendable {
  package let cache: ResourceCache
  let file: RegionDatabase
  /// The maximum numbers of tiles, checked when a region is created and when its style needs more than before.
  package let limits: RegionLimits
  private let folder: URL
  let state: Mutex<State>

  struct State {
    var policy: PrefetchPolicy
    var network = NetworkState.unknown
    /// The runs of this process, by region.
    var runs: [String: RegionControl] = [:]
    /// The observers of runs that haven't begun, by region.
    var awaited: [String: [Int: AsyncStream<RegionProgress>.Continuation]] = [:]
    var nextFollower = 0
    /// The id of the listener to the cache's network.
    var listener: Int?
    /// The check of the pins when the list is opened.
    var restoring: Task<Void, any Error>?
  }

  /// Opens the list of regions in a folder, or creates it. Blocks for one small read.
  ///
  /// Pins that the cache has lost, for example with a damaged index, are restored in the background. Every call waits
  /// for that. A damaged list, or one of a newer version, is repaired: its readable regions are copied, and others are
  /// recovered from the cache's pins. The cache then sends `.storeReplaced`, also to later listeners. Runs use the
  /// network status of the cache's loader, and wait for a network that the policy allows.
  ///
  /// - Parameters:
  ///   - cache: the cache of the tiles, which must have a disk. The list and the cache belong together.
  ///   - tilesInOne: the maximum number of tiles of one region.
  ///   - tilesInAll: the maximum number of tiles of all regions. A tile that several regions share counts for each. A
  ///     refresh to a style that needs more stops.
  ///   - policy: the networks for loading, and the number of concurrent loads. The source limits the load on a host.
  /// - Throws: `BothyError` `unavailable` if the list can't be read or written.
  public convenience init(
    cache: ResourceCache, folder: URL, tilesInOne: Int = 100_000, tilesInAll: Int = 1_000_000,
    policy: PrefetchPolicy = PrefetchPolicy(concurrentLoads: 4)
  ) throws(BothyError) {
    try self.init(
      cache: cache, folder: folder, limits: RegionLimits(tilesInOne: tilesInOne, tilesInAll: tilesInAll),
      policy: policy)
  }

  package init(
    cache: ResourceCache, folder: URL, limits: RegionLimits,
    policy: PrefetchPolicy = PrefetchPolicy(concurrentLoads: 4)
  ) throws(BothyError) {
    self.cache = cache
    self.limits = limits
    self.folder = folder
    state = Mutex(State(policy: policy))
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      throw BothyError(
        .unavailable,
        "\(folder.path) can't be made: \(BothyError.cause(error)). Check the folder that it is in.",
        underlying: error)
    }
    file = try RegionDatabase(path: folder.appending(path: "regions.sqlite").path)
    if let repair = file.repair { cache.reportReplacement(repair) }
    let listener = cache.followNetwork { [weak self] in self?.followNetwork() }
    state.withLock { $0.listener = listener }
    followNetwork()
    restore()
  }

  deinit { if let listener = state.withLock({ $0.listener }) { cache.unfollowNetwork(listener) } }

  private func followNetwork() { setNetwork(cache.networkState) }

  /// Estimates the tiles and bytes of a region. Sends no requests, and counts tiles without listing them.
  ///
  /// - Throws: `BothyError`: `invalidRegion`, `zoomOutOfRange`, or `tooManyTiles` above the limit for one region.
  public func estimate(_ plan: OfflineRegions.Plan) async throws -> OfflineRegions.Estimate {
    _ = try source(of: plan)
    let keys = try plan.keys()
    try limits.check(try keys.count(limit: limits.tilesInOne), plan.name, beside: 0)
    let stored = try await cache.totals()
    var parts: [OfflineRegions.Estimate] = []
    if !keys.fixed.isEmpty {
      parts.append(
        OfflineRegions.Estimate(
          tiles: keys.fixed.count, stored: stored[plan.source] ?? ResourceCache.Totals()))
    }
    for part in keys.parts {
      parts.append(
        OfflineRegions.Estimate(
          tiles: try part.tiles.count(), stored: stored[part.source] ?? ResourceCache.Totals()))
    }
    return OfflineRegions.Estimate(adding: parts)
  }

  /// Saves a region in one transaction. Nothing is loaded before it is resumed.
  ///
  /// - Throws: `BothyError`, before any write or request: `invalidRegion`, `zoomOutOfRange`, `tooManyTiles`,
  ///   `.bulkForbidden` if the source doesn't allow it, or `regionExists`.
  public func create(_ plan: OfflineRegions.Plan) async throws -> Region {
    try allowing(plan)
    let count = try plan.keys().count(limit: limits.tilesInOne)
    try limits.check(count, plan.name, beside: 0)
    try await finishDeletions()
    let now = cache.now
    let region = Region(
      id: UUID().uuidString.lowercased(), plan: plan, tiles: count, state: .waiting,
      progress: RegionProgress(total: count), createdAt: Timestamp(milliseconds: now),
      run: Region.Run(startedAt: now, isRefresh: false))
    try await file.add(region, limits)
    do {
      try plan.write(to: planFile(region.id))
      // The documents that the plan was made from must be the ones that the region has.
      if plan.map != nil { try await cache.pin(plan.documentKeys, by: region.holder) }
    } catch {
      // The first error is the one to report. Without its plan and its pins, the region isn't recovered later.
      removePlan(of: region.id)
      try? await cache.unpin(by: region.holder)
      try? await file.remove(region.id)
      throw error
    }
    return region
  }

  /// Returns all regions by name, in their actual state.
  ///
  /// If the process of a run has died, the region is interrupted. If a region that was complete has lost tiles, it is
  /// damaged. After a kill the cache reads all tiles of regions in the background, and damaged ones are lost once it has
  /// read them. Finishes deletions that another process has delayed. Costs a look-up of each tile of complete regions.
  public func all() async throws(BothyError) -> [Region] {
    await restored()
    // A deletion that can't be finished now is finished by a later call. Its region isn't listed in any case.
    try? await finishFreeDeletions()
    var regions: [Region] = []
    for region in try await file.all() { regions.append(await seen(region)) }
    return regions
  }

  /// Returns a region in its actual state. Costs a look-up of each of its tiles if it was ever complete.
  ///
  /// Throws `BothyError` `unknownRegion` for a region that doesn't exist or is being deleted.
  public func region(_ id: Region.ID) async throws(BothyError) -> Region {
    await restored()
    return await seen(try await file.region(id))
  }

  /// Returns the region with a name, or `nil`.
  package func region(named name: String) async throws(BothyError) -> Region? {
    try await all().first { $0.name == name }
  }

  /// Returns the number and bytes of a region's tiles on the disk. Costs a look-up of each.
  ///
  /// Tiles that other regions share are counted whole. Throws `BothyError` `unknownRegion`.
  public func stored(_ id: Region.ID) async throws -> ResourceCache.Totals {
    try await cache.totals(heldBy: file.region(id).holder)
  }

  /// Returns up to a hundred tiles that failed in the last run, in the order of their failures.
  ///
  /// They are tried again when the region is resumed, which empties the list first. Empty for an unknown region.
  public func failures(of id: Region.ID) async throws(BothyError) -> [RegionFailure] {
    try await file.failures(of: id)
  }

  /// Returns the progress of a region's run in this process, from now to its end. If no run exists, reports the next
  /// one from its beginning.
  ///
  /// A slow reader receives the latest value. The stream also ends when the region is deleted or the list closed.
  public func progress(of id: Region.ID) -> AsyncStream<RegionProgress> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: RegionProgress.self, bufferingPolicy: .bufferingNewest(1))
    let (run, number) = state.withLock { state -> (RegionControl?, Int) in
      state.nextFollower += 1
      let run = state.runs[id]
      if run == nil { state.awaited[id, default: [:]][state.nextFollower] = continuation }
      return (run, state.nextFollower)
    }
    if let run {
      run.follow(continuation)
    } else {
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { _ = $0.awaited[id]?.removeValue(forKey: number) }
      }
    }
    return stream
  }

  /// Ends the streams of a region that has no further runs, or all streams for `nil`.
  func endProgress(of id: Region.ID?) {
    let ended = state.withLock { state in
      let ended = state.awaited.filter { id == nil || $0.key == id }
      for name in ended.keys { state.awaited[name] = nil }
      return ended.values.flatMap(\.values)
    }
    for continuation in ended { continuation.finish() }
  }

  /// Sets the network's state until the cache's loader reports one. Runs wait for a network that the policy allows.
  ///
  /// Needed only with a loader that doesn't report the network. Running requests aren't ended.
  public func setNetwork(_ network: NetworkState) {
    let runs = state.withLock { state in
      state.network = network
      return Array(state.runs.values)
    }
    for run in runs { run.set(network) }
  }

  /// Sets another policy. Current runs apply it from their next tile on.
  ///
  /// It isn't stored, so set it again after a restart.
  public func setPolicy(_ policy: PrefetchPolicy) {
    let runs = state.withLock { state in
      state.policy = policy
      return Array(state.runs.values)
    }
    for run in runs { run.set(policy) }
  }

  /// Closes the list. End all runs before. Later calls throw `BothyError` `unavailable`.
  ///
  /// The cache stays open, with the tiles of all regions. Streams of progress end.
  public func close() throws(BothyError) {
    endProgress(of: nil)
    try file.close()
  }

  // MARK: for runs

  /// Returns the lock for loading a region, and the control of its run. Throws `BothyError` `regionBusy`.
  func enter(_ id: Region.ID) async throws -> (lock: RegionLock, control: RegionControl) {
    guard let lock = try await RegionLock.acquired(lockPath(id), attempts: 3, on: cache) else {
      throw BothyError(
        .regionBusy, "The region is being loaded already, here or by another process. Pause it first.")
    }
    let control = state.withLock { state in
      let control = RegionControl(state.policy, state.network)
      state.runs[id] = control
      return control
    }
    for follower in state.withLock({ $0.awaited.removeValue(forKey: id) })?.values.map({ $0 }) ?? [] {
      control.follow(follower)
    }
    return (lock, control)
  }

  /// Ends the control of a run. The next run of the region may have begun already, and keeps its own.
  func leave(_ id: Region.ID, _ control: RegionControl) {
    state.withLock { if $0.runs[id] === control { $0.runs[id] = nil } }
    control.end()
  }

  func control(of id: Region.ID) -> RegionControl? { state.withLock { $0.runs[id] } }

  func lockPath(_ id: Region.ID) -> String { folder.appending(path: "region-\(id).lock").path }

  func planFile(_ id: Region.ID) -> URL { folder.appending(path: "region-\(id).json") }

  /// Deletes the copy of a plan. If it can't be deleted, the region is found again as a damaged one.
  func removePlan(of id: Region.ID) { try? FileManager.default.removeItem(at: planFile(id)) }

  private func source(of plan: OfflineRegions.Plan) throws(BothyError) -> ResourceSource {
    guard !plan.name.isEmpty else { throw BothyError(.invalidRegion, "A region needs a name.") }
    if let map = plan.map {
      let source = try MapClosure.source(plan.source, in: cache)
      try map.register(plan.source, in: cache)
      return source
    }
    guard let source = cache.source(plan.source), source.hasTiles else {
      throw BothyError(
        .invalidRegion, "The cache has no source of tiles '\(plan.source)'. Register it before its regions.")
    }
    guard source.zoomRange.contains(plan.zooms.lowest), source.zoomRange.contains(plan.zooms.highest) else {
      throw BothyError(
        .zoomOutOfRange,
        "The source \(plan.source) has the zooms \(source.zoomRange.lowest) to \(source.zoomRange.highest); the region "
          + "'\(plan.name)' wants \(plan.zooms.lowest) to \(plan.zooms.highest).")
    }
    return source
  }

  /// Returns the source if its owner allows loading in bulk.
  @discardableResult
  func allowing(_ plan: OfflineRegions.Plan) throws(BothyError) -> ResourceSource {
    let source = try source(of: plan)
    guard source.container?.reader == nil else {
      throw BothyError(
        .invalidRegion,
        "The source \(source.id) is a file on this device, so all of its tiles are here. It needs no regions."
      )
    }
    guard source.allowsBulkDownload else {
      throw BothyError(
        .bulkForbidden,
        "The source \(plan.source) does not allow bulk downloads. Use one that does; where its "
          + "owner has agreed, say so with the source.")
    }
    let first = ResourceKey(source.id, zoom: plan.zooms.lowest, x: 0, y: 0)
    try ProviderTerms.checkBulk(plan.map.map { Array($0.hosts) } ?? source.hosts(for: first))
    return source
  }
}

extension ResourceSource {
  /// True if the source has addresses of tiles.
  fileprivate var hasTiles: Bool {
    switch address.form {
    case .tiles, .custom: true
    case .base, .anywhere: false
    }
  }
}
