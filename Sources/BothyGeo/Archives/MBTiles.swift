import BothyStore
package import Foundation
import GRDB

/// A read-only archive of tiles in a SQLite file (MBTiles 1.3). The file counts rows from the south.
package final class MBTiles: TileArchive {
  package let info: TileArchiveInfo
  private let queue: ClosableDatabase
  private let path: String
  private let longestStep: Duration

  /// Opens a file and never writes to it.
  ///
  /// Throws `BothyError`: `unavailable` if the file doesn't exist, `notAnArchive` if it has another format, and
  /// `damagedArchive` if SQLite can't read it.
  package convenience init(path: String) throws(BothyError) {
    try self.init(path: path, longestStep: SQLiteArchive.longestStep)
  }

  /// Opens a file.
  ///
  /// - Parameter longestStep: the time limit of one read, and of the time from one row to the next.
  package init(path: String, longestStep: Duration) throws(BothyError) {
    guard FileManager.default.fileExists(atPath: path) else {
      throw BothyError(.unavailable, "The file \(path) does not exist. Check the path.")
    }
    self.path = path
    self.longestStep = longestStep
    try SQLiteArchive.checkSize(path)
    do {
      queue = ClosableDatabase(try SQLiteArchive.open(path, label: "bothy.mbtiles"))
      info = try queue.read { database in
        try SQLiteArchive.bounded(database, within: longestStep) { _ in try Self.info(database) }
      }
    } catch { throw Self.failure(error, path) }
  }

  /// Closes the file. Later reads throw.
  package func close() throws(BothyError) {
    do { try queue.close() } catch { throw Self.failure(error, path) }
  }

  package func data(of tile: Tile) async throws -> Data? { try blockingData(of: tile) }

  /// Returns the bytes of a tile, or `nil` if the archive has no bytes for it. Blocks the thread for one look-up.
  package func blockingData(of tile: Tile) throws(BothyError) -> Data? {
    do {
      return try queue.read { database in
        let statement = try database.cachedStatement(
          sql: "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?")
        return try SQLiteArchive.bounded(database, within: longestStep) { _ in
          try Row.fetchOne(statement, arguments: [tile.zoom, tile.x, tile.southernRow]).flatMap(Self.bytes)
        }
      }
    } catch { throw Self.failure(error, path) }
  }

  /// Calls `body` for each tile, but skips rows without bytes, which mean that the archive lacks the tile.
  package func forEachTile(_ body: (Tile, Data) throws -> Void) async throws {
    try blockingForEachTile(nil, body)
  }

  /// Calls `body` for each tile of some zooms, or of all.
  func blockingForEachTile(_ zooms: ZoomRange?, _ body: (Tile, Data) throws -> Void) throws {
    let condition = zooms.map { " WHERE zoom_level BETWEEN \($0.lowest) AND \($0.highest)" } ?? ""
    try queue.writeWithoutTransaction { database in
      do {
        try SQLiteArchive.bounded(database, within: longestStep) { deadline in
          let rows = try Row.fetchCursor(
            database, sql: "SELECT zoom_level, tile_column, tile_row, tile_data FROM tiles\(condition)")
          var left = try SQLiteArchive.mostRows(database)
          while let row = try rows.next() {
            guard left > 0 else { throw Self.endless(path) }
            left -= 1
            let tile = try Self.tile(row, path)
            guard let data = Self.bytes(row) else { continue }
            do { try body(tile, data) } catch { throw BodyFailure(cause: error) }
            deadline.putOff()
          }
        }
      } catch let failure as BodyFailure {
        throw failure.cause
      } catch { throw Self.failure(error, path) }
    }
  }

  private static func endless(_ path: String) -> BothyError {
    BothyError(
      .damagedArchive,
      "\(path) lists more tiles than its bytes have room for, as a file made to harm does. Get the archive from its maker."
    )
  }

  /// An error that the caller's closure threw and that is thrown again unchanged.
  private struct BodyFailure: Error {
    var cause: any Error
  }

  private static func tile(_ row: Row, _ path: String) throws(BothyError) -> Tile {
    if let zoom = Int64.fromDatabaseValue(row[0]), let column = Int64.fromDatabaseValue(row[1]),
      let southern = Int64.fromDatabaseValue(row[2]),
      // Numbers that aren't those of a tile are reported below.
      let tile = try? Tile(
        x: Int(clamping: column), southernRow: Int(clamping: southern), zoom: Int(clamping: zoom))
    {
      return tile
    }
    let name = (0..<3).map { Int64.fromDatabaseValue(row[$0]).map(String.init) ?? "NULL" }
      .joined(separator: "/")
    throw BothyError(
      .damagedArchive, "\(path) has a row \(name) that isn't a tile. Get or make the archive again.")
  }

  /// Returns `nil` for NULL, which some programs write for tiles that the archive lacks.
  private static func bytes(_ row: Row) -> Data? { bytes(row, at: row.count - 1) }

  private static func bytes(_ row: Row, at column: Int) -> Data? {
    switch (row[column] as DatabaseValue).storage {
    case .blob(let data): data
    case .string(let text): Data(text.utf8)
    default: nil
    }
  }

  static func failure(_ error: any Error, _ path: String) -> BothyError {
    if let known = error as? BothyError, known.isOfMaps { return known }
    guard let failure = error as? DatabaseError else {
      return BothyError(
        .unavailable, "\(path) can't be read: \(BothyError.cause(error)). Check the file.", underlying: error)
    }
    let reason = failure.message ?? failure.resultCode.description
    switch failure.resultCode {
    case .SQLITE_TOOBIG:
      return BothyError(
        .damagedArchive,
        "\(path) has a tile or a text of more than 64 MB, which no map shows. Get the archive from its maker.",
        underlying: failure)
    case .SQLITE_INTERRUPT:
      return BothyError(
        .damagedArchive,
        "\(path) took too long for one answer, as a file made to harm does. Get the "
          + "archive from its maker.", underlying: failure)
    case .SQLITE_CORRUPT:
      return BothyError(
        .damagedArchive, "\(path) is damaged: \(reason). Get the archive again.", underlying: failure)
    case .SQLITE_NOTADB, .SQLITE_ERROR:
      return BothyError(
        .notAnArchive, "\(path) isn't an archive of tiles: \(reason). The file was left as it is.",
        underlying: failure)
    default:
      return BothyError(.unavailable, "\(path) can't be used: \(reason).", underlying: failure)
    }
  }
}

