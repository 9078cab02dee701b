public import Foundation
internal import HTTPTypes
internal import Synchronization

/// Copies of resources in memory, on disk and in the app's bundle, in front of the network.
///
/// A read looks in memory, on disk and in the bundle, and requests the resource from the network last. An entry from a
/// slower place is copied into the faster ones. A stale entry is never returned as fresh. A good entry isn't lost
/// because its replacement failed. An entry that another process replaces or removes on disk isn't returned from memory.
/// Everything here may be deleted at any time, so data that must stay belongs in a `LocalStore`.
///
/// ```swift
/// let cache = try ResourceCache(sources: [tiles], disk: .sqliteFile(in: folder), loader: .system)
/// let key = try tiles.key(zoom: 16, x: 10472, y: 22982)
/// if let now = cache.peek(key) { draw(now) }
/// let answer = try await cache.value(key)
/// for try await answer in cache.values(key) { draw(answer) }  // the old one at once, then the new one
/// ```
///
/// All methods may be called from any thread. Methods that are not `async` wait only for a lock that is held for less
/// than a microsecond. Work on disk and network runs on threads and tasks of the cache's own.
public final class ResourceCache: Sendable {
  struct State {
    var isSuspended = false
    var isClosed = false
    var refreshes: [Int: Task<Void, Never>] = [:]
    var nextRefresh = 0
    /// The check of pinned entries, if one was due.
    var check: Task<Void, Never>?
  }

  let registry = SourceRegistry()
  let memory: MemoryTier<ResourceKey, StoredEntry>
  let decoded: MemoryTier<DecodedKey, DecodedValue>
  let decoding = DecodingStripes()
  let disk: DiskQueue?
  let bundled: BundleQueue
  let fetcher: Fetcher?
  let coalescer = RequestCoalescer<CoalescingKey, FetchOutcome>()
  let readers = WaitingReaders<CoalescingKey>()
  /// The removals, after which loads that began before store nothing.
  let generations = InvalidationTracker()
  /// The replacements, after which look-ups that began before put nothing into memory.
  let replacements = InvalidationTracker()
  let hub = EventHub<CacheEvent>()
  let board = Counters()
  let counterFile: CounterFile?
  let recency = RecencyLog()
  let hold = ReplacementHold()
  /// The number of running loads. While there are others, a confirmation waits for theirs.
  let loads = Atomic(0)
  /// True if memory has had a variant other than 0. Before that, look-ups need not search for variants.
  let hasVariants = Atomic(false)
  let network = NetworkWatch()
  let state = Mutex(State())
  let clock: LoadClock
  private let pressure: Mutex<(any Sendable)?> = Mutex(nil)

  /// Opens a cache. Blocks while the store on disk is opened.
  ///
  /// The time does not depend on the number of entries, unless the limits are lower than before or the index is lost.
  /// Open one cache for each folder in a process and share it. Opening sends no request. If the last process didn't
  /// close the cache, and once in 30 days, pinned entries are read in the background, 8 MB a second. Damaged ones are
  /// removed.
  ///
  /// - Parameters:
  ///   - sources: the sources that are known from the start. `register` adds more later.
  ///   - settings: the limits in memory and on disk.
  ///   - disk: the place for entries beyond this process, or `nil` for memory alone.
  ///   - bundled: the readers of the resources that came with the app, in the order of look-up.
  ///   - loader: the way to the network, or `nil` for a cache without one. The cache follows the conditions that it
  ///     reports. Better conditions wake hosts that count as down, and `ResourcePrefetcher`s apply their policy.
  ///   - downloads: a folder for the beginnings of large downloads, so that even a killed process resumes them. `nil`
  ///     uses the one in the disk's folder, if it has one.
  ///   - clock: the clock of the cache. Tests pass their own.
  /// - Throws: `BothyError` `sourceConflict` for two different sources of one id. `.readOnly`, or `.busy` if another
  ///   process holds the folder for 5 seconds.
  public convenience init(
    sources: [ResourceSource] = [], settings: CacheSettings = CacheSettings(), disk: DiskCache? = nil,
    bundled: [any DiskCache.Reader] = [], loader: (any ResourceLoader)? = nil, downloads: URL? = nil,
    clock: LoadClock = LoadClock()
  ) throws {
    try self.init(
      sources: sources, settings: settings, disk: disk, bundled: bundled, loader: loader,
      downloads: downloads, clock: clock, pressure: .system)
  }

