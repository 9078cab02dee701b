import BothyCache
import BothyStore
import HTTPTypes

/// A run over the tiles of a region in order. It skips available tiles and requests the others, a few at a time. It has
/// at most one batch of tiles in memory.
///
/// Tiles are pinned before they are requested, so received tiles are never evicted. New versions of stored tiles are
/// staged, and replace them together after the run.
struct RegionRun {
  let region: Region
  let cache: ResourceCache
  let file: RegionDatabase
  let control: RegionControl
  /// The rule for the freshness of the source's tiles.
  let freshness: FreshnessRule

  private(set) var progress: RegionProgress
  private var coming: OfflineRegions.Batches
  private let documents: Set<ResourceKey>
  /// The tiles of the current batch that are still missing.
  private var lacking: [Wanted] = []
  /// The number of batches that were looked up.
  private var batches = 0
  private var failures: [RegionFailure] = []
  /// The tiles that this refresh has confirmed and not stored as such yet, by their parts. After a crash they are
  /// requested again.
  private var unnoted: [Int: [Int]] = [:]
  private var failuresKept = 0
  private var handled = 0
  private var notedAt: Int64
  /// The number of failed tiles of one source in a row, and how many of them failed for unreachable servers or for
  /// other content in their place.
  private var failedInRow = (all: 0, unreachable: 0, misled: 0)
  /// The source of these tiles.
  private var failing: SourceID?
  private let keys: RegionKeys
  /// The sources in the order of the keys, and the hosts that receive their requests, found with the first loss.
  private let sources: [SourceID]
  private var hosts: [SourceID: Set<String>] = [:]
  /// The sources whose servers failed so often that their other tiles aren't requested. These count as failed.
  private var givenUp: Set<SourceID> = []
  /// The hosts that didn't answer and since which nothing was loaded. They receive no further requests until something is.
  /// If another host doesn't answer either, the network is the likely cause.
  private var lost: Set<String> = []
  private let watch: ReplacementWatch
  private var stop: Stop?
  /// True if an earlier part of this run has staged tiles.
  private var hasStaged = false
  /// The checksums of contents that several of these tiles have, or the only one if the server has confirmed no other.
  private var repeated: Set<UInt64> = []
  /// The number of tiles that failed without a final response of the server.
  private(set) var unanswered = 0
  /// The sources that are archives on servers. The tiles of each must be of one version.
  private let archives: Set<SourceID>
  /// The known versions of these archives that the tiles are of.
  private var versions: [SourceID: Set<String>] = [:]
  /// The sources with a tile that exists.
  private var shown: Set<SourceID> = []

  /// A tile to request, with its place in the order of the plan.
  private struct Wanted: Sendable {
    var key: ResourceKey
    var place: Int
  }

  /// The result of a request for a tile.
  private struct Answered: Sendable {
    var wanted: Wanted
    var load: RegionLoad
    var entityTag: String?
  }

