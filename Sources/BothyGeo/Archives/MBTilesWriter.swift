import BothyCache
import BothyStore
package import Foundation
import GRDB
import Synchronization

/// A writer of MBTiles files that stores equal contents once.
///
/// The table `images` has the contents and `map` the tiles. The view `tiles` joins them.
///
/// Calls are safe from any thread and block it. Every few megabytes cost a transaction.
package final class MBTilesWriter: TileArchiveWriter {
  private let path: String
  private let lock: RegionLock
  private let queue: DatabaseQueue
  private let state = Mutex(State())

  private struct State {
    var waiting: [(tile: Tile, data: Data)] = []
    var waitingBytes = 0
    /// The row ids of contents by hash. Contents with the same hash are compared byte by byte.
    var images: [UInt64: [Int64]] = [:]
    var recent = RecentContents<Int64>()
  }

  package init(path: String) throws(BothyError) {
    guard !FileManager.default.fileExists(atPath: path) else { throw .taken(path) }
    let lock = try RegionLock.writing(path)
    (self.path, self.lock) = (path, lock)
    do {
      // An error means that no unfinished file exists.
      try? FileManager.default.removeItem(atPath: path + ".partial")
      queue = try DatabaseQueue(path: path + ".partial")
      try queue.writeWithoutTransaction { database in
        // An unfinished file is of no use, so it needs to survive nothing. `finish` writes it through.
        try database.execute(sql: "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")
        try database.execute(sql: Self.schema)
      }
    } catch {
      lock.end()
      throw MBTiles.failure(error, path)
    }
  }

  private static let schema = """
    PRAGMA application_id = 0x4d504258;
    CREATE TABLE metadata (name TEXT PRIMARY KEY, value TEXT);
    CREATE TABLE map (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_id INTEGER,
      PRIMARY KEY (zoom_level, tile_column, tile_row)) WITHOUT ROWID;
    CREATE TABLE images (tile_id INTEGER PRIMARY KEY, tile_data BLOB NOT NULL);
    CREATE VIEW tiles AS SELECT map.zoom_level AS zoom_level, map.tile_column AS tile_column,
      map.tile_row AS tile_row, images.tile_data AS tile_data
      FROM map JOIN images ON images.tile_id = map.tile_id;
    """

  package func add(_ tile: Tile, _ data: Data) throws(BothyError) {
    try state.withLock { state throws(BothyError) in
      state.waiting.append((tile, data))
      state.waitingBytes += data.count
      if state.waitingBytes > 4 << 20 || state.waiting.count >= 4096 { try flush(&state) }
    }
  }

  package func finish(_ info: TileArchiveInfo) throws(BothyError) {
    try state.withLock { state throws(BothyError) in try flush(&state) }
    do {
      try queue.write { database in
        var metadata = info.metadata
        // Vector tiles describe their layers in the separate document `json` (MBTiles 1.3).
        if metadata["json"] == nil, let layers = metadata.removeValue(forKey: "vector_layers") {
          metadata["json"] = #"{"vector_layers":\#(layers)}"#
        }
        metadata["name"] = info.name ?? metadata["name"] ?? "tiles"
        metadata["attribution"] = info.attribution
        metadata["format"] = info.tileFormat
        // The format knows gzip only, so other packings have a name of their own.
        metadata["compression"] =
          [.brotli: "br", .zstd: "zstd"][info.tileCompression]
          ?? (metadata["compression"].flatMap { ["br", "zstd"].contains($0) ? nil : $0 })
        let bounds = info.bounds.stated
        metadata["bounds"] = [bounds.west, bounds.south, bounds.east, bounds.north]
          .map { "\($0)" }.joined(separator: ",")
        let zooms = try Row.fetchOne(database, sql: "SELECT min(zoom_level), max(zoom_level) FROM map")
        metadata["minzoom"] = zooms.flatMap { Int.fromDatabaseValue($0[0]) }.map(String.init)
        metadata["maxzoom"] = zooms.flatMap { Int.fromDatabaseValue($0[1]) }.map(String.init)
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
          try database.execute(
            sql: "INSERT OR REPLACE INTO metadata VALUES (?, ?)", arguments: [name, value])
        }
      }
      try queue.close()
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: path + ".partial"))
      try file.synchronize()
      try file.close()
      try FileManager.default.moveItem(atPath: path + ".partial", toPath: path)
      lock.end()
    } catch { throw MBTiles.failure(error, path) }
  }

  package func cancel() throws(BothyError) {
    defer { lock.end() }
    do {
      try queue.close()
      try FileManager.default.removeItem(atPath: path + ".partial")
    } catch { throw MBTiles.failure(error, path) }
  }

  private func flush(_ state: inout State) throws(BothyError) {
    let waiting = state.waiting
    var (images, recent) = (state.images, state.recent)
    do {
      try queue.write { database in
        for (tile, data) in waiting {
          let image = try Self.image(data, &images, &recent, database)
          try database.cachedStatement(sql: "INSERT OR REPLACE INTO map VALUES (?, ?, ?, ?)").execute(
            arguments: [tile.zoom, tile.x, tile.southernRow, image])
        }
      }
    } catch { throw MBTiles.failure(error, path) }
    (state.images, state.recent) = (images, recent)
    state.waiting.removeAll(keepingCapacity: true)
    state.waitingBytes = 0
  }

  /// Returns the row id of the content: that of equal bytes, or a new one.
  private static func image(
    _ data: Data, _ images: inout [UInt64: [Int64]], _ recent: inout RecentContents<Int64>,
    _ database: Database
  ) throws -> Int64 {
    let hash = data.withUnsafeBytes { XXH64.hash($0) }
    for known in images[hash] ?? [] {
      let stored =
        try recent[known]
        ?? Data.fetchOne(
          database.cachedStatement(sql: "SELECT tile_data FROM images WHERE tile_id = ?"), arguments: [known])
      if stored == data {
        recent.keep(data, of: known)
        return known
      }
    }
    try database.cachedStatement(sql: "INSERT INTO images (tile_data) VALUES (?)").execute(arguments: [data])
    images[hash, default: []].append(database.lastInsertedRowID)
    return database.lastInsertedRowID
  }
}
