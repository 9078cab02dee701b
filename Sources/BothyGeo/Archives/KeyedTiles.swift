import BothyStore
package import Foundation
import GRDB

/// A read-only archive of tiles in the format of older map apps.
///
/// The SQLite file has the tables `preferences(name, value)` and `tiles(tilekey, image)`. The key of a row is the
/// packed key of the tile.
package final class KeyedTiles: TileArchive {
  package let info: TileArchiveInfo
  /// The edge of a tile's picture in pixels.
  package let tileEdge: Int
  private let queue: DatabaseQueue
  private let path: String

  /// Opens a file.
  ///
  /// Throws `BothyError`: `unavailable` if the file doesn't exist, and `damagedArchive` if SQLite can't read it. Throws
  /// `notAnArchive` if it has another format or lacks one of the three preferences that every archive has.
  package init(path: String) throws(BothyError) {
    guard FileManager.default.fileExists(atPath: path) else {
      throw BothyError(.unavailable, "The file \(path) does not exist. Check the path.")
    }
    self.path = path
    try SQLiteArchive.checkSize(path)
    do {
      queue = try SQLiteArchive.open(path)
      (info, tileEdge) = try queue.read { database in
        try SQLiteArchive.bounded(database) { _ in try Self.read(database, path) }
      }
    } catch { throw MBTiles.failure(error, path) }
  }

  private static func read(_ database: Database, _ path: String) throws -> (TileArchiveInfo, Int) {
    let preferences = try SQLiteArchive.values(database, of: "preferences").mapValues {
      String.fromDatabaseValue($0) ?? "\($0)"
    }
    let count = try Int.fetchOne(
      database, sql: "SELECT count(*) FROM (SELECT 1 FROM tiles LIMIT ?)", arguments: [rowsAtOpening])
    return try info(preferences, count.flatMap { $0 < rowsAtOpening ? $0 : nil }, path)
  }

  /// The number of rows that are looked at when an archive is opened. Above it, the number of tiles isn't known.
  private static let rowsAtOpening = 1024

  /// Returns true if a SQLite file has the tables of such an archive.
  static func isArchive(_ path: String) throws(BothyError) -> Bool {
    do {
      let queue = try SQLiteArchive.open(path)
      return try queue.read { try $0.tableExists("preferences") && $0.tableExists("tiles") }
    } catch { throw MBTiles.failure(error, path) }
  }

  /// Returns the bytes of a tile, or `nil` if the archive has no bytes for it. Always returns `nil` at zoom 29, which
  /// the keys can't encode.
  package func data(of tile: Tile) async throws -> Data? { try blockingData(of: tile) }

  func blockingData(of tile: Tile) throws(BothyError) -> Data? {
    guard let key = tile.packedKey else { return nil }
    do {
      return try queue.inDatabase { database in
        try SQLiteArchive.bounded(database) { _ in
          let row = try Row.fetchOne(
            database, sql: "SELECT image FROM tiles WHERE tilekey = ?", arguments: [Int64(bitPattern: key)])
          return row.flatMap { Data.fromDatabaseValue($0[0]) }
        }
      }
    } catch { throw MBTiles.failure(error, path) }
  }

  package func forEachTile(_ body: (Tile, Data) throws -> Void) async throws {
    let keys: [Int64]
    do {
      keys = try queue.inDatabase { database in
        try SQLiteArchive.bounded(database) { _ in
          try Int64.fetchAll(database, sql: "SELECT tilekey FROM tiles ORDER BY tilekey")
        }
      }
    } catch {
      throw MBTiles.failure(error, path)
    }
    for key in keys {
      let tile: Tile
      do { tile = try Tile(packedKey: UInt64(bitPattern: key)) } catch {
        throw BothyError(
          .damagedArchive, "\(path) has the key \(key), which isn't a tile's. Get the archive again.")
      }
      if let data = try blockingData(of: tile) { try body(tile, data) }
    }
  }

  private static func info(
    _ preferences: [String: String], _ count: Int?, _ path: String
  ) throws(BothyError) -> (TileArchiveInfo, Int) {
    func number(_ name: String) -> Double? { preferences["map.\(name)"].flatMap(Double.init) }
    guard let lowest = number("minZoom").flatMap({ Int(exactly: $0) }),
      let highest = number("maxZoom").flatMap({ Int(exactly: $0) }),
      let edge = number("tileSideLength").flatMap({ Int(exactly: $0) })
    else {
      throw BothyError(
        .notAnArchive,
        "\(path) lacks map.minZoom, map.maxZoom or map.tileSideLength among its preferences. Make the archive again."
      )
    }
    var bounds = TileArchiveInfo.wholeMap
    if let north = number("coverage.topLeft.latitude"), let west = number("coverage.topLeft.longitude"),
      let south = number("coverage.bottomRight.latitude"), let east = number("coverage.bottomRight.longitude")
    {
      bounds = try GeoBox(west: west, south: south, east: east, north: north).checked()
    }
    let info = TileArchiveInfo(
      container: .keyed, name: preferences["map.shortName"],
      attribution: preferences["map.longAttribution"] ?? preferences["map.shortAttribution"],
      tileCompression: .none, zooms: try ZoomRange(lowest, highest), bounds: bounds, tileCount: count,
      metadata: preferences)
    return (info, edge)
  }
}
