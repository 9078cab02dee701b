import BothyStore
import GRDB

/// The operations of operators on the file, and the data remembered for them.
extension SQLiteServerStorage: ServerMaintenance {
  static let upkeepTables = """
    CREATE TABLE IF NOT EXISTS mark (
      space TEXT NOT NULL, at INTEGER NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (space, at)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS device (
      space TEXT NOT NULL, device TEXT NOT NULL, scope TEXT NOT NULL, position INTEGER NOT NULL,
      at INTEGER NOT NULL, PRIMARY KEY (space, device, scope)
    ) STRICT, WITHOUT ROWID;
    """

  /// SQL that begins another history. No position of the former one is as high.
  private static let nextEpoch = "epoch = ?, head = head + 4294967296"

  /// Starts a new epoch, after which every device compares and rebases at its next sync.
  ///
  /// Changes one row of the space, and forgets the positions of its devices. Does nothing for a missing space.
  public func startEpoch(space: String) async throws {
    try await change {
      try $0.execute(
        sql: "UPDATE space SET \(Self.nextEpoch), \(Self.dueByChange) WHERE name = ?",
        arguments: [UUIDv7.make(), space])
      // The acknowledged positions belong to the former history.
      try $0.execute(sql: "DELETE FROM device WHERE space = ?", arguments: [space])
    }
  }

  /// Forgets the tombstones, departures and notices up to `position`. Cursors below it start over.
  ///
  /// Deletes about 2,000 of each in one transaction, which other writes wait for. The file keeps its size, and later
  /// writes use the room.
  public func compact(space: String, upTo position: Int64) async throws {
    // Other processes have the file for as long as this one had it.
    try await compact(space: space, upTo: position, rowsAtATime: SpaceRows.step) {
      try await Task.sleep(for: $0)
    }
  }

  /// Forgets about `count` tombstones, departures and notices in each step, up to `position`.
  ///
  /// - Parameter pause: waits between two steps. It gets the time of the last one.
  package func compact(
    space: String, upTo position: Int64, rowsAtATime count: Int, pause: (Duration) async throws -> Void
  ) async throws {
    while true {
      let start = ContinuousClock.now
      let stop: Int64? = try await change { database in
        let found = try Self.stop(of: space, after: 0, upTo: position, rows: count, in: database)
        try Self.forget(of: space, after: 0, upTo: found ?? position, in: database)
        try database.execute(
          sql: "UPDATE space SET floor = max(floor, ?) WHERE name = ?", arguments: [found ?? position, space])
        return found
      }
      if stop == nil { return }
      try await pause(ContinuousClock.now - start)
    }
  }

  /// Returns the names of all spaces, in the order of their bytes. Reads one row for each.
  public func spaces() async throws -> [String] {
    try await database.read { try String.fetchAll($0, sql: "SELECT name FROM space ORDER BY name") }
  }

  /// Counts the content of the space, a million of each kind at most.
  ///
  /// Reads the records, fields included, on a connection for short reads. A missing space has zeros.
  public func statistics(of space: String) async throws -> SpaceStatistics {
    try await statistics(of: space, counting: SpaceStatistics.limit)
  }

  /// Counts the content of the space, at most `limit` rows of each kind.
  package func statistics(of space: String, counting limit: Int) async throws -> SpaceStatistics {
    try await database.read { database in
      let row = try Row.fetchOne(
        database, sql: "SELECT epoch, head, floor FROM space WHERE name = ?", arguments: [space])
      var found = SpaceStatistics(
        space: space, epoch: row?[0] ?? "", head: row?[1] ?? 0, floor: row?[2] ?? 0)
      let records = try Row.fetchOne(
        database,
        sql: """
          SELECT total(deleted = 0), total(deleted = 1), count(DISTINCT CASE deleted WHEN 0 THEN container END),
            total(CASE deleted WHEN 0 THEN length(CAST(fields AS BLOB)) END)
          FROM (SELECT deleted, container, fields FROM record WHERE space = ? LIMIT ?)
          """, arguments: [space, limit])
      if let records {
        found.records = Int(records[0] as Double)
        found.tombstones = Int(records[1] as Double)
        found.containers = records[2]
        found.bytes = Int64(records[3] as Double)
      }
      found.outcomes =
        try Int.fetchOne(
          database, sql: "SELECT count(*) FROM (SELECT 1 FROM operation WHERE space = ? LIMIT ?)",
          arguments: [space, limit]) ?? 0
      let devices = try Row.fetchOne(
        database,
        sql: """
          SELECT count(DISTINCT device), count(*) FROM (SELECT device FROM device WHERE space = ? LIMIT ?)
          """,
        arguments: [space, limit])
      found.devices = devices?[0] ?? 0
      let positions: Int = devices?[1] ?? 0
      let rows = [found.records + found.tombstones, found.outcomes, positions]
      found.isPartial = rows.contains { $0 >= limit }
      return found
    }
  }

  /// Returns the users who own records or are in lists, by name. Reads a million records and members of lists at most.
  ///
  /// Groups of lists are among them, with their prefix.
  public func users(of space: String) async throws -> [UserStatistics] {
    try await users(of: space, counting: SpaceStatistics.limit)
  }

