import BothyCache
import Foundation
import HTTPTypes

/// The result of writing a region to an archive.
public struct RegionExport: Sendable, Hashable {
  /// The number of tiles in the archive.
  public var written = 0
  /// The number of tiles that don't exist, according to the server.
  public var absent = 0
  /// The number of tiles that aren't on the disk, as the region isn't complete.
  public var missing = 0
}

/// Exports regions as one file each, for other programs and other devices.
extension OfflineRegions {
  /// Writes the tiles of a region, fresh or stale, into a new archive, with the source's attribution. Vector tiles are
  /// packed with gzip. On failure no file remains.
  ///
  ///     try await regions.export(region.id, to: "oslo.pmtiles", as: .pmtiles)
  ///
  /// Sends no requests. Costs a read of each tile from the cache, and has one tile at a time in memory.
  ///
  /// - Throws: `BothyError`: `.unavailable` if a file of this name exists or no tile is stored, or `.unknownRegion`.
  @discardableResult
  public func export(
    _ id: Region.ID, to path: String, as container: TileArchiveInfo.Container,
    progress: @Sendable (RegionExport) -> Void = { _ in }
  ) async throws -> RegionExport {
    let region = try await region(id)
    switch container {
    case .mbtiles: return try await export(region, to: path, by: MBTilesWriter.self, progress)
    case .pmtiles: return try await export(region, to: path, by: PMTilesWriter.self, progress)
    case .keyed:
      throw BothyError(
        .unavailable, "Archives of older map apps are read, not written. Choose MBTiles or PMTiles.")
    }
  }

  private func export<Writer: TileArchiveWriter>(
    _ region: Region, to path: String, by writer: Writer.Type, _ progress: @Sendable (RegionExport) -> Void
  ) async throws -> RegionExport {
    try await Writer.write(to: path) { writer in
      var report = RegionExport()
      var format: String?
      for tile in try region.plan.tiles() {
        try Task.checkCancellation()
        switch try await stored(tile, region) {
        case nil: report.missing += 1
        case let body? where body.data.isEmpty: report.absent += 1
        case let body?:
          if report.written == 0 { format = TileContent.format(of: body.data, mediaType: body.mediaType) }
          try writer.add(tile, TileContent.packed(body.data, format: format))
          report.written += 1
        }
        progress(report)
      }
      guard report.written > 0 else {
        throw BothyError(.unavailable, "Nothing of the region '\(region.name)' is stored. Load it first.")
      }
      return (info(region, format), report)
    }
  }

  /// Returns a tile from the disk, or `nil`. The data is empty if the server reported that the tile doesn't exist.
  private func stored(_ tile: Tile, _ region: Region) async throws -> (data: Data, mediaType: String?)? {
    do {
      let resource = try await cache.value(tile.key(in: region.plan.source), policy: .local)
      return (resource.bytes ?? Data(), resource.fields[.contentType])
    } catch {
      if error.code == .notCached { return nil }
      throw error
    }
  }

  private func info(_ region: Region, _ format: String?) -> TileArchiveInfo {
    let names = cache.source(region.plan.source)?.names
    let attribution = names?.attribution ?? ""
    return TileArchiveInfo(
      container: .mbtiles, name: region.name, attribution: attribution.isEmpty ? nil : attribution,
      tileFormat: format, bounds: region.plan.area.bounds)
  }
}
