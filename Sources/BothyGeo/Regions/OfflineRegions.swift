public import BothyCache
import BothyStore
public import Foundation
import Synchronization

/// Parts of the map that are there without a network: loaded ahead, kept whatever the cache's limits say, refreshed and
/// let go.
///
///     let regions = try OfflineRegions(cache: cache, folder: folder)
///     let plan = RegionPlan(name: "Oslo", source: "trails", area: .box(oslo), zooms: try ZoomRange(0, 14))
///     show(try await regions.estimate(plan))
///     let region = try await regions.create(plan)
///     Task { for await progress in regions.progress(of: region.id) { show(progress) } }
///     try await regions.resume(region.id)
///
/// Tiles are the cache's own: what is there already is not loaded again, what several regions share is there once, and
/// any read of the cache finds them. A region pins its tiles before it asks for them, and the cache's entries alone say
/// what is there. So a run that ended in any way, by `kill -9` too, goes on where it was, and nothing that is complete is
/// asked for twice. A run holds one batch of 256 tiles in memory, however large the region is.
///
/// All methods may be called from any thread; several processes may use one folder.
public final class OfflineRegions: Sendable {
  let cache: ResourceCache
  let file: RegionFile
  /// How many tiles regions may have; checked when one is created.
  public let limits: RegionLimits
  private let folder: URL
  let state: Mutex<State>

  struct State {
    var policy: PrefetchPolicy
    var network = NetworkConditions()
    /// Runs of this process, by region.
    var runs: [String: RegionControl] = [:]
    /// Who wants to follow runs that have not begun, by region.
    var awaited: [String: [Int: AsyncStream<RegionProgress>.Continuation]] = [:]
    var nextFollower = 0
    /// What follows the cache's network.
    var listener: Int?
    /// The check of the pins at open.
    var restoring: Task<Void, any Error>?
  }

