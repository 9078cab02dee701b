import BothyCache
import BothyStore
import Foundation
import GRDB

/// The database of regions: their plans and progress. Only the cache records which tiles are available.
///
/// Each method is one transaction. Several processes may use the file.
final class RegionDatabase: Sendable {
  private let queue: ClosableDatabase
  private let path: String

  private static let version = 2
  /// The maximum number of failures that are stored of a region. All failures are counted.
  static let rememberedFailures = 100

  private static let tables = """
    CREATE TABLE region (
      id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, source TEXT NOT NULL, area TEXT NOT NULL,
      lowest INTEGER NOT NULL, highest INTEGER NOT NULL, tiles INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT,
      created INTEGER NOT NULL, completed INTEGER, started INTEGER NOT NULL, refresh INTEGER NOT NULL,
      done INTEGER NOT NULL DEFAULT 0, absent INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
      loaded INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, confirmed INTEGER NOT NULL DEFAULT 0,
      gone INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE failure (
      region TEXT NOT NULL REFERENCES region ON DELETE CASCADE, zoom INTEGER NOT NULL, x INTEGER NOT NULL,
      y INTEGER NOT NULL, message TEXT NOT NULL
    ) STRICT;
    CREATE INDEX failure_region ON failure (region);
    """

  /// The state of a region whose tiles are being unpinned.
  private static let deleting = "deleting"

  init(path: String) throws(BothyError) {
    self.path = path
    do { queue = try Self.opened(path) } catch {
      guard let kept = Self.asItLies(path, error) else { throw Self.failure(error, path) }
      queue = kept
    }
  }

  /// Opens or creates the list, and migrates an older format.
  private static func opened(_ path: String) throws -> ClosableDatabase {
    var configuration = Configuration()
    configuration.label = "bothy.regions"
    configuration.busyMode = .timeout(10)
    configuration.prepareDatabase {
      try $0.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
    }
    let queue = ClosableDatabase(try DatabaseQueue(path: path, configuration: configuration))
    let found = try queue.write { database in
      let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
      if version == 0 { try database.execute(sql: Self.tables) }
      if version == 1 {
        try database.execute(sql: "ALTER TABLE region ADD COLUMN gone INTEGER NOT NULL DEFAULT 0")
      }
      if version < Self.version { try database.execute(sql: "PRAGMA user_version = \(Self.version)") }
      return version
    }
    guard found <= Self.version else {
      throw BothyError(.unavailable, "\(path) was made by a newer version. Update, or use another folder.")
    }
    return queue
  }

