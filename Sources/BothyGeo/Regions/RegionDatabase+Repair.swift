import BothyCache
import BothyStore
import Foundation
import GRDB

/// The repair of a damaged list of regions, or one of a newer format: readable regions are copied into a new file.
extension RegionDatabase {
  /// Puts a file aside that can't be used, and copies its readable regions and manifests into a new one.
  ///
  /// Regions that can't be read are recovered from their pins, see `OfflineRegions.recover`.
  static func repaired(_ path: String) throws -> ClosableDatabase {
    guard let lock = try RegionLock(path + ".lock") else {
      throw BothyError(.unavailable, "\(path) is being repaired by another process. Try again.")
    }
    defer { lock.release() }
    // Another process may have repaired it in the meantime.
    if let good = try? opened(path) { return good }
    let aside = "\(path).aside-\(Int64(Date().timeIntervalSince1970 * 1000))"
    guard rename(path, aside) == 0 else {
      throw BothyError(.unavailable, "\(path) can't be put aside. Check that its folder may be written.")
    }
    // The log has the last writes, so it is moved with its file.
    if rename(path + "-wal", aside + "-wal") != 0 { unlink(path + "-wal") }
    unlink(path + "-shm")
    let fresh = try opened(path)
    let old = Remains(aside)
    try fresh.write { database in
      let columns = try database.columns(in: "region").map(\.name)
      for row in old.regions() { try insert(row, columns, database) }
      for part in old.parts() {
        try database.execute(
          sql: "INSERT OR REPLACE INTO part SELECT id, ?, ? FROM region WHERE id = ?",
          arguments: [part.place, part.tiles, part.region])
      }
    }
    return fresh
  }

  /// Inserts a region if it is whole.
  private static func insert(_ row: Row, _ columns: [String], _ database: Database) throws {
    let known = columns.filter { row.hasColumn($0) }
    do {
      // The table refuses values of other types, which damage can leave.
      try database.execute(
        sql: """
          INSERT OR IGNORE INTO region (\(known.joined(separator: ", ")))
          VALUES (\(known.map { _ in "?" }.joined(separator: ", ")))
          """, arguments: StatementArguments(known.map { row[$0] as DatabaseValue }))
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      return
    }
    guard let id = String.fromDatabaseValue(row["id"]),
      let copy = try Row.fetchOne(database, sql: "SELECT * FROM region WHERE id = ?", arguments: [id])
    else { return }
    // A region without a readable area is recovered from its pins.
    if (try? decoded(copy)) == nil {
      try database.execute(sql: "DELETE FROM region WHERE id = ?", arguments: [id])
    }
  }

  /// A file that was put aside. Each part is read by itself, as any page may be damaged.
  private struct Remains {
    private let queue: DatabaseQueue?

    init(_ path: String) {
      // A file that isn't a database has nothing to copy.
      queue = try? DatabaseQueue(path: path)
    }

    /// Returns the readable regions. A damaged page hides those behind it, so they are then also read backwards.
    func regions() -> [Row] {
      var found: [Row] = []
      for order in ["ASC", "DESC"] {
        let isWhole = scan("SELECT * FROM region ORDER BY rowid \(order)") { found.append($0) }
        if isWhole { break }
      }
      return found
    }

    func parts() -> [(region: String, place: Int, tiles: Data)] {
      var found: [(region: String, place: Int, tiles: Data)] = []
      _ = scan("SELECT region, place, tiles FROM part") { row in
        guard let region = String.fromDatabaseValue(row[0]), let place = Int.fromDatabaseValue(row[1]),
          let tiles = Data.fromDatabaseValue(row[2])
        else { return }
        found.append((region, place, tiles))
      }
      return found
    }

    /// Passes rows up to the end or to the first damaged page. Returns false for the latter.
    private func scan(_ sql: String, _ body: (Row) -> Void) -> Bool {
      do {
        try queue?.inDatabase { database in
          let rows = try Row.fetchCursor(database, sql: sql)
          while let row = try rows.next() { body(row.copy()) }
        }
        return true
      } catch {
        return false
      }
    }
  }

  /// Makes a region that counts as complete go on with its refresh, as it has a stage.
  func reopen(_ id: String) async throws(BothyError) {
    try await write { database in
      try database.execute(
        sql: "UPDATE region SET state = ?, refresh = 1 WHERE id = ? AND state = ?",
        arguments: [RegionState.interrupted.rawValue, id, RegionState.complete.rawValue])
    }
  }

  /// Adds a region that was recovered from its pins, unless its id or name is taken.
  func recover(_ region: Region) async throws(BothyError) {
    let plan = region.plan
    try await write { database in
      try database.execute(
        sql: """
          INSERT OR IGNORE INTO region
            (id, name, source, area, lowest, highest, tiles, state, reason, created, completed, started, refresh, map)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """,
        arguments: [
          region.id, plan.name, plan.source.name, plan.area.json.canonicalText, plan.zooms.lowest,
          plan.zooms.highest, region.tiles, region.state.rawValue, region.reason,
          region.createdAt.milliseconds, region.completedAt?.milliseconds, region.run.startedAt,
          region.run.isRefresh, plan.map?.json.canonicalText,
        ])
    }
  }

  /// Replaces the plan of a region whose style needs other things now, with the manifest of the stored ones.
  ///
  /// Throws `BothyError` `tooManyTiles` if the region grows beyond the limits, beside the other regions.
  func replan(
    _ region: Region, manifest: [Data], within limits: RegionLimits
  ) async throws(BothyError) {
    let plan = region.plan
    try await write { database in
      let before = try Int.fetchOne(
        database, sql: "SELECT tiles FROM region WHERE id = ?", arguments: [region.id])
      // A region that doesn't grow stays, even if the limits are lower than before.
      if region.tiles > before ?? 0 { try Self.check(region, limits, database) }
      for table in ["part", "confirmed"] {
        try database.execute(sql: "DELETE FROM \(table) WHERE region = ?", arguments: [region.id])
      }
      for (place, tiles) in manifest.enumerated() {
        try database.execute(sql: "INSERT INTO part VALUES (?, ?, ?)", arguments: [region.id, place, tiles])
      }
      try database.execute(
        sql: "UPDATE region SET tiles = ?, map = ? WHERE id = ?",
        arguments: [region.tiles, plan.map?.json.canonicalText, region.id])
    }
  }
}
