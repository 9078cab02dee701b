import BothyCache
import BothyStore
import Foundation

/// The entries of a cache as they were a moment ago: reading a hundred thousand descriptions for each look at the page
/// would be felt.
actor CacheLook {
  private let cache: ResourceCache
  private var seen:
    (entries: [ResourceCache.Inspected], totals: [SourceID: StoreTotals], at: ContinuousClock.Instant)?

  init(_ cache: ResourceCache) { self.cache = cache }

  /// Read anew when anything was stored or removed, and after some seconds, as freshness goes by time.
  func entries() async throws -> [ResourceCache.Inspected] {
    let totals = try await cache.totals()
    if let seen, seen.totals == totals, ContinuousClock.now - seen.at < .seconds(5) { return seen.entries }
    let entries = try await cache.inspect()
    seen = (entries, totals, ContinuousClock.now)
    return entries
  }
}
