import BothyStore
import GRDB

/// The list of spaces whose upkeep is due, and one turn of it.
///
/// A space is due at `due`. A change makes it due at `rest`, unless it is due earlier. While a caller has taken it, both
/// are the end of the lease.
extension SQLiteServerStorage {
  /// The assignment that makes a space due by a change.
  static let dueByChange = "due = CASE WHEN due < rest THEN due ELSE rest END"

  /// Adds the columns of the list to a file without them. All its spaces become due within the next hour.
  static func addDueList(to database: Database) throws {
    if try !database.columns(in: "space").contains(where: { $0.name == "due" }) {
      for column in [
        "due INTEGER", "rest INTEGER NOT NULL DEFAULT 0", "oldest_outcome INTEGER", "blobs_at INTEGER",
        "blobs_head INTEGER", "blobs_due INTEGER",
      ] {
        try database.execute(sql: "ALTER TABLE space ADD COLUMN \(column)")
      }
      try database.execute(
        sql: "UPDATE space SET due = strftime('%s', 'now') * 1000 + (random() & 2147483647) % 3600000")
    }
    try database.execute(
      sql: "CREATE INDEX IF NOT EXISTS space_due ON space (due) WHERE due IS NOT NULL")
  }

  /// Takes at most `limit` of the spaces that are due at `time`, from among those that have been due the longest.
  ///
  /// Costs one read if none is due. Otherwise one transaction takes all of them, with a statement for each. An empty
  /// array means that nothing is due.
  public func takeDue(at time: Int64, limit: Int, lease: Int64) async throws -> [DueSpace] {
    // Without a due space nothing waits for the writer.
    guard try await dueCount(at: time, limit: 1) > 0 else { return [] }
    return try await change { database in
      let columns = "SELECT name, due, head, blobs_at, blobs_head, blobs_due FROM space"
      var rows = try Row.fetchAll(
        database, sql: "\(columns) WHERE due <= ? ORDER BY due LIMIT ?", arguments: [time, max(0, limit)])
      rows += try Row.fetchAll(
        database, sql: "\(columns) WHERE due > ? LIMIT ?",
        arguments: [MaintenanceTurn.lastDue(at: time), max(0, limit - rows.count)])
      return try rows.map { row in
        let taken = DueSpace(
          space: row[0], since: row[1], lease: time + lease, head: row[2],
          collection: Self.collection(row, at: 3)
        )
        try database.execute(
          sql: "UPDATE space SET due = ?1, rest = ?1 WHERE name = ?2", arguments: [taken.lease, taken.space])
        return taken
      }
    }
  }

  private static func collection(_ row: Row, at column: Int) -> BlobCollection? {
    guard let at: Int64 = row[column], let head: Int64 = row[column + 1] else { return nil }
    return BlobCollection(at: at, head: head, due: row[column + 2])
  }

  /// Returns the number of spaces that are due at `time`, counted up to `limit`. Reads as many entries of an index.
  public func dueCount(at time: Int64, limit: Int) async throws -> Int {
    try await database.read { database in
      try Int.fetchOne(
        database,
        sql: """
          SELECT min(?2, (SELECT count(*) FROM (SELECT 1 FROM space WHERE due <= ?1 LIMIT ?2))
            + (SELECT count(*) FROM (SELECT 1 FROM space WHERE due > ?3 LIMIT ?2)))
          """, arguments: [time, max(0, limit), MaintenanceTurn.lastDue(at: time)]) ?? 0
    }
  }

  /// Ends a lease without an upkeep. The space is due again at `time`, whether it changes or not.
  ///
  /// Does nothing if the lease is over and another caller has taken the space. Costs one statement.
  public func putOff(_ due: DueSpace, until time: Int64) async throws {
    try await change {
      try $0.execute(
        sql: "UPDATE space SET due = ?1, rest = ?1 WHERE name = ?2 AND due = ?3",
        arguments: [time, due.space, due.lease])
    }
  }

  /// Makes a space due as a change does: at the end of its rest. Costs one statement. Does nothing for a missing space.
  public func makeDue(space: String) async throws {
    try await change {
      try $0.execute(
        sql: "UPDATE space SET due = rest WHERE name = ? AND (due IS NULL OR due > rest)", arguments: [space])
    }
  }

  /// Returns the last collection of blobs that a turn noted, or `nil` without one. Costs one look-up.
  public func lastCollection(of space: String) async throws -> BlobCollection? {
    try await database.read { database in
      try Row.fetchOne(
        database, sql: "SELECT blobs_at, blobs_head, blobs_due FROM space WHERE name = ?", arguments: [space]
      )
      .flatMap { Self.collection($0, at: 0) }
    }
  }

