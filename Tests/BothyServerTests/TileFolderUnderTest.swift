import BothyGeo
import CBothyZlib
import Foundation

/// A temporary folder for one test, filled with tiles and archives.
struct TileFolderUnderTest: Sendable {
  var path: String
  private let cleanup: Cleanup

  private final class Cleanup: Sendable {
    let path: String
    init(_ path: String) { self.path = path }
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "bothy-tiles-\(UUID().uuidString)").path
    cleanup = Cleanup(path)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
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
  func mbtiles(_ name: String, _ tiles: [Tile: Data], format: String?) throws {
    let made = "\(path)/.\(name)-\(UUID().uuidString)"
    let writer = try MBTilesWriter(path: made)
    for (tile, data) in tiles { try writer.add(tile, data) }
    let zooms = tiles.keys.map(\.zoom)
    try writer.finish(
      TileArchiveInfo(
        container: .mbtiles, name: name, tileFormat: format,
        zooms: try ZoomRange(zooms.min() ?? 0, zooms.max() ?? 0)))
    let target = "\(path)/\(name).mbtiles"
    if FileManager.default.fileExists(atPath: target) { try FileManager.default.removeItem(atPath: target) }
    try FileManager.default.moveItem(atPath: made, toPath: target)
  }
}

/// Compresses bytes with gzip by the system's zlib.
enum Deflate {
  static func gzip(_ data: Data) -> Data {
    var stream = z_stream()
    deflateInit2_(
      &stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    defer { deflateEnd(&stream) }
    var input = [UInt8](data)
    var output = [UInt8](repeating: 0, count: data.count + 100)
    input.withUnsafeMutableBufferPointer { bytes in
      output.withUnsafeMutableBufferPointer { room in
        stream.next_in = bytes.baseAddress
        stream.avail_in = UInt32(bytes.count)
        stream.next_out = room.baseAddress
        stream.avail_out = UInt32(room.count)
        _ = deflate(&stream, Z_FINISH)
      }
    }
    return Data(output.prefix(Int(stream.total_out)))
  }
}
