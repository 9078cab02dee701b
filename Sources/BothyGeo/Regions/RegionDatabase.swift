import BothyCache
import BothyStore
import Foundation
import GRDB
import Synchronization

/// The database of regions: their plans and progress. Only the cache records which tiles are available.
///
/// Each method is one transaction. Several processes may use the file.
final class RegionDatabase: Sendable {
  let state: Mutex<State>
  let path: String
  /// The reason why the file was repaired when it was opened, as a sentence, or `nil`.
  let repair: String?

  struct State {
    var queue: ClosableDatabase
    var isClosed = false
  }

  /// The steps from each format to the next one, beginning at format 1.
  private static let steps = [
    "ALTER TABLE region ADD COLUMN gone INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE region ADD COLUMN flipping INTEGER NOT NULL DEFAULT 0; \(manifestTable)",
    "ALTER TABLE region ADD COLUMN generation INTEGER NOT NULL DEFAULT 0; \(confirmedTable)",
    "ALTER TABLE region ADD COLUMN map TEXT",
  ]
  private static let version = steps.count + 1
  /// The stored zoom of a failure of another part than a tile.
  private static let noTile = -1
  /// The maximum number of failures that are stored of a region. All failures are counted.
  static let rememberedFailures = 100

  private static let tables = """
    CREATE TABLE region (
      id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, source TEXT NOT NULL, area TEXT NOT NULL,
      lowest INTEGER NOT NULL, highest INTEGER NOT NULL, tiles INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT,
      created INTEGER NOT NULL, completed INTEGER, started INTEGER NOT NULL, refresh INTEGER NOT NULL,
      done INTEGER NOT NULL DEFAULT 0, absent INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
      loaded INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, confirmed INTEGER NOT NULL DEFAULT 0,
      gone INTEGER NOT NULL DEFAULT 0, flipping INTEGER NOT NULL DEFAULT 0,
      generation INTEGER NOT NULL DEFAULT 0, map TEXT
    ) STRICT;
    CREATE TABLE failure (
      region TEXT NOT NULL REFERENCES region ON DELETE CASCADE, zoom INTEGER NOT NULL, x INTEGER NOT NULL,
      y INTEGER NOT NULL, message TEXT NOT NULL
    ) STRICT;
    CREATE INDEX failure_region ON failure (region);
    \(manifestTable)
    \(confirmedTable)
    """

  /// The state of a region whose tiles are being unpinned.
  private static let deleting = "deleting"

  init(path: String) throws(BothyError) {
    self.path = path
    do {
      let (queue, repair) = try Self.open(path)
      state = Mutex(State(queue: queue))
      self.repair = repair
    } catch {
      let kept = ClosableDatabase.asItLies(path, after: error, label: "bothy.regions") { database in
        try Int.fetchOne(database, sql: "SELECT count(*) FROM region") != nil
      }
      // A list whose regions aren't copied yet would show none.
      guard let queue = kept, !Self.hasUnread(path) else { throw Self.failure(error, path) }
      state = Mutex(State(queue: queue))
      repair = nil
    }
  }

