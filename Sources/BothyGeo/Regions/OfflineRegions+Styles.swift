import BothyCache
import BothyStore
import Foundation

/// Regions of a style. What a style needs can change with the style, so a refresh reads its documents first.
extension OfflineRegions {
  /// Reads the documents of a region's style from the server, and returns the region with what they need now.
  ///
  /// New versions are staged like tiles, so readers receive the old ones until all of the new generation is there. What
  /// the old style alone needs stays pinned until then.
  func withNewStyle(_ region: Region) async throws -> Region {
    guard let map = region.plan.map else { return region }
    // Documents that an interrupted run has staged may be of another version than the server's.
    try await cache.dropStaged(region.plan.documentKeys, on: region.stage)
    do { return try await reread(region, map) } catch {
      // A style that was refused must not replace the older one. The first error is the one to report.
      try? await cache.dropStaged(region.plan.documentKeys, on: region.stage)
      throw error
    }
  }

  /// Returns a region whose style's sources have ids of their own, if others have taken those that it had.
  func settled(_ region: Region) async throws -> Region {
    guard let map = region.plan.map else { return region }
    let settled = try await map.settled(region.plan.source, in: cache)
    guard settled != map else { return region }
    try settled.register(region.plan.source, in: cache)
    return try await replanned(region, settled)
  }

  /// Returns true if the style on the disk needs other things than the region has. Regions of one style share its
  /// documents, and the refresh of another one may have replaced them.
  func isRestyled(_ region: Region) async -> Bool {
    guard let map = region.plan.map else { return false }
    let cache = cache
    // A style that isn't there is among the lost parts.
    let style = try? await MapStyle(at: map.style, of: region.plan.source, in: cache) {
      key throws(BothyError) in
      try await cache.value(key, policy: .local)
    }
    return style.map { $0.closure.json.canonicalText != map.json.canonicalText } ?? false
  }

  private func reread(_ old: Region, _ map: MapClosure) async throws -> Region {
    var region = old
    var options = ResourceCache.Options(policy: .remote, priority: .background)
    options.stage = region.stage
    let (cache, asked) = (cache, options)
    let style = try await MapStyle(at: map.style, of: region.plan.source, in: cache) {
      key throws(BothyError) in
      do throws(BothyError) { return try await cache.value(key, asked) } catch {
        throw RegionLoad.isMisled(error) ? RegionRun.misled(error) : error
      }
    }
    if style.closure != map { region = try await replanned(region, style.closure) }
    // The server has confirmed or sent the documents just now, so the run needs no further request for them.
    var places: [Int: [Int]] = [:]
    let staged = try await cache.staged(region.plan.documentKeys, on: region.stage)
    for (place, metadata) in staged.enumerated() where metadata == nil {
      places[place / RegionManifest.tilesOfPart, default: []].append(place % RegionManifest.tilesOfPart)
    }
    try await file.confirm(places, of: region.id)
    return region
  }

  /// Changes what a region has. Its manifest says of everything new that it is awaited, and keeps what it says of the
  /// rest.
  private func replanned(_ old: Region, _ map: MapClosure) async throws -> Region {
    var region = old
    region.plan.map = map
    try ProviderTerms.checkBulk(map.hosts)
    let needed = try region.plan.keys()
    guard try !needed.parts.isEmpty || old.plan.keys().parts.isEmpty else { throw Self.emptied }
    region.tiles = try needed.count(limit: limits.tilesInOne)
    try limits.check(region.tiles, region.plan.name, beside: 0)
    let known = try await Self.manifest(of: old, file)
    var manifest: [Data] = []
    for keys in try Batches(region) {
      manifest.append(RegionManifest.encoded(keys.map { known[$0] ?? RegionManifest.awaited }))
    }
    try await file.replan(region, manifest: manifest, within: limits)
    try region.plan.write(to: planFile(region.id))
    return region
  }

  /// The error of a region whose style has no tiles for it now.
  private static let emptied = BothyError(
    .unexpectedContent,
    "The style has no tiles for this region now, so the refresh was not made. The stored map was kept. If the style is "
      + "right, delete the region.")

  /// Returns true if the map of a newer style may replace the older one, or if no newer one came.
  ///
  /// Tiles of a new address have no older versions, so each must be there, or not exist.
  ///
  /// - Throws: the error of a style without tiles, if the server has none of the new ones and the older style had some.
  func hasNewMap(of region: Region) async throws -> Bool {
    guard region.plan.map != nil, region.completedAt != nil else { return true }
    var (isNew, hasContent) = (false, false)
    for (place, keys) in try Batches(region).enumerated() {
      let part = try await file.parts(of: region.id, from: place, count: 1)[place]
      let held = part.map { RegionManifest.decoded($0) } ?? []
      let awaited = zip(keys, held).filter { Tile($0) != nil && $1 == RegionManifest.awaited }.map(\.0)
      if awaited.isEmpty { continue }
      isNew = true
      let present = try await cache.digests(awaited)
      let unstored = zip(awaited, present).filter { $1 == nil }.map(\.0)
      let bundled = await cache.bundledCount(unstored)
      if bundled < unstored.count { return false }
      if bundled > 0 || present.contains(where: { ($0?.size ?? 0) > 0 }) { hasContent = true }
    }
    guard isNew, !hasContent else { return true }
    let older = try await cache.digests(Self.surplus(of: region, cache).filter { Tile($0) != nil })
    if older.contains(where: { ($0?.size ?? 0) > 0 }) { throw Self.emptied }
    return true
  }

  /// Returns the keys that an earlier version of a region's style needed and the present one doesn't.
  private static func surplus(of region: Region, _ cache: ResourceCache) async throws -> [ResourceKey] {
    guard try await cache.pinCount(by: region.holder) > region.tiles else { return [] }
    let needed = Set(try region.plan.keys())
    return try await cache.pins(by: region.holder).map(\.key.base).filter { !needed.contains($0) }
  }

  /// Unpins what an earlier version of a region's style needed, after the new generation has replaced the old one.
  static func releaseSurplus(of region: Region, _ cache: ResourceCache) async throws {
    guard region.plan.map != nil else { return }
    let surplus = try await surplus(of: region, cache)
    for start in stride(from: 0, to: surplus.count, by: 512) {
      try await cache.unpin(Array(surplus[start..<min(start + 512, surplus.count)]), by: region.holder)
    }
  }
}
