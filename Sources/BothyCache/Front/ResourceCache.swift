public import Foundation
internal import HTTPTypes
internal import Synchronization

/// Copies of resources in memory, on disk and brought along with the app, in front of the network.
///
/// A read looks in memory, on disk, in what was bundled, and asks the network last; what is found in a slower place
/// is put in the faster ones. Nothing stale is passed off as fresh, nothing is lost that was good because something
/// better could not be had, and everything here may be deleted at any time: what must not go belongs in a `Store`.
///
///     let cache = try ResourceCache(sources: [tiles], disk: .files(in: folder), loader: loader)
///     let tile = try tiles.key(zoom: 16, x: 10472, y: 22982)
///     if let now = cache.peek(tile) { show(now) }
///     let answer = try await cache.value(tile)
///     for try await answer in cache.values(tile) { show(answer) }       // the old one at once, then the new one
///
/// All methods may be called from any thread. Those that are not `async` wait for nothing but a lock that is held for
/// less than a microsecond; disk and network work runs on threads and tasks of the cache's own.
public final class ResourceCache: Sendable {
  struct State {
    var isSuspended = false
    var isClosed = false
    var refreshes: [Int: Task<Void, Never>] = [:]
    var nextRefresh = 0
  }

  let registry = SourceRegistry()
  let memory: MemoryTier<ResourceKey, StoredEntry>
  let decoded: MemoryTier<DecodedKey, DecodedValue>
  let decoding = DecodingStripes()
  let disk: DiskLane?
  let bundled: BundleLane
  let fetcher: Fetcher?
  let flights = Flights<FlightKey, FetchOutcome>()
  let readers = ReaderBoard<FlightKey>()
  let generations = Generations()
  let hub = EventHub<CacheEvent>()
  let board = CounterBoard()
  let counterFile: CounterFile?
  let recency = RecencyLog()
  /// Whether memory has had another variant than 0 of anything: it need not be searched for them before.
  let hasVariants = Atomic(false)
  let network = NetworkWatch()
  let state = Mutex(State())
  let clock: LoadClock
  private let pressure: Mutex<(any Sendable)?> = Mutex(nil)

  /// Opens a cache. Blocks while the store on disk is opened.
  ///
  /// - Parameters:
  ///   - sources: those known from the start; more can be registered later.
  ///   - disk: where entries are kept beyond this process; nil for memory alone.
  ///   - bundled: what came with the app, in the order in which it is looked at.
  ///   - loader: the way to the network; nil for a cache that never asks one. What it says of the network is followed:
  ///     a better one wakes servers that were taken to be down, and `ResourcePrefetcher`s obey their policy.
  ///   - downloads: a folder for the beginnings of large downloads, so that also a killed process goes on where it was;
  ///     nil for the one that the disk's folder has, if it has one.
  ///   - clock: tells the time; tests bring their own.
  /// - Throws: `CacheError.sourceConflict`; `StoreError` when the store on disk cannot be opened.
  public init(
    sources: [ResourceSource] = [], settings: CacheSettings = CacheSettings(), disk: DiskTier? = nil,
    bundled: [any BlobReader] = [], loader: (any ResourceLoader)? = nil, downloads: URL? = nil,
    clock: LoadClock = LoadClock(), pressure source: MemoryPressureSource = .system
  ) throws {
    memory = MemoryTier(settings.memory)
    decoded = MemoryTier(
      MemoryLimits(bytes: settings.decodedBytes, largestShare: 1, order: .leastRecentlyUsed))
    self.clock = clock
    self.bundled = BundleLane(bundled)
    let partials = (downloads ?? disk?.partials).map { PartialFiles($0) }
    partials?.sweep(now: Date(timeIntervalSince1970: Double(clock.wall()) / 1000))
    fetcher = loader.map { Fetcher($0, clock: clock, partials: partials) }
    counterFile = disk?.counters
    let (hub, board) = (hub, board)
    self.disk = try disk.map { tier in
      let options = BlobStoreOptions(limits: settings.disk) { event in
        switch event {
        case .damaged(let key):
          board.count(key.source) { $0.corrupt += 1 }
          hub.send(.corrupt(key.base))
        case .recreated(_, _, let reason): hub.send(.storeReplaced(reason: reason), isKept: true)
        }
      }
      return DiskLane(try tier.open(options))
    }
    for source in sources { try registry.register(source) }
    let token = source.start { [weak self] level in self?.relieve(level) }
    pressure.withLock { $0 = token }
    if let conditions = loader?.conditions() {
      network.follow(conditions) { [fetcher] in fetcher?.networkChanged() }
    }
  }

  /// Makes a source known. One that is known gets the new rule, limits, headers and names at once.
  ///
  /// - Throws: `CacheError.sourceConflict` when another source has its id.
  public func register(_ source: ResourceSource) throws(CacheError) { try registry.register(source) }

