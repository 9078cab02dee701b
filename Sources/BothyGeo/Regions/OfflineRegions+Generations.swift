import BothyCache
import BothyStore
import Foundation

/// The generations of a region: the one that readers receive, its manifest, and the staged next one.
extension OfflineRegions {
  /// The number of parts of a manifest that are read or written at a time.
  private static let partsAtOnce = 16
  /// The number of times that a run begins, if the archive of its source is replaced each time.
  static let generationAttempts = 3

  /// Returns the region for a new refresh, which begins with an empty stage.
  func refreshing(_ old: Region) async throws -> Region {
    var region = old
    (region.run.startedAt, region.run.isRefresh) = (cache.now, true)
    if try await cache.isUsed(region.stage) { try await cache.dropStage(region.stage) }
    return region
  }

  /// The error of a run whose archive was replaced each time that it began.
  static let replacedAgain = BothyError(
    .changedArchive,
    "The archive on the server was replaced again and again, so the tiles would be of several versions. Resume the region "
      + "when the archive stays the same.")

  /// Replaces the tiles of a region by the staged ones, and records its manifest.
  ///
  /// The region's row says that this is under way. So after a kill at any point, the next opening continues it, and
  /// needs no network.
  ///
  /// Returns false if another region or reader has replaced a tile by other content since it was staged.
  @discardableResult
  static func flip(_ region: Region, _ cache: ResourceCache, _ file: RegionDatabase) async throws -> Bool {
    var isWhole = true
    if try await cache.isUsed(region.stage) {
      try await file.setFlipping(true, of: region.id)
      for (part, keys) in try Batches(region).enumerated() {
        // The refresh may go on, for tiles that failed. It then knows the staged ones by this.
        let staged = try await cache.staged(keys, on: region.stage)
        let places = staged.indices.filter { staged[$0] != nil }
        if region.run.isRefresh, !places.isEmpty { try await file.confirm([part: places], of: region.id) }
        if try await !cache.unstage(keys, from: region.stage) { isWhole = false }
      }
      try await cache.dropStage(region.stage)
    }
    try await recordManifest(of: region, cache, file)
    try await file.setFlipping(false, of: region.id)
    return isWhole
  }

  /// Records what the disk has of a region. Reads a row for each tile, but no body.
  static func recordManifest(
    of region: Region, _ cache: ResourceCache, _ file: RegionDatabase
  ) async throws {
    var parts: [(place: Int, tiles: Data)] = []
    for (place, keys) in try Batches(region).enumerated() {
      parts.append((place, RegionManifest.encoded(try await cache.digests(keys))))
      if parts.count == partsAtOnce {
        try await file.put(parts, of: region.id)
        parts = []
      }
    }
    if !parts.isEmpty { try await file.put(parts, of: region.id) }
  }

  /// Compares a region's manifest with the disk. Reads a row for each tile, but no body.
  ///
  /// Tiles that came with the app and never change are complete without a copy on the disk.
  static func compare(
    _ region: Region, _ cache: ResourceCache, _ file: RegionDatabase
  ) async throws -> RegionManifest.Comparison {
    var result = RegionManifest.Comparison()
    var parts: [Int: Data] = [:]
    for (place, keys) in try Batches(region).enumerated() {
      if place % partsAtOnce == 0 {
        parts = try await file.parts(of: region.id, from: place, count: partsAtOnce)
      }
      let held = parts[place].map { RegionManifest.decoded($0) } ?? []
      let present = try await cache.digests(keys)
      RegionManifest.compare(held, present, &result)
      let unstored = RegionManifest.unstored(held, present).map { keys[$0] }
      result.lost -= await cache.bundledCount(unstored)
    }
    return result
  }

  /// Returns what a region's manifest says of each of its keys. A digest is `nil` where nothing is known.
  static func manifest(
    of region: Region, _ file: RegionDatabase
  ) async throws -> [ResourceKey: StoredDigest?] {
    var digests: [ResourceKey: StoredDigest?] = [:]
    for (place, keys) in try Batches(region).enumerated() {
      let part = try await file.parts(of: region.id, from: place, count: 1)[place]
      let held = part.map { RegionManifest.decoded($0) } ?? []
      for (number, key) in keys.enumerated() {
        digests.updateValue(number < held.count ? held[number] : nil, forKey: key)
      }
    }
    return digests
  }

  /// The keys of a region's tiles, by default in the parts of its manifest.
  struct Batches: Sequence, IteratorProtocol {
    private var keys: RegionKeys.Iterator
    private let size: Int

    init(_ region: Region, of size: Int = RegionManifest.tilesOfPart) throws(BothyError) {
      keys = try region.plan.keys().makeIterator()
      self.size = size
    }

    mutating func next() -> [ResourceKey]? {
      var keys: [ResourceKey] = []
      while keys.count < size, let key = self.keys.next() { keys.append(key) }
      return keys.isEmpty ? nil : keys
    }
  }
}

extension Region {
  /// The place of its next generation in the cache.
  var stage: EntryStage { EntryStage(id) }
}