  /// Opens or creates the list, and migrates an older format.
  static func opened(_ path: String) throws -> ClosableDatabase {
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
      if version > 0, version < Self.version {
        for step in Self.steps[(version - 1)...] { try database.execute(sql: step) }
      }
      if version < Self.version { try database.execute(sql: "PRAGMA user_version = \(Self.version)") }
      return version
    }
    guard found <= Self.version else {
      throw BothyError(.newerFile, "\(path) was made by a newer version.")
    }
    return queue
  }

  func close() throws(BothyError) {
    let queue = state.withLock { state in
      state.isClosed = true
      return state.queue
    }
    do { try queue.close() } catch { throw Self.failure(error, path) }
  }

  /// Returns all regions by name, without those that are being deleted.
  func all() async throws(BothyError) -> [Region] {
    try await read { database in
      try Row.fetchAll(
        database, sql: "SELECT * FROM region WHERE state <> ? ORDER BY name", arguments: [Self.deleting]
      ).map(Self.decoded)
    }
  }

  /// Returns the holders of all regions, also of those that are being deleted.
  func holders() async throws(BothyError) -> [String] {
    try await read { try String.fetchAll($0, sql: "SELECT id FROM region").map { Region.holder(of: $0) } }
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
    let name = region.name
    try await write { database in
      let taken = try Int.fetchOne(
        database, sql: "SELECT 1 FROM region WHERE name = ?", arguments: [name])
      guard taken == nil else {
        throw BothyError(
          .regionExists, "There is a region '\(name)' already. Choose another name, or delete it first.")
      }
      try Self.check(region, limits, database)
      try Self.insert(region, by: "INSERT", database)
    }
  }

  /// Inserts a region. `verb` says what a taken id or name leads to: `INSERT` throws.
  static func insert(_ region: Region, by verb: String, _ database: Database) throws {
    let plan = region.plan
    try database.execute(
      sql: """
        \(verb) INTO region
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

  /// Throws `BothyError` `tooManyTiles` if a region's tiles, with those of the others, exceed the limits.
  static func check(_ region: Region, _ limits: RegionLimits, _ database: Database) throws {
    let others = try Int.fetchOne(
      database, sql: "SELECT ifnull(sum(tiles), 0) FROM region WHERE id <> ?", arguments: [region.id])
    try limits.check(region.tiles, region.plan.name, beside: others ?? 0)
  }

  /// Records the start of a run: deletes earlier failures and resets the counts.
  ///
  /// - Parameters:
  ///   - isNew: true for a new refresh, which has confirmed no tile yet.
  ///   - unlessPaused: true for a run that begins again. It stays paused if it was paused in the meantime.
  func begin(_ region: Region, isNew: Bool, unlessPaused: Bool = false) async throws(BothyError) {
    try await write { database in
      if isNew {
        try database.execute(sql: "DELETE FROM confirmed WHERE region = ?", arguments: [region.id])
      }
      try database.execute(sql: "DELETE FROM failure WHERE region = ?", arguments: [region.id])
      try database.execute(
        sql: """
          UPDATE region SET state = ?, reason = NULL, started = ?, refresh = ?, done = 0, absent = 0, failed = 0,
          loaded = 0, bytes = 0, confirmed = 0, gone = 0 WHERE id = ? AND state NOT IN (?, ?)
          """,
        arguments: [
          RegionState.loading.rawValue, region.run.startedAt, region.run.isRefresh, region.id, Self.deleting,
          unlessPaused ? RegionState.paused.rawValue : Self.deleting,
        ])
    }
  }

  /// Stores the progress of a run. Returns false if the region was paused or deleted in the meantime.
  ///
  /// - Parameter confirmed: the tiles that a refresh has confirmed since the last call, by their parts.
  func note(
    _ progress: RegionProgress, _ failures: [RegionFailure], confirmed: [Int: [Int]], of id: String
  ) async throws(BothyError) -> Bool {
    try await write { database in
      try Self.confirm(confirmed, id, database)
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
          arguments: [
            id, failure.tile?.zoom ?? Self.noTile, failure.tile?.x ?? 0, failure.tile?.y ?? 0,
            failure.message,
          ])
      }
      return try String.fetchOne(database, sql: "SELECT state FROM region WHERE id = ?", arguments: [id])
        == RegionState.loading.rawValue
    }
  }

  /// Returns false if a region that was being loaded was paused or deleted in the meantime.
  func isLoading(_ id: String) async throws(BothyError) -> Bool {
    try await read { database in
      try String.fetchOne(database, sql: "SELECT state FROM region WHERE id = ?", arguments: [id])
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

  /// Ends the replacement of a region's tiles. The region is complete if no tile has failed.
  func finish(_ id: String, at time: Int64) async throws(BothyError) {
    try await write { database in
      try database.execute(
        sql: """
          UPDATE region SET state = CASE WHEN failed = 0 THEN ?2 ELSE ?3 END,
            completed = CASE WHEN failed = 0 THEN ?4 ELSE completed END
          WHERE id = ?1 AND state NOT IN (?5, ?6)
          """,
        arguments: [
          id, RegionState.complete.rawValue, RegionState.partial.rawValue, time, RegionState.paused.rawValue,
          Self.deleting,
        ])
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

  /// Records if the tiles of a region are being replaced by the staged ones. A replacement that begins is counted.
  func setFlipping(_ isFlipping: Bool, of id: String) async throws(BothyError) {
    try await write { database in
      try database.execute(
        sql: """
          UPDATE region SET flipping = ?1, generation = generation + ?1 WHERE id = ?2 AND flipping <> ?1
          """, arguments: [isFlipping, id])
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
      ).map { row in
        let isTile = row[0] != Self.noTile
        return RegionFailure(
          tile: isTile ? try Tile(x: row[1], y: row[2], zoom: row[0]) : nil, message: row[3])
      }
    }
  }
}

extension RegionDatabase {
  static func decoded(_ row: Row) throws -> Region {
    var progress = RegionProgress(total: row["tiles"])
    progress.done = row["done"]
    progress.absent = row["absent"]
    progress.failed = row["failed"]
    progress.loaded = row["loaded"]
    progress.bytesLoaded = row["bytes"]
    progress.confirmed = row["confirmed"]
    // A read-only file of an older format doesn't have this column.
    progress.gone = row.hasColumn("gone") ? row["gone"] : 0
    let completed: Int64? = row["completed"]
    var plan = OfflineRegions.Plan(
      name: row["name"], source: SourceID(row["source"]), area: try RegionArea(kept: row["area"]),
      zooms: try ZoomRange(row["lowest"], row["highest"]))
    if row.hasColumn("map"), let kept: String = row["map"] {
      guard let map = MapClosure(kept: try JSONValue(parsing: Data(kept.utf8))) else {
        throw BothyError(.unavailable, "The list of what the style of '\(plan.name)' needs is damaged.")
      }
      plan.map = map
    }
    return Region(
      id: row["id"], plan: plan, tiles: row["tiles"],
      state: RegionState(rawValue: row["state"]) ?? .interrupted, progress: progress,
      createdAt: Timestamp(milliseconds: row["created"]),
      completedAt: completed.map { Timestamp(milliseconds: $0) }, reason: row["reason"],
      run: Region.Run(
        startedAt: row["started"], isRefresh: row["refresh"],
        isFlipping: row.hasColumn("flipping") ? row["flipping"] : false,
        generation: row.hasColumn("generation") ? row["generation"] : 0))
  }

  func read<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws(BothyError) -> Result {
    do { return try await current().read(body) } catch { throw Self.failure(error, path) }
  }

  func write<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws(BothyError) -> Result {
    do {
      let queue = try current(toWrite: true)
      // A transaction that has begun is finished, even if the task is cancelled.
      let task = Task { try await queue.write(body) }
      return try await task.value
    } catch { throw Self.failure(error, path) }
  }

  static func failure(_ error: any Error, _ path: String) -> BothyError {
    if let known = error as? BothyError, known.isOfMaps { return known }
    let wrapped = BothyError(error, path: path)
    if wrapped.code == .cancelled { return wrapped }
    if wrapped.code == .diskFull {
      return BothyError(
        .diskFull,
        "The disk is full, so the list of regions, \(path), can't be written. Free some space and try again. Regions and "
          + "their stored tiles stay as they are.", underlying: error)
    }
    return BothyError(
      .unavailable,
      "The list of regions, \(path), can't be used: \(BothyError.cause(error)). Check that the disk has room and the file is whole; "
        + "without it regions are unknown, and tiles that they hold stay.", underlying: error)
  }
}
