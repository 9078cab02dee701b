import BothyCache
import Foundation
import HTTPTypes

/// The result of writing a region to an archive. The three numbers together are the tiles of the written source.
///
/// The archive has the `written` ones. The `absent` ones don't exist, according to the server. Those that are `missing`
/// aren't on the disk, as the region isn't complete, or are packed in another way. If there are any, resume or refresh the
/// region and export it again.
public typealias RegionExport = (written: Int, absent: Int, missing: Int)

/// Exports regions as one file each, for other programs and other devices.
extension OfflineRegions {
  /// Writes the tiles of a region, fresh or stale, into a new archive, with the source's attribution. Vector tiles are
  /// packed with gzip, and the archive's metadata describes their layers. On failure no file remains.
  ///
  /// All tiles are of one generation. If a refresh replaces the region's tiles in the meantime, the archive is begun
  /// again, and `progress` starts from zero.
  ///
  /// ```swift
  /// try await regions.export(region.id, to: "oslo.pmtiles", as: .pmtiles)
  /// ```
  ///
  /// Sends no requests. Costs a read of each tile from the cache, and has one tile at a time in memory.
  ///
  /// - Parameter name: the source of a style's region whose tiles are written, by its name in the style. `nil` is enough
  ///   if the region has tiles of one source.
  /// - Throws: `BothyError`: `unavailable` if a file of this name exists or no tile is stored, `regionBusy` if its
  ///   tiles are being replaced, `invalidRegion` if the region has tiles of several sources, or `unknownRegion`.
  @discardableResult
  public func export(
    _ id: Region.ID, to path: String, as container: TileArchiveInfo.Container, of name: String? = nil,
    progress: @Sendable (RegionExport) -> Void = { _ in }
  ) async throws -> RegionExport {
    await restored()
    let writer = try TileArchives.writer(of: container)
    for _ in 0..<Self.exportAttempts {
      let region = try await settled(id)
      do { return try await export(region, name, to: path, by: writer, progress) } catch is TilesReplaced {
        continue
      }
    }
    throw Self.beingReplaced(try await file.region(id))
  }

  /// The number of times that an archive is begun, if the region's tiles are replaced each time.
  private static let exportAttempts = 3

  /// The region's tiles were replaced during an export, so the archive has tiles of two generations.
  private struct TilesReplaced: Error {}

  /// Returns a region whose tiles aren't being replaced. Waits up to five seconds for that.
  private func settled(_ id: Region.ID) async throws -> Region {
    var region = try await file.region(id)
    for _ in 0..<50 where region.run.isFlipping {
      try await cache.wait(.milliseconds(100))
      region = try await file.region(id)
    }
    if region.run.isFlipping { throw Self.beingReplaced(region) }
    return region
  }

  private static func beingReplaced(_ region: Region) -> BothyError {
    BothyError(
      .regionBusy,
      "New tiles of the region '\(region.name)' are replacing the old ones, so an archive would have some of each. "
        + "Export it when that is done. If no process loads the region, resume it first.")
  }

  private func export<Writer: TileArchiveWriter>(
    _ region: Region, _ name: String?, to path: String, by writer: Writer.Type,
    _ progress: @Sendable (RegionExport) -> Void
  ) async throws -> RegionExport {
    let (source, tiles) = try Self.part(of: region.plan, name)
    await cache.learnNames(of: source, policy: .local)
    return try await Writer.write(to: path) { writer in
      var report: RegionExport = (0, 0, 0)
      var packing = TilePacking()
      for tile in tiles {
        try Task.checkCancellation()
        switch try await stored(tile, source) {
        case nil: report.missing += 1
        case let body? where body.data.isEmpty: report.absent += 1
        case let body?:
          if let data = try packing.packed(body.data, body.fields) {
            try writer.add(tile, data)
            report.written += 1
          } else {
            report.missing += 1
          }
        }
        progress(report)
      }
      let now = try await file.region(region.id).run
      if now.isFlipping || now.generation != region.run.generation { throw TilesReplaced() }
      guard report.written > 0 else {
        throw BothyError(.unavailable, "Nothing of the region '\(region.name)' is stored. Load it first.")
      }
      return (packing.completed(info(region, source)), report)
    }
  }

  /// Returns the tiles to write, and their source.
  private static func part(of plan: OfflineRegions.Plan, _ name: String?) throws(BothyError) -> (
    source: SourceID, tiles: OfflineRegions.Tiles
  ) {
    let parts = try plan.keys().parts
    guard let map = plan.map else { return parts[0] }
    let wanted = map.tiles.filter { name == nil || $0.names.contains(name ?? "") }.map { part in
      map.id(part, of: plan.source)
    }
    let found = parts.filter { wanted.contains($0.source) }
    guard found.count == 1 else {
      throw BothyError(
        .invalidRegion,
        "An archive has the tiles of one source. Name one of the region '\(plan.name)': "
          + "\(map.tiles.flatMap(\.names).joined(separator: ", ")).")
    }
    return found[0]
  }

  /// Returns a stored tile, or `nil`. The data is empty if the server reported that the tile doesn't exist.
  private func stored(_ tile: Tile, _ source: SourceID) async throws -> (data: Data, fields: HTTPFields)? {
    do {
      let resource = try await cache.value(tile.key(in: source), policy: .local)
      return (resource.bytes ?? Data(), resource.fields)
    } catch {
      if error.code == .notCached { return nil }
      throw error
    }
  }

  private func info(_ region: Region, _ source: SourceID) -> TileArchiveInfo {
    let names = cache.source(source)?.names
    let attribution = names?.attribution ?? ""
    return TileArchiveInfo(
      container: .mbtiles, name: region.name, attribution: attribution.isEmpty ? nil : attribution,
      bounds: region.plan.area.bounds)
  }
}