  /// Like `users(of:)`, but reads at most `limit` records, and as many members.
  package func users(of space: String, counting limit: Int) async throws -> [UserStatistics] {
    try await database.read { database in
      let rows = try Row.fetchCursor(
        database,
        sql: """
          SELECT name, sum(records), sum(lists) FROM (
            SELECT owner AS name, count(*) AS records, 0 AS lists
              FROM (SELECT owner, deleted FROM record WHERE space = ?1 LIMIT ?2)
              WHERE deleted = 0 AND owner IS NOT NULL GROUP BY owner
            UNION ALL
            SELECT principal, 0, count(*)
              FROM (SELECT principal FROM member WHERE space = ?1 LIMIT ?2) GROUP BY principal)
          GROUP BY name ORDER BY name
          """, arguments: [space, limit])
      var found: [UserStatistics] = []
      while let row = try rows.next() {
        found.append(UserStatistics(user: row[0], records: row[1], lists: row[2]))
      }
      return found
    }
  }

  /// Deletes the space with its whole content, in one transaction or in several short ones.
  ///
  /// Other writes wait for one transaction at most. The file keeps its size, and later writes use the room. Blobs and
  /// secrets stay in their vaults.
  public func remove(space: String) async throws {
    // Other processes have the file for as long as this one had it.
    try await remove(space: space, rowsAtATime: SpaceRows.step) { try await Task.sleep(for: $0) }
  }

  /// Deletes the space. Tables with more rows of it than `count` lose these in steps.
  ///
  /// - Parameter pause: waits between two steps. It gets the time of the last one.
  package func remove(
    space: String, rowsAtATime count: Int, pause: (Duration) async throws -> Void
  ) async throws {
    // To devices, what is gone between two steps is lost by another history, and not deleted.
    let epoch = UUIDv7.make()
    try await change { database in
      try database.execute(
        sql: "UPDATE space SET \(Self.nextEpoch) WHERE name = ?", arguments: [epoch, space])
    }
    for rows in SpaceRows.all {
      let removal = rows.removal(of: count, from: "?1")
      while true {
        let start = ContinuousClock.now
        let removed = try await change { database in
          try database.execute(sql: removal, arguments: [space])
          return database.changesCount
        }
        if removed == 0 { break }
        try await pause(ContinuousClock.now - start)
      }
    }
    try await change { database in
      let tables = SpaceRows.all.map(\.table) + ["mark", "unique_mark", "run", "webhook", "seen"]
      for table in tables {
        try database.execute(sql: "DELETE FROM \(table) WHERE space = ?", arguments: [space])
      }
      try database.execute(sql: "DELETE FROM space WHERE name = ?", arguments: [space])
    }
  }

  /// Returns the head of the space at the last mark at or before `time`, or 0 without a mark. Costs one look-up.
  public func position(of space: String, markedBefore time: Int64) async throws -> Int64 {
    try await database.read {
      try Int64.fetchOne(
        $0, sql: "SELECT position FROM mark WHERE space = ? AND at <= ? ORDER BY at DESC LIMIT 1",
        arguments: [space, time]) ?? 0
    }
  }

  /// Remembers, at the server's time, the positions that a device has reached. Returns false if none is of the space's
  /// epoch.
  ///
  /// Writes one row for each scope. Positions may also fall, as when a device starts over. A missing space remembers
  /// none.
  public func acknowledge(
    space: String, device: String, _ progress: [DeviceProgress], at time: Int64
  ) async throws -> Bool {
    try await change { database in
      let epoch = try String.fetchOne(
        database, sql: "SELECT epoch FROM space WHERE name = ?", arguments: [space])
      var noted = progress.filter { $0.epoch == epoch }
      guard !noted.isEmpty else { return false }
      let rows = try Row.fetchAll(
        database, sql: "SELECT scope, position FROM device WHERE space = ? AND device = ?",
        arguments: [space, device])
      let known = Dictionary(rows.map { ($0[0] as String, $0[1] as Int64) }, uniquingKeysWith: { $1 })
      if let owner = DeviceName(device) {
        noted = try noted.fitting(known) {
          try Int.fetchOne(
            database,
            sql: """
              SELECT count(*) FROM (
                SELECT 1 FROM device WHERE space = ? AND device >= ? AND device < ? LIMIT ?)
              """, arguments: [space, owner.first, owner.end, FixedLimits.devicePositions]) ?? 0
        }
      }
      for entry in noted {
        try database.execute(
          sql: "INSERT OR REPLACE INTO device VALUES (?, ?, ?, ?, ?)",
          arguments: [space, device, entry.scope, entry.position, time])
      }
      try database.execute(
        sql: """
          UPDATE space SET due = rest WHERE name = ? AND (due IS NULL OR (? AND head > floor AND due > rest))
          """, arguments: [space, noted.isAhead(of: known)])
      return true
    }
  }

  /// Returns the lowest position that devices with a request since `time` have acknowledged, or `nil` without such
  /// devices. Reads a row for each device and scope.
  public func acknowledged(space: String, since time: Int64) async throws -> Int64? {
    try await database.read {
      try Int64.fetchOne(
        $0, sql: "SELECT min(position) FROM device WHERE space = ? AND at >= ?", arguments: [space, time])
    }
  }
}
