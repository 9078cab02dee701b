import BothyGeo
import BothyTestSupport
import Foundation

/// A temporary folder for one test, filled with tiles and archives.
struct TileFolderUnderTest: Sendable {
  var path: String
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path
  }

  func write(_ name: String, _ text: String) throws { try write(name, Data(text.utf8)) }

  func write(_ name: String, _ data: Data) throws {
    let url = URL(filePath: "\(path)/\(name)")
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: url, options: .atomic)
  }

  func touch(_ name: String, at seconds: Double) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: seconds)], ofItemAtPath: "\(path)/\(name)")
  }

  /// Writes an MBTiles file, and replaces an earlier one.
  func mbtiles(
    _ name: String, _ tiles: [Tile: Data], format: String?,
    compression: TileArchiveInfo.Compression = .unknown
  ) throws {
    let made = "\(path)/.\(name)-\(UUID().uuidString)"
    let writer = try MBTilesWriter(path: made)
    for (tile, data) in tiles { try writer.add(tile, data) }
    let zooms = tiles.keys.map(\.zoom)
    try writer.finish(
      TileArchiveInfo(
        container: .mbtiles, name: name, tileFormat: format, tileCompression: compression,
        zooms: try ZoomRange(zooms.min() ?? 0, zooms.max() ?? 0)))
    let target = "\(path)/\(name).mbtiles"
    if FileManager.default.fileExists(atPath: target) { try FileManager.default.removeItem(atPath: target) }
    try FileManager.default.moveItem(atPath: made, toPath: target)
  }
}