  /// Marks the head, forgets data by its age, and sets the next time at which the space is due, as `turn` plans it.
  ///
  /// Everything is one transaction, which other writes wait for. It forgets at most `MaintenanceTurn.outcomeLimit`
  /// outcomes and about 2,000 tombstones, and leaves the space due if more are too old. Returns `nil` and changes
  /// nothing for a missing space, or if the turn has a lease and the space another.
  public func maintain(space: String, _ turn: MaintenanceTurn) async throws -> RetentionReport? {
    try await change { database in
      guard
        let row = try Row.fetchOne(
          database, sql: "SELECT head, floor, due, oldest_outcome FROM space WHERE name = ?",
          arguments: [space])
      else { return nil }
      if let lease = turn.lease, (row[2] as Int64?) != lease { return nil }
      var report = RetentionReport()
      var state = UpkeepState(
        head: row[0], floor: row[1], marks: try Self.marks(of: space, in: database), oldestOutcome: row[3])
      if state.oldestOutcome ?? .min < turn.outcomesSince {
        report.outcomes = try Self.forgetOutcomes(of: space, turn, in: database)
        state.oldestOutcome =
          try turn.oldestLeft(after: report.outcomes, of: state)
          ?? Int64.fetchOne(
            database, sql: "SELECT min(at) FROM operation WHERE space = ?", arguments: [space])
      }
      try Self.addDevices(of: space, turn, to: &state, in: database)
      var plan = turn.plan(for: state)
      if let floor = plan.floor,
        let stop = try Self.stop(
          of: space, after: state.floor, upTo: floor, rows: turn.rows, in: database)
      {
        plan.stop(at: stop, time: turn.time)
      }
      try Self.carryOut(plan, on: space, state, turn, in: database)
      report.floor = plan.floor
      (report.isPartial, report.wantedFloor) = (plan.isPartial, plan.wantedFloor)
      return report
    }
  }

  private static func marks(of space: String, in database: Database) throws -> [HeadMark] {
    try Row.fetchAll(
      database, sql: "SELECT at, position FROM mark WHERE space = ? ORDER BY at", arguments: [space]
    )
    .map { HeadMark(at: $0[0], position: $0[1]) }
  }

  /// Forgets the devices that were silent for too long, and adds the others to the state.
  private static func addDevices(
    of space: String, _ turn: MaintenanceTurn, to state: inout UpkeepState, in database: Database
  ) throws {
    try database.execute(
      sql: "DELETE FROM device WHERE space = ? AND at < ?", arguments: [space, turn.devicesSince])
    let row = try Row.fetchOne(
      database, sql: "SELECT min(position), min(at) FROM device WHERE space = ?", arguments: [space])
    guard let row else { return }
    state.acknowledged = row[0] as Int64?
    state.oldestDevice = row[1] as Int64?
  }

  private static func forgetOutcomes(
    of space: String, _ turn: MaintenanceTurn, in database: Database
  ) throws -> Int {
    try database.execute(
      sql: """
        DELETE FROM operation WHERE space = ?1 AND (device, id) IN (
          SELECT device, id FROM operation WHERE space = ?1 AND at < ?2 LIMIT ?3)
        """, arguments: [space, turn.outcomesSince, MaintenanceTurn.outcomeLimit])
    return database.changesCount
  }

  private static func carryOut(
    _ plan: UpkeepPlan, on space: String, _ state: UpkeepState, _ turn: MaintenanceTurn, in database: Database
  ) throws {
    if let mark = plan.mark {
      try database.execute(
        sql: "INSERT OR REPLACE INTO mark VALUES (?, ?, ?)", arguments: [space, mark.at, mark.position])
    }
    for times in plan.dropped {
      try database.execute(
        sql: "DELETE FROM mark WHERE space = ? AND at >= ? AND at <= ?",
        arguments: [space, times.lowerBound, times.upperBound])
    }
    if let floor = plan.floor {
      // Up to the former floor nothing is left to forget.
      try forget(of: space, after: state.floor, upTo: floor, in: database)
    }
    let collection = turn.collection
    try database.execute(
      sql: """
        UPDATE space SET floor = ?2, due = ?3, rest = ?4, oldest_outcome = ?5, blobs_at = ?6, blobs_head = ?7,
          blobs_due = ?8 WHERE name = ?1
        """,
      arguments: [
        space, plan.floor ?? state.floor, plan.next, plan.rest, state.oldestOutcome, collection?.at,
        collection?.head, collection?.due,
      ])
  }
}
