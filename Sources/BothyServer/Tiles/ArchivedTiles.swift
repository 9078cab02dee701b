import BothyGeo
import BothyStore
import Foundation

/// The tiles of an archive, as one version of its file holds them.
struct ArchivedTiles: ServedTiles {
  let path: String
  let stamp: FileStamp
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
      // What archives say of gzip is often wrong, its first bytes never are.
      packing: StoredTile.isGzip(data) ? .gzip : packing == .brotli || packing == .zstd ? packing : .none,
      stamp: TileLibrary.stamp(path))
  }

  func summary() async throws -> TileSummary? {
    let info = archive.info
    guard let zooms = info.zooms else { return nil }
    return TileSummary(
      name: info.name, attribution: info.attribution, about: info.metadata["description"], format: format,
      zooms: zooms, bounds: info.bounds, layers: layers(info.metadata))
  }

  /// MBTiles keep them in a text of JSON, PMTiles as a member of their own.
  private func layers(_ metadata: [String: String]) -> JSONValue? {
    // What is no JSON describes no layers.
    if let text = metadata["vector_layers"] { return try? JSONValue(parsing: text) }
    return metadata["json"].flatMap { try? JSONValue(parsing: $0) }?["vector_layers"]
  }
}
