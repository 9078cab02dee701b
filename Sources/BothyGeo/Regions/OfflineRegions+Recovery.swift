import BothyCache
import BothyStore
import Foundation

/// The recovery of regions that only the cache's pins or the copies of their plans still know.
extension OfflineRegions {
  /// Adds the regions that have pins in the cache or a plan's file but are not in the list, as after damage of the list.
  ///
  /// A region without its plan's file gets a new name, and the box around its tiles as its area. One without pins, as
  /// after damage of the index too, is damaged.
  static func recover(
    _ cache: ResourceCache, _ file: RegionDatabase, _ planFile: (Region.ID) -> URL
  ) async throws {
    // A plan's file is made after the region's row and removed before it, so files are read first.
    let plans = plannedIDs(beside: planFile(""))
    let stages = try await cache.stages()
    let known = Set(try await file.holders())
    for holder in try await cache.pinHolders() where !known.contains(holder) {
      guard let id = Region.id(ofHolder: holder) else { continue }
      let tiles = try await cache.pins(by: holder).map(\.key)
      guard let plan = OfflineRegions.Plan(file: planFile(id)) ?? plan(id, tiles),
        let region = region(id, plan, at: cache.now, isRefresh: stages.contains(id))
      else { continue }
      try await file.recover(region)
    }
    let listed = Set(try await file.holders())
    for id in plans where !listed.contains(Region.holder(of: id)) {
      guard let plan = OfflineRegions.Plan(file: planFile(id)),
        var region = region(id, plan, at: cache.now, isRefresh: stages.contains(id))
      else { continue }
      (region.state, region.completedAt) = (.damaged, nil)
      region.reason =
        "The list of regions was lost. This region was recovered from its plan. Resume it to load what it lacks."
      try await file.recover(region)
    }
  }

  /// Returns the ids of the regions that have a plan's file in the folder of this file.
  private static func plannedIDs(beside file: URL) -> [Region.ID] {
    // A folder that can't be read has no plans to recover.
    let names = try? FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
    return (names ?? []).sorted().compactMap { name in
      guard name.hasPrefix("region-"), name.hasSuffix(".json") else { return nil }
      let id = String(name.dropFirst("region-".count).dropLast(".json".count))
      return UUID(uuidString: id) == nil ? nil : id
    }
  }

  /// Makes each region that has a stage go on with its refresh, whatever its row says. Stages without a region are
  /// removed.
  static func restoreStages(
    _ cache: ResourceCache, _ file: RegionDatabase, _ lockPath: (Region.ID) -> String
  ) async throws {
    // A region is listed before it has a stage, so stages are read first.
    let stages = try await cache.stages()
    guard !stages.isEmpty else { return }
    let known = Set(try await file.holders())
    for id in stages {
      let stage = EntryStage(id)
      guard known.contains(Region.holder(of: id)) else {
        try await cache.dropStage(stage)
        continue
      }
      // Another run has the lock. It needs no help.
      guard let lock = try await RegionLock.acquired(lockPath(id), attempts: 2, on: cache) else { continue }
      defer { lock.release() }
      guard try await cache.isUsed(stage) else { continue }
      try await cache.restorePins(of: stage)
      try await file.reopen(id)
    }
  }

  private static func plan(_ id: String, _ keys: [ResourceKey]) -> OfflineRegions.Plan? {
    // The tiles of the first source. A region of a style, with several, has its plan's file.
    guard let source = keys.first(where: { Tile($0) != nil })?.source else { return nil }
    let tiles = keys.filter { $0.source == source }.compactMap { Tile($0) }
    guard let lowest = tiles.map(\.zoom).min(),
      let highest = tiles.map(\.zoom).max(), let zooms = try? ZoomRange(lowest, highest),
      let box = box(around: tiles.filter { $0.zoom == highest })
    else { return nil }
    return OfflineRegions.Plan(
      name: "Recovered \(id.prefix(8))", source: source, area: .box(box), zooms: zooms)
  }

  /// - Parameter isRefresh: true if the region has a stage, so its tiles are of an older generation.
  private static func region(
    _ id: String, _ plan: OfflineRegions.Plan, at now: Int64, isRefresh: Bool
  ) -> Region? {
    // A plan whose tiles can't be counted is damaged.
    guard let count = try? plan.keys().count() else { return nil }
    return Region(
      id: id, plan: plan, tiles: count, state: isRefresh ? .interrupted : .complete,
      progress: RegionProgress(total: count),
      createdAt: Timestamp(milliseconds: now), completedAt: Timestamp(milliseconds: now),
      reason: "The list of regions was damaged. This region was recovered from its tiles."
        + (isRefresh ? " Its last refresh was not finished. Resume it to continue." : ""),
      run: Region.Run(startedAt: now, isRefresh: isRefresh))
  }

  /// Returns a box with the given tiles of one zoom and few others: from center to center, across the widest gap.
  private static func box(around tiles: [Tile]) -> GeoBox? {
    guard let zoom = tiles.first?.zoom, let north = tiles.min(by: { $0.y < $1.y }),
      let south = tiles.max(by: { $0.y < $1.y })
    else { return nil }
    let side = 1 << zoom
    let columns = Set(tiles.map(\.x)).sorted()
    var (west, widest) = (columns[0], 0)
    for (place, column) in columns.enumerated() {
      let before = place == 0 ? columns[columns.count - 1] - side : columns[place - 1]
      if column - before > widest { (west, widest) = (column, column - before) }
    }
    let east = columns.last { $0 < west } ?? columns[columns.count - 1]
    let first = Tile(normalizingX: west, y: north.y, zoom: zoom).center
    let last = Tile(normalizingX: east, y: south.y, zoom: zoom).center
    return GeoBox(
      west: first.longitude, south: last.latitude, east: last.longitude, north: first.latitude)
  }
}

extension Region {
  private static let holderStart = "region:"

  /// The holder of the pins of its tiles in the cache.
  package var holder: String { Self.holder(of: id) }

  /// The holder of the pin of its archive's document, which isn't one of its tiles.
  var documentHolder: String { holder + " document" }

  static func holder(of id: String) -> String { holderStart + id }

  /// Returns the id of the region with these pins, or `nil` for other holders.
  static func id(ofHolder holder: String) -> String? {
    guard holder.hasPrefix(holderStart) else { return nil }
    let id = String(holder.dropFirst(holderStart.count))
    return UUID(uuidString: id) == nil ? nil : id
  }
}