  /// Opens the list of regions in a folder, which is made if need be. Blocks for one small read.
  ///
  /// Pins that the cache has lost, as with a damaged index, are put back behind; every call waits for that. Runs follow
  /// what the cache's loader says of the network, and wait for one that the policy lets them use.
  ///
  /// - Parameters:
  ///   - cache: keeps the tiles; it must have a disk. The list and the cache belong together.
  ///   - policy: on which networks regions are loaded, and how many tiles at a time; how hard a host may be asked its
  ///     source says.
  /// - Throws: `GeoError` `.unavailable` when the list can't be read or written.
  public init(
    cache: ResourceCache, folder: URL, limits: RegionLimits = RegionLimits(),
    policy: PrefetchPolicy = PrefetchPolicy(concurrentLoads: 4)
  ) throws(GeoError) {
    self.cache = cache
    self.limits = limits
    self.folder = folder
    state = Mutex(State(policy: policy))
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      throw GeoError(.unavailable, "\(folder.path) can't be made: \(error).", underlying: error)
    }
    file = try RegionFile(path: folder.appending(path: "regions.sqlite").path)
    let listener = cache.followNetwork { [weak self] in self?.followNetwork() }
    state.withLock { $0.listener = listener }
    followNetwork()
    restore()
  }

  deinit { if let listener = state.withLock({ $0.listener }) { cache.unfollowNetwork(listener) } }

  private func followNetwork() { setNetwork(cache.networkConditions) }

  /// What a region would take. Asks nobody; counts without listing.
  ///
  /// - Throws: `GeoError`: `.invalidRegion`, `.zoomOutOfRange`, `.tooManyTiles` beyond the limit for one.
  public func estimate(_ plan: RegionPlan) async throws -> RegionEstimate {
    _ = try source(of: plan)
    let count = try plan.tiles().count(limit: limits.tilesInOne)
    try limits.check(count, plan.name, beside: 0)
    return RegionEstimate(tiles: count, stored: try await cache.totals()[plan.source] ?? StoreTotals())
  }

  /// Remembers a region; nothing is loaded before it is resumed. One transaction.
  ///
  /// - Throws: `GeoError`, before anything is written or asked for: `.invalidRegion`, `.zoomOutOfRange`,
  ///   `.tooManyTiles`, `.bulkForbidden` where the source does not allow it, `.regionExists`.
  public func create(_ plan: RegionPlan) async throws -> Region {
    try allowing(plan)
    let count = try plan.tiles().count(limit: limits.tilesInOne)
    try limits.check(count, plan.name, beside: 0)
    try await finishDeletions()
    let now = cache.now
    let region = Region(
      id: UUID().uuidString.lowercased(), plan: plan, tiles: count, state: .waiting,
      progress: RegionProgress(total: count), createdAt: Timestamp(milliseconds: now),
      run: Region.Run(startedAt: now, isRefresh: false))
    try await file.add(region, limits)
    return region
  }

  /// All regions, by name, as far as they are: one whose process has died counts as interrupted, one that was complete
  /// and whose tiles have gone as lacking. Costs a look at the row of each tile of complete regions.
  public func all() async throws(GeoError) -> [Region] {
    await restored()
    var regions: [Region] = []
    for region in try await file.all() { regions.append(await seen(region)) }
    return regions
  }

  /// Throws `GeoError` `.unknownRegion`.
  public func region(_ id: Region.ID) async throws(GeoError) -> Region {
    await restored()
    return await seen(try await file.region(id))
  }

  /// The region that people call so; nil when there is none.
  public func region(named name: String) async throws(GeoError) -> Region? {
    try await all().first { $0.name == name }
  }

  /// How many of a region's tiles are on the disk, and their bytes there. Costs a look at the row of each.
  public func stored(_ id: Region.ID) async throws -> StoreTotals {
    try await cache.totals(heldBy: file.region(id).holder)
  }

  /// The tiles that failed in the last run, at most a hundred; they are tried again when the region is resumed.
  public func failures(of id: Region.ID) async throws(GeoError) -> [RegionFailure] {
    try await file.failures(of: id)
  }

  /// How far the run of this process is, from now to its end; of a region that is not being loaded its next run, from its
  /// beginning. Whoever does not keep up sees the latest. Ends also when the region is deleted or the list closed.
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

  /// Ends the streams of a region that will have no run any more; of all for nil.
  func endProgress(of id: Region.ID?) {
    let ended = state.withLock { state in
      let ended = state.awaited.filter { id == nil || $0.key == id }
      for name in ended.keys { state.awaited[name] = nil }
      return ended.values.flatMap(\.values)
    }
    for continuation in ended { continuation.finish() }
  }

  /// Tells of the network where the cache's loader knows nothing of it; holds until that says something. Runs wait for
  /// one that the policy lets them use.
  public func setNetwork(_ conditions: NetworkConditions) {
    let runs = state.withLock { state in
      state.network = conditions
      return Array(state.runs.values)
    }
    for run in runs { run.set(conditions) }
  }

  /// Takes another policy. Runs under way heed it from their next tile on.
  public func setPolicy(_ policy: PrefetchPolicy) {
    let runs = state.withLock { state in
      state.policy = policy
      return Array(state.runs.values)
    }
    for run in runs { run.set(policy) }
  }

  /// Ends the use of the list; runs are to have ended.
  public func close() throws(GeoError) {
    endProgress(of: nil)
    try file.close()
  }

  // MARK: for runs

  /// The right to load a region, and what others want of its run. Throws `GeoError` `.regionBusy`.
  func enter(_ id: Region.ID) throws(GeoError) -> (lock: RegionLock, control: RegionControl) {
    guard let lock = try RegionLock(lockPath(id)) else {
      throw GeoError(
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

  func leave(_ id: Region.ID) { state.withLock { $0.runs.removeValue(forKey: id) }?.end() }

  func control(of id: Region.ID) -> RegionControl? { state.withLock { $0.runs[id] } }

  func lockPath(_ id: Region.ID) -> String { folder.appending(path: "region-\(id).lock").path }

  private func source(of plan: RegionPlan) throws(GeoError) -> ResourceSource {
    guard !plan.name.isEmpty else { throw GeoError(.invalidRegion, "A region needs a name.") }
    guard let source = cache.source(plan.source), source.hasTiles else {
      throw GeoError(
        .invalidRegion, "The cache has no source of tiles '\(plan.source)'. Register it before its regions.")
    }
    guard source.zoomRange.contains(plan.zooms.lowest), source.zoomRange.contains(plan.zooms.highest) else {
      throw GeoError(
        .zoomOutOfRange,
        "The source \(plan.source) has the zooms \(source.zoomRange.lowest) to \(source.zoomRange.highest); the region "
          + "'\(plan.name)' wants \(plan.zooms.lowest) to \(plan.zooms.highest).")
    }
    return source
  }

  /// The source, when its owner lets it be loaded in bulk.
  @discardableResult
  func allowing(_ plan: RegionPlan) throws(GeoError) -> ResourceSource {
    let source = try source(of: plan)
    guard source.allowsBulkDownload else {
      throw GeoError(
        .bulkForbidden,
        "The source \(plan.source) does not allow to load in bulk what nobody looks at. Use one that does; where its "
          + "owner has agreed, say so with the source.")
    }
    return source
  }
}

extension ResourceSource {
  /// Whether it makes addresses of tiles.
  fileprivate var hasTiles: Bool {
    switch address {
    case .tiles, .custom: true
    case .base, .anywhere: false
    }
  }
}
