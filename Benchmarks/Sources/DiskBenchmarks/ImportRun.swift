import Bars
import BothyCache
import BothyGeo
import Foundation
import GRDB

/// Copying archives of raster tiles into both kinds of store, beside SQLite's own copy of the rows into a bare table.
struct ImportRun {
  private struct Way {
    let name: String
    let archive: String
    let tier: DiskCache
    let folder: String
    /// The time divided by that of SQLite's copy, the seconds, and the limit of the former.
    var ratios: [Double] = []
    var times: [Double] = []
    let limit: Double
  }

  private let options: Options
  private let folder: String
  private let mbtiles: String
  private var ways: [Way] = []

  init(_ folder: String, _ options: Options) throws {
    self.options = options
    self.folder = folder
    mbtiles = folder + "/coast.mbtiles"
    for (name, path) in try Coast(options.tiles).write(in: folder, by: ArchiveProgram(options)) {
      let (files, database) = ("\(folder)/import-files", "\(folder)/import-database")
      ways.append(
        Way(
          name: "\(name) into the file store", archive: path, tier: .folder(URL(filePath: files)),
          folder: files, limit: 4))
      ways.append(
        Way(
          name: "\(name) into the SQLite store", archive: path,
          tier: .sqliteFile(in: URL(filePath: database)),
          folder: database, limit: 3))
    }
  }

  mutating func bars() async throws -> [Bar] {
    // The first round is for one-time work.
    for round in 0...max(3, options.rounds / 12) {
      let bare = try bareCopy()
      for step in ways.indices {
        let place = (round + step) % ways.count
        let spent = try await importing(ways[place])
        guard round > 0 else { continue }
        ways[place].ratios.append(spent / bare)
        ways[place].times.append(spent)
      }
    }
    for way in ways {
      let rates = way.times.map { Double(options.tiles) / $0 }
      print("\(way.name): \(rates.spread) tiles a second, \(way.ratios.spread) of SQLite's copy")
    }
    return ways.map { way in
      Bar(
        claim: "importing \(way.name) / SQLite's copy", measured: way.ratios.median ?? 0, limit: way.limit)
    }
  }

  private func importing(_ way: Way) async throws -> Double {
    try? FileManager.default.removeItem(atPath: way.folder)  // the first round has none
    let store = try way.tier.open(limits: DiskCache.Limits(bytes: nil))
    let start = ContinuousClock.now
    let archive = try await TileArchives.open(path: way.archive)
    let time = Timestamp(milliseconds: Tiles.now)
    let (written, left) = try await archive.copy(into: store, as: try Tiles.described, at: time)
    // Closing moves the log into the file, as SQLite's copy does too.
    try store.close()
    let spent = start.duration(to: .now) / .seconds(1)
    guard written == options.tiles, left.isEmpty else {
      throw BenchmarkError("\(way.name): \(written) tiles were written")
    }
    return spent
  }

  /// Returns the seconds in which SQLite copies the rows of the MBTiles file in one transaction.
  private func bareCopy() throws -> Double {
    let path = folder + "/bare-copy.sqlite"
    for end in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: path + end)  // the first round has none
    }
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { database in
      try database.execute(sql: "PRAGMA page_size = 8192")
      try database.execute(sql: "PRAGMA journal_mode = WAL")
      try database.execute(sql: "PRAGMA synchronous = NORMAL")
      try database.execute(
        sql: """
          CREATE TABLE tiles (zoom INTEGER, x INTEGER, y INTEGER, data BLOB NOT NULL);
          CREATE UNIQUE INDEX places ON tiles (zoom, x, y);
          """)
    }
    let spent = try seconds {
      try queue.writeWithoutTransaction { database in
        try database.execute(sql: "ATTACH DATABASE ? AS archive", arguments: [mbtiles])
        try database.execute(
          sql: """
            INSERT INTO tiles SELECT zoom_level, tile_column, tile_row, tile_data FROM archive.tiles
            """)
        try database.execute(sql: "PRAGMA main.wal_checkpoint(TRUNCATE)")
      }
      try queue.close()
    }
    return spent
  }
}
