import BothyCache
import BothyStore

/// A run over the tiles of a region in order. It skips available tiles and requests the others, a few at a time. It has
/// at most one batch of tiles in memory.
///
/// Tiles are pinned before they are requested, so received tiles are never evicted.
struct RegionRun {
  let region: Region
  let cache: ResourceCache
  let file: RegionDatabase
  let control: RegionControl
  /// The rule for the freshness of the source's tiles.
  let freshness: FreshnessRule

  private(set) var progress: RegionProgress
  private var tiles: RegionTiles.Iterator
  /// The keys of the current batch that are still missing.
  private var lacking: [ResourceKey] = []
  private var failures: [RegionFailure] = []
  private var failuresKept = 0
  private var handled = 0
  private var notedAt: Int64
  /// The number of failed tiles in a row, and how many of them failed for unreachable servers or for other content in
  /// their place.
  private var failedInRow = (all: 0, unreachable: 0, misled: 0)
  private let watch: ReplacementWatch
  private var stop: Stop?

  /// The reason why a run ends before the last tile.
  enum Stop: Sendable {
    case paused
    case interrupted(BothyError)
  }

  private static let batch = 256
  /// The number of failures in a row that indicates a general problem.
  private static let failureLimit = 64
  private static let unreachableLimit = 4
  private static let misledLimit = 4

  init(
    _ region: Region, _ cache: ResourceCache, _ file: RegionDatabase, _ control: RegionControl,
    _ freshness: FreshnessRule
  ) throws(BothyError) {
    self.region = region
    self.cache = cache
    self.file = file
    self.control = control
    self.freshness = freshness
    progress = RegionProgress(total: region.tiles)
    watch = ReplacementWatch(tiles: region.tiles, removesGone: region.run.removesGone)
    tiles = try region.plan.tiles().makeIterator()
    notedAt = cache.now
  }

  /// Processes the tiles. Returns `nil` after the last one.
  mutating func perform() async throws -> Stop? {
    await withTaskGroup(of: (ResourceKey, RegionLoad).self) { group in
      var running = 0
      while stop == nil, let key = await next() {
        while running >= control.concurrentLoads, let (key, load) = await group.next() {
          running -= 1
          await take(load, of: key)
        }
        guard stop == nil, await mayBegin() else { break }
        group.addTask { [cache, watch] in (key, await RegionLoad.of(key, from: cache, watch)) }
        running += 1
      }
      // Waits for running requests, so that their tiles needn't be requested again.
      while let (key, load) = await group.next() { await take(load, of: key) }
    }
    if let replaced = watch.found() {
      await cache.putBack(replaced)
      // Tiles that couldn't be stored were never counted as done.
      progress.done = max(0, progress.done - replaced.count)
      stop = .interrupted(ReplacementWatch.reason)
    }
    await note()
    try Task.checkCancellation()
    return stop
  }

  /// Returns the next tile to request, or `nil` at the end or if the cache or the list fails.
  private mutating func next() async -> ResourceKey? {
    while lacking.isEmpty {
      if Task.isCancelled || control.isPaused {
        stop = .paused
        return nil
      }
      var keys: [ResourceKey] = []
      while keys.count < Self.batch, let tile = tiles.next() {
        keys.append(tile.key(in: region.plan.source))
      }
      if keys.isEmpty { return nil }
      do {
        try await cache.pin(keys, by: region.holder)
        let stored = try await cache.stored(keys)
        for (key, metadata) in zip(keys, stored) {
          if let metadata, isDone(metadata) {
            progress.done += 1
            if AnswerKind.isNegative(metadata.status) { progress.absent += 1 }
          } else {
            lacking.append(key)
          }
        }
        lacking.reverse()
      } catch {
        stop = .interrupted(BothyError(.storage, "The cache's disk failed: \(error)"))
        return nil
      }
      control.send(progress)
      await noteIfDue(every: 1)
      if stop != nil { return nil }
    }
    return lacking.popLast()
  }

