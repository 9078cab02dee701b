import BothyGeo
import BothyStore
import Foundation

/// The tiles of an archive, in one version of its file.
struct ArchivedTiles: ServedTiles {
  let path: String
  let stamp: FileVersion
  let archive: any TileArchive

  private var format: TileFormat? { archive.info.tileFormat.flatMap { TileFormat(name: $0) } }

  func locate(_ tile: Tile, as format: TileFormat?) -> TilePlace? {
    let own = self.format
    if let format, let own, format != own { return nil }
    if let zooms = archive.info.zooms, !(zooms.lowest...zooms.highest).contains(tile.zoom) { return nil }
    return TilePlace(file: path, stamp: stamp, format: own)
  }

  func read(_ tile: Tile, at place: TilePlace) async throws -> StoredTile? {
    guard let data = try await archive.data(of: tile), !data.isEmpty else { return nil }
    let packing = archive.info.tileCompression
    return StoredTile(
      data: data, format: place.format ?? TileFormat(bytes: data),
      // The gzip marks of archives are often wrong, but the first bytes of a tile never are.
      packing: StoredTile.isGzip(data) ? .gzip : packing == .brotli || packing == .zstd ? packing : .none,
      stamp: TileFolder.stamp(path))
  }

  func summary() async throws -> TileSummary? {
    let info = archive.info
    guard let zooms = info.zooms else { return nil }
    return TileSummary(
      name: info.name, attribution: info.attribution, about: info.metadata["description"], format: format,
      zooms: zooms, bounds: info.bounds, layers: info.vectorLayers)
  }
}