extension MBTiles {
  /// Returns the metadata, completed from the tiles.
  private static func info(_ database: Database) throws -> TileArchiveInfo {
    try checkViews(database)
    let metadata: [String: String] =
      try database.tableExists("metadata")
      ? SQLiteArchive.values(database, of: "metadata").mapValues { "\($0.storage.value ?? "")" } : [:]
    let (zooms, count) = try zooms(database, metadata)
    return TileArchiveInfo(
      container: .mbtiles, name: metadata["name"], attribution: metadata["attribution"],
      tileFormat: metadata["format"],
      tileCompression: TileContent.compression(coding: metadata["compression"])
        ?? (metadata["format"] == "pbf" ? .gzip : .none),
      zooms: zooms, bounds: bounds(metadata["bounds"]), tileCount: count, metadata: metadata)
  }

  /// The number of rows that are looked at when an archive is opened. Above it, the number of tiles isn't known.
  private static let rowsAtOpening = 1024

  /// Returns the zooms of the tiles, and the number of tiles of a small archive.
  ///
  /// Costs the same for any number of tiles. A large archive is asked for each zoom by its index. Without an index, its
  /// metadata count.
  private static func zooms(
    _ database: Database, _ metadata: [String: String]
  ) throws -> (ZoomRange?, count: Int?) {
    let few = try Row.fetchOne(
      database,
      sql: "SELECT min(zoom_level), max(zoom_level), count(*) FROM (SELECT zoom_level FROM tiles LIMIT ?)",
      arguments: [rowsAtOpening])
    func range(_ lowest: Int?, _ highest: Int?) -> ZoomRange? {
      guard let lowest, let highest else { return nil }
      // Zooms that no tile can have are reported when tiles are read.
      return try? ZoomRange(lowest, highest)
    }
    guard let few, let count = Int.fromDatabaseValue(few[2]), count == rowsAtOpening else {
      return (
        range(few.flatMap { Int.fromDatabaseValue($0[0]) }, few.flatMap { Int.fromDatabaseValue($0[1]) }),
        few.flatMap { Int.fromDatabaseValue($0[2]) }
      )
    }
    let plan = try Row.fetchAll(
      database, sql: "EXPLAIN QUERY PLAN SELECT 1 FROM tiles WHERE zoom_level = 1 LIMIT 1")
    let isIndexed = plan.allSatisfy { !(String.fromDatabaseValue($0["detail"]) ?? "SCAN").hasPrefix("SCAN") }
    guard isIndexed else {
      return (range(metadata["minzoom"].flatMap { Int($0) }, metadata["maxzoom"].flatMap { Int($0) }), nil)
    }
    let present = try Tile.zooms.filter { zoom in
      try Bool.fetchOne(
        database, sql: "SELECT EXISTS (SELECT 1 FROM tiles WHERE zoom_level = ?)", arguments: [zoom]) ?? false
    }
    return (range(present.first, present.last), nil)
  }

  /// Returns the metadata with the numbers of tiles and contents. Reads the whole index.
  func counted() throws(BothyError) -> TileArchiveInfo {
    do {
      return try queue.read { database in
        try SQLiteArchive.bounded(database, within: longestStep * 6) { _ in
          var info = info
          info.tileCount = try Int.fetchOne(database, sql: "SELECT count(*) FROM tiles")
          info.contentCount =
            try database.tableExists("images")
            ? Int.fetchOne(database, sql: "SELECT count(*) FROM images") : nil
          return info
        }
      }
    } catch { throw Self.failure(error, path) }
  }

  /// Rejects views that can produce an endless number of rows. Archives have tables, and views that join tables.
  private static func checkViews(_ database: Database) throws {
    for sql in try String.fetchAll(database, sql: "SELECT sql FROM sqlite_master WHERE type = 'view'")
    where sql.lowercased().split(whereSeparator: { !$0.isLetter && $0 != "_" }).contains("with") {
      throw BothyError(
        .notAnArchive,
        "The file has a view that makes rows by itself, which no archive of tiles has. Get the archive from its maker."
      )
    }
  }

  /// Parses `west,south,east,north`. Returns the whole map for other texts.
  private static func bounds(_ text: String?) -> GeoBox {
    let edges = (text ?? "").split(separator: ",").map { Double($0.trimmingCharacters(in: .whitespaces)) }
    guard edges.count == 4, let west = edges[0], let south = edges[1], let east = edges[2],
      let north = edges[3],
      // Otherwise the whole map.
      let box = try? GeoBox(west: west, south: south, east: east, north: north).checked()
    else { return TileArchiveInfo.wholeMap }
    return box
  }
}
