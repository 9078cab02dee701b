import BothyCache
import BothyStore
import Foundation
import GRDB
import Synchronization

/// The repair of a damaged list of regions, or one of a newer format: readable regions are copied into a new file.
extension RegionDatabase {
  /// Checks every page, index and region of the list, and repairs a damaged one. Returns the reason for a repair, as a
  /// sentence, or `nil`.
  func checked() async throws(BothyError) -> String? {
    do {
      let queue = try current()
      // A file that is read without its log may only appear damaged.
      if queue.isReadOnly { return nil }
      do {
        try await queue.read { database in
          let verdict = try String.fetchOne(database, sql: "PRAGMA integrity_check(1)") ?? ""
          guard verdict == "ok" else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: verdict) }
          // A few changed bytes of a value leave its page whole.
          let rows = try Row.fetchAll(database, sql: "SELECT * FROM region")
          guard rows.allSatisfy({ (try? Self.decoded($0)) != nil }) else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "A region can't be read.")
          }
        }
        return nil
      } catch {
        guard let reason = Self.needsRepair(error) else { throw error }
        return try replace(queue, because: reason)
      }
    } catch { throw Self.failure(error, path) }
  }

  private func replace(_ damaged: ClosableDatabase, because reason: String) throws -> String? {
    try state.withLock { state in
      guard state.queue === damaged, !state.isClosed else { return nil }
      let (fresh, repair) = try Self.repaired(path, damaged.fileNumber, open: damaged, because: reason)
      state.queue = fresh
      return repair
    }
  }

  /// Returns the open list. If another process has repaired it, that is the new one.
  ///
  /// - Parameter toWrite: true reopens a list that was opened without its log, as the disk may have room by now.
  func current(toWrite: Bool = false) throws -> ClosableDatabase {
    try state.withLock { state in
      let isUnwritten = toWrite && state.queue.isReadOnly
      if !state.isClosed, isUnwritten || state.queue.isReplaced {
        state.queue = try Self.open(path).queue
      }
      return state.queue
    }
  }

  /// Returns the reason for a repair: damage, or a newer format. Otherwise `nil`.
  private static func needsRepair(_ error: any Error) -> String? {
    if let error = error as? BothyError, error.code == .newerFile { return "a newer version made it" }
    guard let error = error as? DatabaseError,
      [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
    else { return nil }
    return "it was damaged"
  }

  /// Opens the list, creates it or repairs one that can't be used, and continues a repair that a kill has interrupted.
  static func open(_ path: String) throws -> (queue: ClosableDatabase, repair: String?) {
    let number = ClosableDatabase.fileNumber(at: path)
    do {
      let queue = try opened(path)
      guard hasUnread(path) else { return (queue, nil) }
      let reason = "an earlier repair was interrupted"
      let repair = try RegionLock.repairing(path) { try takeRegions(of: path, into: queue, because: reason) }
      return (queue, repair)
    } catch {
      guard let reason = needsRepair(error) else { throw error }
      return try repaired(path, number, open: nil, because: reason)
    }
  }

  /// The ending of a file that was put aside, until its regions are copied.
  private static let unreadEnding = ".unread"

  /// True if a repair was interrupted.
  static func hasUnread(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: path + unreadEnding)
  }

  /// Puts a file aside, and copies its readable regions and manifests into a new one. If another process has done that,
  /// opens its file.
  ///
  /// Regions that can't be read are recovered from their pins, see `OfflineRegions.recover`.
  ///
  /// - Parameters:
  ///   - number: the number of the damaged file.
  ///   - damaged: the damaged file if it is open. It is closed.
  static func repaired(
    _ path: String, _ number: UInt64, open damaged: ClosableDatabase?, because reason: String
  ) throws -> (queue: ClosableDatabase, repair: String?) {
    try RegionLock.repairing(path) {
      if ClosableDatabase.isReplaced(path, number), let whole = try? opened(path) {
        return (whole, try takeRegions(of: path, into: whole, because: "an earlier repair was interrupted"))
      }
      // If an earlier file is still being copied, this one has what was copied of it.
      try move(path, to: hasUnread(path) ? aside(path) : path + unreadEnding)
      // Waits for the calls that still run, which the moved file has.
      try? damaged?.close()
      let fresh = try opened(path)
      return (fresh, try takeRegions(of: path, into: fresh, because: reason))
    }
  }

  private static func aside(_ path: String) -> String {
    "\(path).aside-\(Int64(Date().timeIntervalSince1970 * 1000))"
  }

  private static func move(_ path: String, to place: String) throws {
    guard rename(path, place) == 0 else {
      throw BothyError(.unavailable, "\(path) can't be put aside. Check that its folder may be written.")
    }
    // The log has the last writes, so it is moved with its file.
    if rename(path + "-wal", place + "-wal") != 0 { unlink(path + "-wal") }
    unlink(path + "-shm")
  }

  /// Copies the readable regions of a file that was put aside, if that isn't done, in one transaction. Returns a sentence
  /// about the repair. Call it with the lock held.
  private static func takeRegions(
    of path: String, into queue: ClosableDatabase, because reason: String
  ) throws -> String? {
    guard hasUnread(path) else { return nil }
    let old = Remains(path + unreadEnding)
    try queue.write { database in
      let columns = try database.columns(in: "region").map(\.name)
      // A process that was killed after the copy has these.
      let known = try String.fetchSet(database, sql: "SELECT id FROM region")
      for row in old.regions() { try insert(row, columns, database) }
      for part in old.parts() where !known.contains(part.region) {
        try database.execute(
          sql: "INSERT OR REPLACE INTO part SELECT id, ?, ? FROM region WHERE id = ?",
          arguments: [part.place, part.tiles, part.region])
      }
      for failure in old.failures() where !known.contains(failure.region) {
        try database.execute(
          sql: "INSERT INTO failure SELECT id, ?, ?, ?, ? FROM region WHERE id = ?",
          arguments: [failure.zoom, failure.x, failure.y, failure.message, failure.region])
      }
    }
    old.close()
    try move(path + unreadEnding, to: aside(path))
    return "\(path) was repaired, because \(reason)."
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

    func failures() -> [(region: String, zoom: Int, x: Int, y: Int, message: String)] {
      var found: [(region: String, zoom: Int, x: Int, y: Int, message: String)] = []
      _ = scan("SELECT region, zoom, x, y, message FROM failure ORDER BY rowid") { row in
        guard let region = String.fromDatabaseValue(row[0]), let zoom = Int.fromDatabaseValue(row[1]),
          let x = Int.fromDatabaseValue(row[2]), let y = Int.fromDatabaseValue(row[3]),
          let message = String.fromDatabaseValue(row[4])
        else { return }
        found.append((region, zoom, x, y, message))
      }
      return found
    }

    // It was only read.
    func close() { try? queue?.close() }

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
    try await write { try Self.insert(region, by: "INSERT OR IGNORE", $0) }
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