  /// Opens the list as immutable. On a full or read-only disk, SQLite can't create the files that it needs beside the
  /// database.
  ///
  /// Returns `nil` if the list doesn't exist or failed for another reason.
  private static func asItLies(_ path: String, _ error: any Error) -> ClosableDatabase? {
    let codes: [ResultCode] = [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_READONLY]
    guard let failure = error as? DatabaseError, codes.contains(failure.resultCode) else { return nil }
    var configuration = Configuration()
    configuration.readonly = true
    configuration.label = "bothy.regions"
    var allowed = CharacterSet.urlPathAllowed
    allowed.remove(charactersIn: "?#%")
    let address = "file:\(path.addingPercentEncoding(withAllowedCharacters: allowed) ?? path)?immutable=1"
    // If this fails too, the first error is the one to report.
    guard let queue = try? DatabaseQueue(path: address, configuration: configuration),
      (try? queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM region") }) != nil
    else { return nil }
    return ClosableDatabase(queue)
  }

  func close() throws(BothyError) { do { try queue.close() } catch { throw Self.failure(error, path) } }

  /// Returns all regions by name, without those that are being deleted.
  func all() async throws(BothyError) -> [Region] {
    try await read { database in
      try Row.fetchAll(
        database, sql: "SELECT * FROM region WHERE state <> ? ORDER BY name", arguments: [Self.deleting]
      ).map(Self.decoded)
    }
  }

  func region(_ id: String) async throws(BothyError) -> Region {
    let found = try await read { database in
      try Row.fetchOne(
        database, sql: "SELECT * FROM region WHERE id = ? AND state <> ?", arguments: [id, Self.deleting]
      ).map(Self.decoded)
    }
    guard let found else {
      throw BothyError(
        .unknownRegion, "The region does not exist, or has been deleted. List those there are.")
    }
    return found
  }

  /// Adds a region if the limits allow it beside the others.
  func add(_ region: Region, _ limits: RegionLimits) async throws(BothyError) {
    let plan = region.plan
    try await write { database in
      let taken = try Int.fetchOne(
        database, sql: "SELECT 1 FROM region WHERE name = ?", arguments: [plan.name])
      guard taken == nil else {
        throw BothyError(
          .regionExists, "There is a region '\(plan.name)' already. Choose another name, or delete it first.")
      }
      let others = try Int.fetchOne(database, sql: "SELECT ifnull(sum(tiles), 0) FROM region") ?? 0
      try limits.check(region.tiles, plan.name, beside: others)
      try database.execute(
        sql: """
          INSERT INTO region (id, name, source, area, lowest, highest, tiles, state, created, started, refresh)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """,
        arguments: [
          region.id, plan.name, plan.source.name, plan.area.json.canonicalText, plan.zooms.lowest,
          plan.zooms.highest, region.tiles, region.state.rawValue, region.createdAt.milliseconds,
          region.run.startedAt, region.run.isRefresh,
        ])
    }
  }

  /// Records the start of a run: deletes earlier failures and resets the counts.
  func begin(_ region: Region) async throws(BothyError) {
    try await write { database in
      try database.execute(sql: "DELETE FROM failure WHERE region = ?", arguments: [region.id])
      try database.execute(
        sql: """
          UPDATE region SET state = ?, reason = NULL, started = ?, refresh = ?, done = 0, absent = 0, failed = 0,
          loaded = 0, bytes = 0, confirmed = 0, gone = 0 WHERE id = ? AND state <> ?
          """,
        arguments: [
          RegionState.loading.rawValue, region.run.startedAt, region.run.isRefresh, region.id, Self.deleting,
        ])
    }
  }

  /// Stores the progress of a run. Returns false if the region was paused or deleted in the meantime.
  func note(_ progress: RegionProgress, _ failures: [RegionFailure], of id: String) async throws(BothyError)
    -> Bool
  {
    try await write { database in
      try database.execute(
        sql: """
          UPDATE region SET done = ?, absent = ?, failed = ?, loaded = ?, bytes = ?, confirmed = ?, gone = ?
          WHERE id = ?
          """,
        arguments: [
          progress.done, progress.absent, progress.failed, progress.loaded, progress.bytesLoaded,
          progress.confirmed, progress.gone, id,
        ])
      for failure in failures {
        try database.execute(
          sql: "INSERT INTO failure VALUES (?, ?, ?, ?, ?)",
          arguments: [id, failure.tile.zoom, failure.tile.x, failure.tile.y, failure.message])
      }
      return try String.fetchOne(database, sql: "SELECT state FROM region WHERE id = ?", arguments: [id])
        == RegionState.loading.rawValue
    }
  }

  /// Ends a run in a state. A run that was paused in the meantime stays paused.
  func end(_ id: String, _ state: RegionState, reason: String?, at time: Int64) async throws(BothyError) {
    try await write { database in
      try database.execute(
        sql: "UPDATE region SET state = ?, reason = ? WHERE id = ? AND state = ?",
        arguments: [state.rawValue, reason, id, RegionState.loading.rawValue])
      guard state == .complete else { return }
      try database.execute(sql: "UPDATE region SET completed = ? WHERE id = ?", arguments: [time, id])
    }
  }

  /// Pauses a region. A complete region stays complete, as it has no run.
  func pause(_ id: String) async throws(BothyError) {
    try await write { database in
      try database.execute(
        sql: "UPDATE region SET state = ? WHERE id = ? AND state NOT IN (?, ?)",
        arguments: [RegionState.paused.rawValue, id, RegionState.complete.rawValue, Self.deleting])
    }
  }

  func markDeleting(_ id: String) async throws(BothyError) {
    try await write { database in
      try database.execute(
        sql: "UPDATE region SET state = ? WHERE id = ?", arguments: [Self.deleting, id])
    }
  }

  func deletings() async throws(BothyError) -> [Region] {
    try await read { database in
      try Row.fetchAll(database, sql: "SELECT * FROM region WHERE state = ?", arguments: [Self.deleting])
        .map(Self.decoded)
    }
  }

  func remove(_ id: String) async throws(BothyError) {
    try await write { try $0.execute(sql: "DELETE FROM region WHERE id = ?", arguments: [id]) }
  }

  func failures(of id: String) async throws(BothyError) -> [RegionFailure] {
    try await read { database in
      try Row.fetchAll(
        database, sql: "SELECT zoom, x, y, message FROM failure WHERE region = ? ORDER BY rowid",
        arguments: [id]
      ).map { RegionFailure(tile: try Tile(x: $0[1], y: $0[2], zoom: $0[0]), message: $0[3]) }
    }
  }
}

extension RegionDatabase {
  private static func decoded(_ row: Row) throws -> Region {
    var progress = RegionProgress(total: row["tiles"])
    progress.done = row["done"]
    progress.absent = row["absent"]
    progress.failed = row["failed"]
    progress.loaded = row["loaded"]
    progress.bytesLoaded = row["bytes"]
    progress.confirmed = row["confirmed"]
    // A read-only file of the first format doesn't have this column.
    progress.gone = row.hasColumn("gone") ? row["gone"] : 0
    let completed: Int64? = row["completed"]
    return Region(
      id: row["id"],
      plan: RegionPlan(
        name: row["name"], source: SourceID(row["source"]), area: try RegionArea(kept: row["area"]),
        zooms: try ZoomRange(row["lowest"], row["highest"])),
      tiles: row["tiles"], state: RegionState(rawValue: row["state"]) ?? .interrupted, progress: progress,
      createdAt: Timestamp(milliseconds: row["created"]),
      completedAt: completed.map { Timestamp(milliseconds: $0) }, reason: row["reason"],
      run: Region.Run(startedAt: row["started"], isRefresh: row["refresh"]))
  }

  private func read<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws(BothyError) -> Result {
    do { return try await queue.read(body) } catch { throw Self.failure(error, path) }
  }

  private func write<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws(BothyError) -> Result {
    // A transaction that has begun is finished, even if the task is cancelled.
    let queue = queue
    let task = Task { try await queue.write(body) }
    do { return try await task.value } catch { throw Self.failure(error, path) }
  }

  private static func failure(_ error: any Error, _ path: String) -> BothyError {
    if let known = error as? BothyError, known.isOfMaps { return known }
    return BothyError(
      .unavailable,
      "The list of regions, \(path), can't be used: \(error). Check that the disk has room and the file is whole; "
        + "without it regions are unknown, and tiles that they hold stay.", underlying: error)
  }
}