  package init(
    sources: [ResourceSource] = [], settings: CacheSettings = CacheSettings(), disk: DiskCache? = nil,
    bundled: [any DiskCache.Reader] = [], loader: (any ResourceLoader)? = nil, downloads: URL? = nil,
    clock: LoadClock = LoadClock(), pressure source: MemoryPressureSource
  ) throws {
    memory = MemoryTier(settings.memory)
    decoded = MemoryTier(
      MemoryLimits(bytes: settings.decodedBytes, largestShare: 1, order: .leastRecentlyUsed))
    self.clock = clock
    self.bundled = BundleQueue(bundled)
    let partials = (downloads ?? disk?.partials).map { PartialFiles($0) }
    partials?.sweep(now: Date(timeIntervalSince1970: Double(clock.wall()) / 1000))
    fetcher = loader.map { Fetcher($0, clock: clock, partials: partials) }
    counterFile = disk?.counters
    let (hub, board, registry) = (hub, board, registry)
    self.disk = try disk.map { tier in
      var options = DiskCache.Options(limits: settings.disk) { event in
        switch event {
        case .damaged(let key):
          board.count(key.source) { $0.corrupt += 1 }
          hub.send(.corrupt(key.base))
        case .recreated(_, _, let reason): hub.send(.storeReplaced(reason: reason), isKept: true)
        }
      }
      options.identity = { registry[$0]?.storedIdentity }
      return DiskQueue(try tier.openStore(options))
    }
    for source in sources { try register(source) }
    let token = source.start { [weak self] level in self?.relieve(level) }
    pressure.withLock { $0 = token }
    if let states = loader?.networkStates() {
      network.follow(states) { [fetcher, hold] in
        hold.forget(nil)
        fetcher?.networkChanged()
      }
    }
    beginCheck()
  }

  /// Registers a source. A registered source gets the new rule, limits, headers and names at once.
  ///
  /// Costs a short lock, and neither reads nor writes the disk. Entries that an earlier run stored under the id are
  /// found again. The registration itself isn't stored, so each launch repeats it.
  ///
  /// The disk has the identity of each source with entries. If another process or an earlier launch has stored entries
  /// of another source under the id, reads throw `sourceConflict`, and nothing is stored. They are checked once for each
  /// registration. After `removeAll` of the id, this source has it.
  ///
  /// - Throws: `BothyError` `sourceConflict` if a source with another address, other ignored query items or other names
  ///   of secrets has its id in this cache. That source stays.
  public func register(_ source: ResourceSource) throws(BothyError) {
    try registry.register(source)
    fetcher?.gate.raiseTotal(to: source.limits.requestsPerHost)
  }

  /// The registered sources with names and attribution, ordered by id.
  package var sources: [ResourceSource] { registry.all }

  /// Returns the source that was last registered under an id, or `nil`.
  package func source(_ id: SourceID) -> ResourceSource? { registry[id]?.source }

  /// Returns the resource if it is in memory, at any age. Its freshness says if it is stale.
  ///
  /// Looks only in memory, posts no event and allocates nothing. With the key of a tile it takes well under a
  /// microsecond. It may be called from any thread, such as the main one. `nil` means that memory lacks the resource or
  /// its source isn't registered; the disk may still have it.
  public func peek(_ key: ResourceKey) -> CachedResource? {
    guard let box = registry[key.source] else { return nil }
    let now = clock.wall()
    guard let stored = readInMemory(key, at: now, if: { $0.answers(box.varyingFields, exactly: $1) }) else {
      return nil
    }
    let use = EntryState(of: stored.entry.metadata, under: box.source.freshness, at: now)
    return CachedResource(
      key: key, stored: stored, origin: .memory, freshness: use.isFresh ? .fresh : .stale(.notChecked),
      age: use.age)
  }

  /// The later events, and a replacement of the store's file even if it happened while the cache was opened.
  ///
  /// ```swift
  /// for await event in cache.events {
  ///   if case .failed(let key, let error) = event { show("\(key): \(error.message)") }
  /// }
  /// ```
  ///
  /// Every event names its resource, so an event of one source never concerns another. Each access makes a stream of
  /// its own, which ends when the cache is closed. A slow listener loses the oldest events beyond 4096. Events of other
  /// processes don't arrive.
  public var events: AsyncStream<CacheEvent> { hub.stream() }

  /// The counters of each source since the cache was opened.
  ///
  /// A source without a count may be missing. Takes a few short locks and reads no disk. Other processes that use the
  /// folder don't count.
  public var counters: [SourceID: CacheCounters] {
    var all = board.all
    let tally = memory.tally
    for source in registry.all where tally.indices.contains(source.id.index) {
      all[source.id, default: CacheCounters()].memoryHits += tally[source.id.index].count
      all[source.id, default: CacheCounters()].bytesServed += tally[source.id.index].bytes
    }
    return all
  }

