import Bars
import BothyCache
import BothyGeo
import Foundation
import GRDB
import HTTPTypes

/// The room that a region of the map takes in both kinds of store, beside an MBTiles file of the same tiles and beside
/// their archive or their contents alone. Also what a refresh writes that changes nothing.
///
/// The file store is built as before there were pages, so it stands for that time.
struct SizeRun {
  private struct Region {
    var name: String
    var tiles: [(key: ResourceKey, body: Data)]
    /// The size of the archive, or of the contents that differ.
    var bare: Int
    var bareName: String
  }

  private struct Result {
    var size: Int64
    var written: Int64
  }

  private static let now: Int64 = 1_700_000_000_000
  private let options: Options
  private let folder: String

  init(_ folder: String, _ options: Options) {
    self.options = options
    self.folder = folder + "/size"
  }

  func bars() async throws -> [Bar] {
    var bars: [Bar] = []
    var regions = [raster()]
    if let path = options.archive {
      regions.append(try await archived(path))
    } else {
      print("no --archive: the size beside a PMTiles file isn't measured")
    }
    for (place, region) in regions.enumerated() {
      let pages = try measure(
        region, .sqliteFile(in: URL(filePath: "\(folder)/pages-\(place)")), "pages-\(place)")
      let files = try measure(region, .folder(URL(filePath: "\(folder)/files-\(place)")), "files-\(place)")
      let mbtiles = try mbtiles(region, "\(folder)/\(place).mbtiles")
      let ratios = [files.size, pages.size, mbtiles].map { (Double($0) / Double(region.bare)).short }
      print(
        "\(region.name) / \(region.bareName): file store \(ratios[0]), pages \(ratios[1]), MBTiles \(ratios[2])"
      )
      bars.append(
        Bar(
          claim: "pages: \(region.name) / \(region.bareName)",
          measured: Double(pages.size) / Double(region.bare), limit: 1.2))
      guard files.written > 0 else { continue }
      bars.append(
        Bar(
          claim: "pages: bytes of a refresh of \(region.name) without changes / file store",
          measured: Double(pages.written) / Double(files.written), limit: 0.25))
    }
    return bars
  }

  private func raster() -> Region {
    let coast = Coast(options.tiles)
    return Region(
      name: "\(coast.bodies.count) raster tiles",
      tiles: coast.bodies.enumerated().map { (key: Tiles.key($0.offset), body: $0.element) },
      bare: coast.bare, bareName: "their contents")
  }

  private func archived(_ path: String) async throws -> Region {
    var tiles: [(key: ResourceKey, body: Data)] = []
    try await TileArchives.open(path: path).forEachTile { tile, data in
      tiles.append((ResourceKey(Tiles.source, zoom: tile.zoom, x: tile.x, y: tile.y), data))
    }
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    return Region(name: "\(tiles.count) tiles", tiles: tiles, bare: size, bareName: "their archive")
  }

  /// Stores a region as a download does, in batches and pinned. Then confirms each tile once, in the batches of a refresh.
  private func measure(_ region: Region, _ tier: DiskCache, _ name: String) throws -> Result {
    var store = try tier.open(limits: DiskCache.Limits(bytes: nil))
    try forEachBatch(of: region, by: 64, at: Self.now) { batch in
      try store.pin(batch.map(\.key), by: "region")
      try store.store(batch)
    }
    try store.close()
    let size = try diskUse("\(folder)/\(name)")
    store = try tier.open(limits: DiskCache.Limits(bytes: nil))
    let before = Self.written()
    try forEachBatch(of: region, by: 256, at: Self.now + 86_400_000) { batch in
      guard try store.store(batch).unchanged.count == batch.count else {
        throw BenchmarkError("\(name): a tile has changed")
      }
    }
    try store.close()
    return Result(size: size, written: Self.written() - before)
  }

  private func forEachBatch(
    of region: Region, by count: Int, at time: Int64,
    _ body: ([(key: ResourceKey, entry: CacheEntry)]) throws -> Void
  ) throws {
    for start in stride(from: 0, to: region.tiles.count, by: count) {
      try body(
        region.tiles[start..<min(start + count, region.tiles.count)].map { tile in
          let tag = String(tile.body.hashValue.magnitude, radix: 16)
          var metadata = EntryMetadata(
            fields: [
              .eTag: "\"\(String(repeating: "0", count: 16 - tag.count))\(tag)\"",
              .contentType: "application/vnd.mapbox-vector-tile", .cacheControl: "public, max-age=604800",
              .date: "Tue, 14 Nov 2023 22:13:20 GMT", .vary: "Accept-Encoding",
            ], receivedAt: Self.now)
          metadata.validatedAt = time
          return (tile.key, CacheEntry(metadata: metadata, body: tile.body))
        })
    }
  }

  /// Writes an MBTiles file with a table of tiles and returns its size. Equal tiles are stored for each place.
  private func mbtiles(_ region: Region, _ path: String) throws -> Int64 {
    let queue = try DatabaseQueue(path: path)
    try queue.write { database in
      try database.execute(
        sql: """
          CREATE TABLE metadata (name TEXT, value TEXT);
          CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
          CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);
          """)
      for tile in region.tiles {
        let parts = tile.key.path.split(separator: "/").compactMap { Int($0) }
        try database.execute(
          sql: "INSERT INTO tiles VALUES (?, ?, ?, ?)",
          arguments: [parts[0], parts[1], (1 << parts[0]) - 1 - parts[2], tile.body])
      }
    }
    try queue.close()
    return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64 ?? 0
  }

  /// Returns the blocks of a folder on disk, as `du` counts them.
  private func diskUse(_ path: String) throws -> Int64 {
    var bytes: Int64 = 0
    for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
      var status = stat()
      if lstat("\(path)/\(name)", &status) == 0 { bytes += Int64(status.st_blocks) * 512 }
    }
    return bytes
  }

  /// Returns the bytes that this process has written so far, or 0 on systems that don't tell.
  static func written() -> Int64 {
    guard let text = try? String(contentsOfFile: "/proc/self/io", encoding: .utf8) else { return 0 }
    let line = text.split(separator: "\n").first { $0.hasPrefix("wchar:") }
    return line.flatMap { Int64($0.dropFirst(7)) } ?? 0
  }
}
