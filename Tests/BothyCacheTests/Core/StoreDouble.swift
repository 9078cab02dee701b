import BothyCache
import BothyStore
import Synchronization

/// A store of entries in memory that counts calls, and fails, refuses or waits as a test sets it.
final class StoreDouble: DiskCache.Store {
  struct State {
    var entries: [ResourceKey: CacheEntry] = [:]
    var uses: [ResourceKey: Int64] = [:]
    var pins: [String: Set<ResourceKey>] = [:]
    var reads = 0
    var writes = 0
    var refusal: CachedResource.StorageObstacle?
    var failure: BothyError?
    var limits = DiskCache.Limits()
    var isClosed = false
    /// Called once by the calling thread, with an entry that was read and not returned yet.
    var afterReading: (@Sendable () -> Void)?
  }

  let state = Mutex(State())
  /// Called by the calling thread before each read.
  let beforeReading: (@Sendable () -> Void)?

  init(beforeReading: (@Sendable () -> Void)? = nil) { self.beforeReading = beforeReading }

  func change<Result: Sendable>(_ body: (inout sending State) -> sending Result) -> Result {
    state.withLock { body(&$0) }
  }
  var reads: Int { state.withLock { $0.reads } }
  var keys: Set<ResourceKey> { state.withLock { Set($0.entries.keys) } }
  subscript(key: ResourceKey) -> CacheEntry? {
    get { state.withLock { $0.entries[key] } }
    set { state.withLock { $0.entries[key] = newValue } }
  }

  private func check(_ state: State) throws { if let failure = state.failure { throw failure } }

  func entry(_ key: ResourceKey) throws -> CacheEntry? {
    beforeReading?()
    let (entry, afterReading) = try state.withLock { state in
      state.reads += 1
      try check(state)
      defer { state.afterReading = nil }
      return (state.entries[key], state.afterReading)
    }
    afterReading?()
    return entry
  }

  func metadata(_ key: ResourceKey) throws -> EntryMetadata? { state.withLock { $0.entries[key]?.metadata } }

  func store(_ entries: [(key: ResourceKey, entry: CacheEntry)]) throws -> DiskCache.Report {
    try state.withLock { state in
      try check(state)
      state.writes += 1
      var report = DiskCache.Report()
      for (key, entry) in entries {
        if let refusal = state.refusal {
          report.refused[key] = refusal
          continue
        }
        if state.entries[key]?.body == entry.body { report.unchanged.insert(key) }
        state.entries[key] = entry
        report.stored += 1
      }
      while let count = state.limits.count, state.entries.count > count {
        let oldest = state.entries.min { $0.value.metadata.receivedAt < $1.value.metadata.receivedAt }
        guard let oldest else { break }
        state.entries[oldest.key] = nil
        report.evicted.append(oldest.key)
      }
      return report
    }
  }

  func touch(_ uses: [(key: ResourceKey, at: Int64)]) throws {
    state.withLock { state in for (key, at) in uses { state.uses[key] = at } }
  }

  func remove(_ keys: [ResourceKey]) throws {
    state.withLock { state in for key in keys { state.entries[key] = nil } }
  }

  func pin(_ keys: [ResourceKey], by holder: String) throws {
    state.withLock { $0.pins[holder, default: []].formUnion(keys) }
  }

  func unpin(_ keys: [ResourceKey]?, by holder: String) throws {
    state.withLock { state in
      if let keys { state.pins[holder]?.subtract(keys) } else { state.pins[holder] = nil }
    }
  }

  func forEachPin(
    by holder: String?, _ body: (_ key: ResourceKey, _ holder: String, _ bytes: Int64?) throws -> Void
  ) throws {
    let state = state.withLock { ($0.pins, $0.entries) }
    for (name, keys) in state.0 where holder == nil || name == holder {
      for key in keys {
        try body(key, name, state.1[key].map { Int64($0.body.count) })
      }
    }
  }

  func isPinned(_ key: ResourceKey) throws -> Bool {
    state.withLock { state in state.pins.values.contains { $0.contains(key) } }
  }

  func apply(_ limits: DiskCache.Limits) throws -> [ResourceKey] {
    state.withLock { $0.limits = limits }
    return []
  }

  func forEach(
    _ source: SourceID?,
    _ body: (_ key: ResourceKey, _ metadata: EntryMetadata, _ bytes: Int64) throws -> Void
  ) throws {
    let entries = state.withLock { $0.entries }
    for (key, entry) in entries where source == nil || key.source == source {
      try body(key, entry.metadata, Int64(entry.body.count))
    }
  }

  func close() throws { state.withLock { $0.isClosed = true } }
}