  /// Forgets a source; what is stored of it stays until it is removed.
  public func unregister(_ id: SourceID) { registry.remove(id) }

  /// The sources that are known, with names and attribution; by id.
  public var sources: [ResourceSource] { registry.all }

  /// The source registered under an id, as it was registered last; nil when there is none.
  public func source(_ id: SourceID) -> ResourceSource? { registry[id]?.source }

  /// The resource if it is in memory, whatever its age; its freshness says what it is worth.
  ///
  /// Looks nowhere else, posts no event and allocates nothing: well under a microsecond with the key of a tile.
  public func peek(_ key: ResourceKey) -> CachedResource? {
    guard let box = registry[key.source] else { return nil }
    let now = clock.wall()
    guard let stored = readInMemory(key, at: now, if: { $0.answers(box.source.headers) }) else { return nil }
    let metadata = stored.entry.metadata
    let use = Usability(of: metadata, under: box.source.freshness, at: now)
    return CachedResource(
      key: key, stored: stored, origin: .memory, freshness: use.isFresh ? .fresh : .stale(.notChecked),
      age: use.age)
  }

  /// What happens from now on, and that the store's file was replaced, also when that was while the cache was opened. Every event names its resource, so what concerns one source never speaks for another's.
  /// A listener that does not keep up loses the oldest events.
  public var events: AsyncStream<CacheEvent> { hub.stream() }

  /// How often what happened since the cache was opened, by source.
  public var counters: [SourceID: CacheCounters] {
    var all = board.all
    let tally = memory.tally
    for source in registry.all where tally.indices.contains(source.id.index) {
      all[source.id, default: CacheCounters()].memoryHits += tally[source.id.index].count
      all[source.id, default: CacheCounters()].bytesServed += tally[source.id.index].bytes
    }
    return all
  }

  /// What is in memory now.
  public var memoryUse: (count: Int, bytes: Int) { (memory.count, memory.cost) }

  /// Gives memory back; the disk keeps what it has.
  public func relieve(_ level: MemoryPressure) {
    let before = memory.cost + decoded.cost
    noteEvicted(memory.evict(to: level.share))
    decoded.trim(to: level.share)
    hub.send(.memoryTrimmed(bytes: before - memory.cost - decoded.cost))
  }

  /// Serves from what is stored alone, until `resumeNetwork`: no request is begun, and nothing that was not loaded is
  /// ever taken for loaded.
  public func suspendNetwork() {
    let changed = state.withLock { state in
      defer { state.isSuspended = true }
      return !state.isSuspended
    }
    fetcher?.suspend()
    if changed { hub.send(.networkSuspended) }
  }

  /// Ends what `suspendNetwork` began. Loads nothing by itself: the next reads ask again.
  public func resumeNetwork() {
    let changed = state.withLock { state in
      defer { state.isSuspended = false }
      return state.isSuspended
    }
    fetcher?.resume()
    if changed { hub.send(.networkResumed) }
  }

  /// The network came back, or is another one: servers that were taken to be down are asked again at once. Only for
  /// loaders that do not say so themselves.
  public func networkChanged() { fetcher?.networkChanged() }

  /// The network as the loader sees it, none until it has said something; one that is there and costs nothing when the
  /// loader never says.
  public var networkConditions: NetworkConditions { network.current }

  /// Whether `suspendNetwork` holds.
  public var isNetworkSuspended: Bool { state.withLock { $0.isSuspended } }

  /// What was counted by all processes that used the cache's folder, as far as they have flushed or closed their caches,
  /// and by this one up to now. Reads a small file.
  public var allCounters: [SourceID: CacheCounters] {
    counterFile?.add(counters)
    return counterFile?.read() ?? counters
  }

  /// Hands over to the disk what is gathered in memory: when which entry was last used, and what was counted.
  public func flush() async throws {
    guard let disk else { return }
    counterFile?.add(counters)
    let now = clock.wall()
    memory.takeUses { key, at in _ = recency.note(key, at: at) }
    let uses = recency.take(at: now).map { (key: $0.key, at: $0.value) }
    if !uses.isEmpty { try await disk.write { try $0.touch(uses) } }
  }

  /// Ends the use of the cache: refreshes are called off, gathered uses written, the store closed. Reads throw from
  /// now on.
  public func close() async throws {
    let refreshes = state.withLock { state in
      state.isClosed = true
      defer { state.refreshes = [:] }
      return Array(state.refreshes.values)
    }
    for refresh in refreshes { refresh.cancel() }
    for refresh in refreshes { await refresh.value }
    pressure.withLock { $0 = nil }
    network.stop()
    defer { hub.finish() }
    // Uses that can't be written are lost, as on a full disk; they only say what to evict first.
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