  /// The number and the bytes of the entries in memory.
  package var memoryUse: (count: Int, bytes: Int) { (memory.count, memory.cost) }

  /// Releases memory down to a part of its limits, from 0 to 1. The disk keeps its entries.
  ///
  /// On Apple's platforms the cache releases all of it when the system is short of memory. Elsewhere the app calls
  /// this. Decoded values are released too, down to the same part of their own limit. Takes time in proportion to the
  /// released entries.
  public func releaseMemory(keeping share: Double = 0) {
    let before = memory.cost + decoded.cost
    noteEvicted(memory.evict(to: share))
    decoded.trim(to: share)
    hub.send(.memoryTrimmed(bytes: before - memory.cost - decoded.cost))
  }

  package func relieve(_ level: MemoryPressure) { releaseMemory(keeping: level.share) }

  /// Serves stored entries alone until `resumeNetwork`. No request begins, and nothing counts as loaded without a load.
  ///
  /// Requests that wait for their turn fail at once with `BothyError` `.offline`, and running ones complete. Returns at
  /// once. The state isn't stored, so a new cache has its network.
  public func suspendNetwork() {
    let changed = state.withLock { state in
      defer { state.isSuspended = true }
      return !state.isSuspended
    }
    fetcher?.suspend()
    if changed { hub.send(.networkSuspended) }
  }

  /// Ends the effect of `suspendNetwork`. Loads nothing by itself: the next reads send requests again.
  ///
  /// Without a suspension it does nothing and posts no event.
  public func resumeNetwork() {
    let changed = state.withLock { state in
      defer { state.isSuspended = false }
      return state.isSuspended
    }
    fetcher?.resume()
    if changed { hub.send(.networkResumed) }
  }

  /// Reports that the network came back or changed. Hosts that count as down are tried again at once.
  ///
  /// Only needed for loaders that do not report the network.
  package func networkChanged() {
    hold.forget(nil)
    fetcher?.networkChanged()
  }

  /// The network's state as the loader reports it. Before its first report, the device counts as offline.
  ///
  /// If the loader never reports, the state is unknown. Loads are tried then, and count as free of cost.
  package var networkState: NetworkState { network.current }

  /// True if the network is suspended.
  package var isNetworkSuspended: Bool { state.withLock { $0.isSuspended } }

  /// The counters of this process and of all processes that flushed or closed a cache in this folder.
  ///
  /// Reads a small file.
  package var allCounters: [SourceID: CacheCounters] {
    counterFile?.add(counters)
    return counterFile?.read() ?? counters
  }

  /// Saves the times of last use and the counters that are collected in memory.
  package func flush() async throws {
    guard let disk else { return }
    counterFile?.add(counters)
    let now = clock.wall()
    memory.takeUses { key, at in _ = recency.note(key, at: at) }
    let uses = recency.take(at: now).map { (key: $0.key, at: $0.value) }
    if !uses.isEmpty { try await disk.write { try $0.touch(uses) } }
  }

  /// Closes the cache. Refreshes and the check of pinned entries are cancelled, collected uses are written, the store is
  /// closed. Later reads throw.
  ///
  /// The error of later reads is `BothyError` `closed`, and `peek` still finds entries in memory. Waits until the
  /// refreshes have ended and earlier writes are done. Bytes of a request that is still running are returned to its
  /// readers, and not stored on disk. Streams of `events` end. A second call does nothing.
  ///
  /// - Throws: `BothyError` if the store can't be closed. The cache is closed all the same.
  public func close() async throws {
    let work = state.withLock { state in
      state.isClosed = true
      defer { state.refreshes = [:] }
      return Array(state.refreshes.values) + (state.check.map { [$0] } ?? [])
    }
    for task in work { task.cancel() }
    for task in work { await task.value }
    pressure.withLock { $0 = nil }
    network.stop()
    defer { hub.finish() }
    // Uses that can't be written are lost, as on a full disk. They only determine what to evict first.
    try? await flush()
    try await disk?.write { try $0.close() }
  }

  func noteEvicted(_ evicted: [MemoryShard<ResourceKey, StoredEntry>.Evicted]) {
    for entry in evicted {
      board.count(entry.key.source) { $0.evictedFromMemory += 1 }
      if let used = entry.usedAt { _ = recency.note(entry.key, at: used) }
    }
  }
}