  /// Returns true if an entry on the disk needs no request: it was received or confirmed in this run, or is fresh.
  private func isDone(_ metadata: EntryMetadata) -> Bool {
    if metadata.validatedAt >= region.run.startedAt { return true }
    if region.run.isRefresh { return false }
    return EntryState(of: metadata, under: freshness, at: cache.now, isPinned: true).isFresh
  }

  /// Waits for a network that the policy allows. Returns false if the run should end.
  private mutating func mayBegin() async -> Bool {
    while true {
      if Task.isCancelled || control.isPaused {
        stop = .paused
        return false
      }
      let obstacle = control.obstacle
      if progress.obstacle != obstacle {
        progress.obstacle = obstacle
        control.send(progress)
      }
      if obstacle == nil { return true }
      await noteIfDue(every: 1)
      if stop != nil { return false }
      await control.change(within: .seconds(1), of: cache)
    }
  }

  private mutating func take(_ load: RegionLoad, of key: ResourceKey) async {
    var problem: (message: String, error: BothyError?)?
    var isMisled = false
    switch load {
    case .loaded(let bytes):
      progress.loaded += 1
      progress.bytesLoaded += Int64(bytes)
    case .confirmed: progress.confirmed += 1
    case .kept: break
    case .absent:
      progress.absent += 1
      progress.loaded += 1
    case .gone(let message):
      progress.gone += 1
      remember(key, message)
    case .failed(let message): problem = (message, nil)
    case .unreachable(let error): problem = (error.message, error)
    case .misled(let error):
      problem = (error.message, error)
      isMisled = true
      if watch.isTripped, stop == nil { stop = .interrupted(ReplacementWatch.reason) }
    case .stopped(let error):
      if stop == nil, !Task.isCancelled { stop = .interrupted(error) }
      return
    }
    if let problem {
      fail(key, problem.message, problem.error, isMisled: isMisled)
    } else {
      progress.done += 1
      failedInRow = (0, 0, 0)
    }
    handled += 1
    control.send(progress)
    await noteIfDue(every: 64)
  }

  /// Records a failure.
  ///
  /// - Parameter cause: an error that ends the run after several times in a row, or `nil` for a failure of this tile
  ///   alone.
  private mutating func fail(_ key: ResourceKey, _ message: String, _ cause: BothyError?, isMisled: Bool) {
    progress.failed += 1
    failedInRow.all += 1
    failedInRow.misled = isMisled ? failedInRow.misled + 1 : 0
    failedInRow.unreachable = cause == nil || isMisled ? 0 : failedInRow.unreachable + 1
    remember(key, message)
    guard stop == nil else { return }
    if let cause,
      failedInRow.unreachable >= Self.unreachableLimit || failedInRow.misled >= Self.misledLimit
    {
      stop = .interrupted(cause)
    } else if failedInRow.all >= Self.failureLimit {
      stop = .interrupted(
        BothyError(.refused, "\(Self.failureLimit) tiles in a row could not be loaded. The last: \(message)"))
    }
  }

  private mutating func remember(_ key: ResourceKey, _ message: String) {
    guard failuresKept < RegionDatabase.rememberedFailures, let tile = Tile(key) else { return }
    failures.append(RegionFailure(tile: tile, message: message))
    failuresKept += 1
  }

  /// Stores the progress after `count` tiles or after a second, and checks if the region was paused.
  private mutating func noteIfDue(every count: Int) async {
    guard handled >= count && handled > 0 || abs(cache.now - notedAt) >= 1000 else { return }
    await note()
  }

  private mutating func note() async {
    handled = 0
    notedAt = cache.now
    let new = failures
    failures = []
    do {
      if try await !file.note(progress, new, of: region.id), stop == nil { stop = .paused }
    } catch {
      // Only the cache knows the progress exactly. A list that can't be written still stops the run.
      if stop == nil { stop = .interrupted(BothyError(.storage, error.message)) }
    }
  }
}
