import BothyCache
import BothyStore

/// A recent snapshot of a cache's entries. Reading a hundred thousand descriptions for each view of the page takes too
/// long.
actor CacheLook {
  private let cache: ResourceCache
  private var seen:
    (
      entries: [ResourceCache.Inspected], totals: [SourceID: ResourceCache.Totals],
      at: ContinuousClock.Instant
    )?
  private var last: Task<[ResourceCache.Inspected], any Error>?

  init(_ cache: ResourceCache) { self.cache = cache }

  /// Returns the entries. Calls run one after another. A caller that arrives during a read gets its result, unless the
  /// entries have changed since.
  func entries() async throws -> [ResourceCache.Inspected] {
    let look = Task { [last] in
      _ = await last?.result  // the earlier caller has its error
      return try await self.look()
    }
    last = look
    return try await look.value
  }

  /// Reads the entries again if any was stored or deleted, and after some seconds, because freshness changes with time.
  private func look() async throws -> [ResourceCache.Inspected] {
    let totals = try await cache.totals()
    if let seen, seen.totals == totals, ContinuousClock.now - seen.at < .seconds(5) { return seen.entries }
    let entries = try await cache.inspect()
    seen = (entries, totals, ContinuousClock.now)
    return entries
  }
}