  private static let batch = RegionManifest.tilesOfPart
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
    watch = ReplacementWatch(
      tiles: region.tiles, removesGone: region.run.removesGone,
      NetworkProbe(cache: cache, style: region.plan.documentKeys.first))
    coming = try OfflineRegions.Batches(region)
    documents = Set(region.plan.documentKeys)
    keys = try region.plan.keys()
    sources = keys.sources
    archives = Set(sources.filter { cache.isInContainer($0) })
    notedAt = cache.now
  }

  /// Processes the tiles. Returns `nil` after the last one.
  mutating func perform() async throws -> Stop? {
    hasStaged = try await cache.isUsed(region.stage)
    if hasStaged {
      let isHonest = try await file.hasConfirmed(of: region.id, besides: documents.count)
      repeated = try await cache.repeatedChecksums(on: region.stage, besides: documents, orOnly: !isHonest)
    }
    await withTaskGroup(of: Answered.self) { group in
      var running = 0
      while stop == nil, let wanted = await next() {
        while running >= control.concurrentLoads, let answered = await group.next() {
          running -= 1
          await take(answered)
        }
        guard stop == nil, await mayBegin() else { break }
        group.addTask { [cache, watch, region, control] in
          let found = await RegionLoad.of(wanted.key, from: cache, for: region, watch, control)
          return Answered(wanted: wanted, load: found.load, entityTag: found.entityTag)
        }
        running += 1
      }
      // Waits for running requests, so that their tiles needn't be requested again.
      while let answered = await group.next() { await take(answered) }
    }
    if stop == nil { await watch.examineAtEnd(of: progress) }
    if let reason = watch.reason {
      // Earlier tiles of the stage may be of the same network.
      try await cache.dropStage(region.stage)
      let foreign = watch.foreign
      if !foreign.isEmpty { try await cache.remove(foreign) }
      progress.done = max(0, progress.done - watch.admitted - foreign.count)
      stop = .interrupted(reason)
    }
    await note()
    try Task.checkCancellation()
    return stop
  }

  /// Returns the next tile to request, or `nil` at the end or if the cache or the list fails.
  private mutating func next() async -> Wanted? {
    while true {
      while let wanted = lacking.popLast() {
        guard isGivenUp(wanted.key.source) else { return wanted }
        progress.failed += 1
        unanswered += 1
      }
      if Task.isCancelled || control.isPaused {
        stop = .paused
        return nil
      }
      guard let keys = coming.next() else { return nil }
      do {
        try await cache.pin(keys, by: region.holder)
        let stored = try await cache.stored(keys)
        let staged = try await staged(keys)
        let confirmed =
          region.run.isRefresh
          ? try await file.confirmed(of: region.id, part: batches) : RegionConfirmations()
        for (place, key) in keys.enumerated() {
          // Staged entries are of this run, because a new refresh begins with an empty stage.
          if let metadata = stored[place],
            staged[place] != nil || confirmed.has(place) || isDone(key, metadata)
          {
            progress.done += 1
            let isAbsent = AnswerKind.isNegative(metadata.status)
            if isAbsent { progress.absent += 1 } else { watch.noteSent(key) }
            if !isAbsent { shown.insert(key.source) }
            noteVersion((staged[place] ?? metadata).fields[.eTag], of: key)
          } else {
            lacking.append(Wanted(key: key, place: batches * Self.batch + place))
          }
        }
        if hasStaged { try await cache.dropStaged(lacking.map(\.key), on: region.stage) }
        try await announce()
        lacking.reverse()
        batches += 1
      } catch let error as BothyError where [.unavailable, .diskFull].contains(error.code) {
        stop = .interrupted(error)
        return nil
      } catch {
        stop = .interrupted(BothyError(.storage, "The cache's disk failed: \(error)"))
        return nil
      }
      control.send(progress)
      await noteIfDue(every: 1)
      if stop != nil { return nil }
    }
  }

  /// The number of batches whose tiles are announced together.
  private static let batchesAhead = 8

  /// Announces the missing tiles of this batch and the next ones to sources that are one file, which read near ones
  /// together.
  private func announce() async throws {
    guard batches % Self.batchesAhead == 0, !archives.isEmpty else { return }
    var keys = coming.prefix(Self.batchesAhead - 1).flatMap { $0 }
    if !region.run.isRefresh {
      let stored = try await cache.stored(keys)
      keys = zip(keys, stored).filter { $1 == nil }.map(\.0)
    }
    keys += lacking.map(\.key)
    for source in archives { cache.expect(keys.filter { $0.source == source }, of: source) }
  }

  /// Returns the metadata of tiles that an earlier part of this run has staged.
  private func staged(_ keys: [ResourceKey]) async throws -> [EntryMetadata?] {
    guard hasStaged else { return keys.map { _ in nil } }
    let digests = repeated.isEmpty ? [] : try await cache.digests(keys, on: region.stage)
    return try await cache.staged(keys, on: region.stage).enumerated().map { place, metadata in
      if !digests.isEmpty, let digest = digests[place], repeated.contains(digest.checksum) { return nil }
      return metadata
    }
  }

  /// Returns true if an entry on the disk needs no request: it was received in this run, or is fresh. A refresh knows
  /// its tiles by their confirmation alone.
  ///
  /// The documents of a style are those that the plan was made from. Only a refresh changes them.
  private func isDone(_ key: ResourceKey, _ metadata: EntryMetadata) -> Bool {
    if region.run.isRefresh { return false }
    if documents.contains(key) { return true }
    if metadata.validatedAt >= region.run.startedAt { return true }
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
      await control.wait(.seconds(1), of: cache)
    }
  }

  /// Records the version of the archive that a tile of the region is of. Two versions of one archive end the run.
  ///
  /// The archive's document isn't a tile, and may be that of an earlier version until a refresh.
  private mutating func noteVersion(_ entityTag: String?, of key: ResourceKey) {
    guard archives.contains(key.source), let entityTag, Tile(key) != nil else { return }
    versions[key.source, default: []].insert(RemoteArchive.version(of: entityTag))
    if versions[key.source, default: []].count > 1, stop == nil { stop = .replaced }
  }

  private mutating func take(_ answered: Answered) async {
    let (wanted, load) = (answered.wanted, answered.load)
    let key = wanted.key
    var problem: (message: String, error: BothyError?)?
    var isMisled = false
    if load.isConfirmation, region.run.isRefresh {
      unnoted[wanted.place / Self.batch, default: []].append(wanted.place % Self.batch)
    }
    switch load {
    case .loaded(let bytes, _):
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
    case .refused(let message): problem = (message, nil)
    case .failed(let message):
      problem = (message, nil)
      unanswered += 1
    case .unreachable(let error):
      problem = (error.message, error)
      unanswered += 1
    case .misled(let error):
      problem = (error.message, Self.misled(error))
      isMisled = true
      unanswered += 1
      if let reason = watch.reason, stop == nil { stop = .interrupted(reason) }
    case .stopped(let error):
      // A pause calls requests off that take too long.
      if stop == nil, !Task.isCancelled { stop = control.isPaused ? .paused : .interrupted(error) }
      return
    }
    if let problem {
      fail(key, problem.message, problem.error, isMisled: isMisled)
    } else {
      // A tile that never changes stays, whatever its archive is now.
      if case .kept = load {} else { noteVersion(answered.entityTag, of: key) }
      if case .absent = load {} else { shown.insert(key.source) }
      progress.done += 1
      failedInRow = (0, 0, 0)
      lost = []
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
    if failing != key.source { failedInRow = (0, 0, 0) }
    failing = key.source
    failedInRow.all += 1
    failedInRow.misled = isMisled ? failedInRow.misled + 1 : 0
    failedInRow.unreachable = cause == nil || isMisled ? 0 : failedInRow.unreachable + 1
    remember(key, message)
    guard stop == nil else { return }
    if control.isPaused {
      stop = .paused
    } else if let cause,
      failedInRow.unreachable >= Self.unreachableLimit
        || failedInRow.misled >= Self.misledLimit
    {
      lose(key.source, cause)
    } else if failedInRow.all >= Self.failureLimit {
      end(
        key.source,
        BothyError(.refused, "\(Self.failureLimit) tiles in a row could not be loaded. The last: \(message)"))
    }
  }

  /// Requests nothing more of a source that doesn't answer, and of its hosts until something is loaded. A sign-in page
  /// ends the run, and so does a second host with nothing loaded in between.
  private mutating func lose(_ source: SourceID, _ cause: BothyError) {
    if hosts.isEmpty { hosts = keys.hosts(in: cache) }
    let own = hosts[source] ?? []
    let isNetwork = cause.code == .signInRequired || !lost.isEmpty && lost.isDisjoint(with: own)
    lost.formUnion(own)
    if isNetwork { stop = .interrupted(cause) }
    end(source, cause)
  }

  /// Requests nothing more of a source whose tiles all fail. The last one ends the run.
  private mutating func end(_ source: SourceID, _ cause: BothyError) {
    givenUp.insert(source)
    if sources.drop(while: { $0 != source }).allSatisfy(isGivenUp) { stop = stop ?? .interrupted(cause) }
  }

  /// The sources whose servers have no tile of the region.
  var empty: [SourceID] { keys.parts.map(\.source).filter { !shown.contains($0) } }

  private func isGivenUp(_ source: SourceID) -> Bool {
    if givenUp.contains(source) { return true }
    guard !lost.isEmpty, let own = hosts[source], !own.isEmpty else { return false }
    return own.isSubset(of: lost)
  }

  /// Returns the error of a run whose tiles came with other content. Pictures of another size are the server's own.
  static func misled(_ error: BothyError) -> BothyError {
    if case .otherPicture? = error.underlying as? ContentMismatch { return error }
    return BothyError(
      .signInRequired, "\(ReplacementWatch.signIn.message) \(error.message)", underlying: error)
  }

  private mutating func remember(_ key: ResourceKey, _ message: String) {
    guard failuresKept < RegionDatabase.rememberedFailures else { return }
    failures.append(RegionFailure(tile: Tile(key), message: message))
    failuresKept += 1
  }

  /// Stores the progress and the confirmed tiles after `count` tiles or after a second, and checks if the region was
  /// paused.
  private mutating func noteIfDue(every count: Int) async {
    guard handled >= count && handled > 0 || abs(cache.now - notedAt) >= 1000 else { return }
    await note()
  }

  private mutating func note() async {
    handled = 0
    notedAt = cache.now
    // The list has no tile as confirmed that the cache has not.
    await cache.settle()
    do {
      let isLoading = try await file.note(progress, failures, confirmed: unnoted, of: region.id)
      (failures, unnoted) = ([], [:])
      if !isLoading {
        switch stop {
        case nil, .replaced: stop = .paused
        case .paused, .interrupted: break
        }
      }
    } catch {
      // Only the cache knows the progress exactly. A list that can't be written still stops the run.
      if stop == nil { stop = .interrupted(BothyError(.storage, error.message)) }
    }
  }
}
