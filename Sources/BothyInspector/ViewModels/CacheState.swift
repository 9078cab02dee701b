import BothyCache
import BothyGeo
import BothyStore

/// The content of one cache: the totals of each source, the freshness of its entries, and its regions.
struct CacheState {
  let folder: String
  let limits: DiskCache.Limits
  let sources: [Source]
  let regions: [(region: Region, stored: ResourceCache.Totals)]
  /// The counters of all processes, or `nil` before the first read.
  let counters: CacheCounters?

  struct Source: Equatable {
    var name: String
    var totals: ResourceCache.Totals
    var freshness: FreshnessCounts
    var holders: [String: Int]
  }

  init(_ subject: InspectorSubjects.Cache, entries: [ResourceCache.Inspected]) async throws {
    folder = subject.folder
    limits = subject.limits
    let totals = try await subject.cache.totals().filter { $0.value.count > 0 }
    let counts = FreshnessCounts.bySource(entries)
    let counted = subject.cache.allCounters.values.reduce(CacheCounters(), +)
    counters = counted.reads > 0 ? counted : nil
    let pins = Dictionary(grouping: try await subject.cache.pins(), by: \.key.source)
    sources = totals.map { id, totals in
      Source(
        name: id.name, totals: totals, freshness: counts[id] ?? FreshnessCounts(),
        holders: Dictionary(grouping: pins[id] ?? [], by: \.holder).mapValues(\.count))
    }.sorted { $0.name < $1.name }
    var regions: [(region: Region, stored: ResourceCache.Totals)] = []
    for region in try await subject.regions?.all() ?? [] {
      regions.append((region, try await subject.regions?.stored(region.id) ?? ResourceCache.Totals()))
    }
    self.regions = regions
  }

  func write(to writer: inout JSONWriter) {
    writer.member("folder", folder)
    writer.object("limits") { writer in
      writer.member("bytes", limits.bytes)
      writer.member("entries", limits.count)
    }
    writer.list("sources", sources) { writer, source in
      writer.member("name", source.name)
      writer.member("entries", source.totals.count)
      writer.member("bytes", source.totals.bytes)
      writer.member("pinned", source.totals.pinnedCount)
      writer.member("pinnedBytes", source.totals.pinnedBytes)
      writer.object("freshness") { source.freshness.write(to: &$0) }
      writer.list("holders", source.holders.sorted { $0.key < $1.key }) { writer, holder in
        writer.member("name", holder.key)
        writer.member("entries", holder.value)
      }
    }
    writer.object("counters", counters) { $1.writeMembers(to: &$0) }
    writer.list("regions", regions) { $1.region.write(to: &$0, stored: $1.stored) }
  }
}

/// The number of entries in each state.
package struct FreshnessCounts: Equatable {
  package var fresh = 0
  /// Entries that are served while the cache refreshes them, or if the server fails.
  package var usable = 0
  /// Entries that are served only after a request to the server.
  package var stale = 0
  /// Entries of a source that the folder's list doesn't name, so their rule is unknown.
  package var unknown = 0

  package init(fresh: Int = 0, usable: Int = 0, stale: Int = 0, unknown: Int = 0) {
    self.fresh = fresh
    self.usable = usable
    self.stale = stale
    self.unknown = unknown
  }

  mutating func count(_ usability: EntryState?) { self[keyPath: Self.state(usability).count] += 1 }

  /// Returns the count that an entry belongs to, and its name.
  private static func state(
    _ usability: EntryState?
  ) -> (name: String, count: WritableKeyPath<FreshnessCounts, Int>) {
    switch usability?.state {
    case .fresh?: ("fresh", \.fresh)
    case .staleWhileRevalidate?, .staleIfError?: ("usable", \.usable)
    case .stale?, .mustRevalidate?: ("stale", \.stale)
    case nil: ("unknown", \.unknown)
    }
  }

  static func bySource(_ entries: [ResourceCache.Inspected]) -> [SourceID: FreshnessCounts] {
    entries.reduce(into: [:]) { $0[$1.key.source, default: FreshnessCounts()].count($1.usability) }
  }

  static func name(_ usability: EntryState?) -> String { state(usability).name }

  func write(to writer: inout JSONWriter) {
    writer.member("fresh", fresh)
    writer.member("usable", usable)
    writer.member("stale", stale)
    writer.member("unknown", unknown)
  }
}

/// The entries of a cache, most recently used first.
enum CacheEntries {
  static func write(
    _ entries: [ResourceCache.Inspected], source: String?, limit: Int, to writer: inout JSONWriter
  ) {
    let chosen = entries.filter { source == nil || $0.key.source.name == source }
    let first = chosen.sorted {
      ($1.size.lastUsed, $0.key.source.name, $0.key.path) < (
        $0.size.lastUsed, $1.key.source.name, $1.key.path
      )
    }.prefix(limit)
    writer.member("total", chosen.count)
    writer.list("entries", first) { writer, entry in
      writer.member("source", entry.key.source.name)
      writer.member("path", entry.key.path)
      writer.member("bytes", entry.size.bytes)
      writer.member("pinned", entry.size.isPinned)
      writer.member("status", entry.metadata.status)
      writer.member("received", entry.metadata.receivedAt)
      writer.member("validated", entry.metadata.validatedAt)
      writer.member("lastUsed", entry.size.lastUsed)
      writer.member("state", FreshnessCounts.name(entry.usability))
      writer.member("freshFor", entry.usability.flatMap { $0.freshFor == .max ? nil : $0.freshFor })
    }
  }
}
