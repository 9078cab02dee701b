import BothyCache
import BothyStore

/// The entries of a cache as they were a moment ago: reading a hundred thousand descriptions for each look at the page
/// would be felt.
actor CacheLook {
  private let cache: ResourceCache
  private var seen:
    (entries: [ResourceCache.Inspected], totals: [SourceID: StoreTotals], at: ContinuousClock.Instant)?
  private var last: Task<[ResourceCache.Inspected], any Error>?

  init(_ cache: ResourceCache) { self.cache = cache }

  /// Looks one after another: who asks while the entries are read gets those, unless they changed since.
  func entries() async throws -> [ResourceCache.Inspected] {
    let look = Task { [last] in
      _ = await last?.result  // whoever asked for it has its error
      return try await self.look()
    }
    last = look
    return try await look.value
  }

  /// Reads anew when anything was stored or removed, and after some seconds, as freshness goes by time.
  private func look() async throws -> [ResourceCache.Inspected] {
    let totals = try await cache.totals()
    if let seen, seen.totals == totals, ContinuousClock.now - seen.at < .seconds(5) { return seen.entries }
    let entries = try await cache.inspect()
    seen = (entries, totals, ContinuousClock.now)
    return entries
  }
}
