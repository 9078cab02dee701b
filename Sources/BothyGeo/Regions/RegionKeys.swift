import BothyCache

/// The keys of a region in their order: what a style needs everywhere, then the tiles of one source after the other.
///
/// They are counted and iterated without creating a list of tiles.
package struct RegionKeys: Sequence, Sendable {
  /// The keys that don't depend on the part of the map.
  let fixed: [ResourceKey]
  /// The tiles of each source.
  let parts: [(source: SourceID, tiles: OfflineRegions.Tiles)]

  /// Creates the keys of a plan. Throws `BothyError` for an invalid area.
  init(_ plan: OfflineRegions.Plan) throws(BothyError) {
    guard let map = plan.map else {
      fixed = []
      parts = [(plan.source, try OfflineRegions.Tiles(plan.area, zooms: plan.zooms))]
      return
    }
    var seen: Set<ResourceKey> = []
    fixed = map.keys(map.addresses, of: plan.source).filter { seen.insert($0).inserted }
    var parts: [(source: SourceID, tiles: OfflineRegions.Tiles)] = []
    for part in map.tiles where !(part.template.map(StyleArchive.isFile) ?? false) {
      guard let zooms = part.zooms(of: plan.zooms), let area = part.area(in: plan.area) else { continue }
      parts.append((map.id(part, of: plan.source), try OfflineRegions.Tiles(area, zooms: zooms)))
    }
    self.parts = parts
  }

  /// Returns the number of keys, at most `limit + 1`, as counting ends there.
  package func count(limit: Int = .max) throws(BothyError) -> Int {
    var sum = fixed.count
    for part in parts where sum <= limit {
      let (total, overflow) = sum.addingReportingOverflow(try part.tiles.count(limit: limit))
      sum = overflow ? .max : total
    }
    return limit == .max ? sum : Swift.min(sum, limit + 1)
  }

  /// The fixed keys and one of each source of tiles, in the order of the keys.
  private var samples: [ResourceKey] { fixed + parts.map { ResourceKey($0.source, zoom: 0, x: 0, y: 0) } }

  /// The sources in the order of the keys.
  var sources: [SourceID] {
    var seen: Set<SourceID> = []
    return samples.map(\.source).filter { seen.insert($0).inserted }
  }

  /// Returns the hosts that receive the requests of each source. Makes the address of each fixed key.
  func hosts(in cache: ResourceCache) -> [SourceID: Set<String>] {
    samples.reduce(into: [:]) { hosts, key in
      hosts[key.source, default: []].formUnion(cache.source(key.source)?.hosts(for: key) ?? [])
    }
  }

  package struct Iterator: IteratorProtocol {
    private var fixed: IndexingIterator<[ResourceKey]>
    private var parts: IndexingIterator<[(source: SourceID, tiles: OfflineRegions.Tiles)]>
    private var open: (source: SourceID, tiles: OfflineRegions.Tiles.Iterator)?

    fileprivate init(_ keys: RegionKeys) {
      fixed = keys.fixed.makeIterator()
      parts = keys.parts.makeIterator()
    }

    package mutating func next() -> ResourceKey? {
      if let key = fixed.next() { return key }
      while true {
        if let source = open?.source, let tile = open?.tiles.next() { return tile.key(in: source) }
        guard let part = parts.next() else { return nil }
        open = (part.source, part.tiles.makeIterator())
      }
    }
  }

  package func makeIterator() -> Iterator { Iterator(self) }
}
