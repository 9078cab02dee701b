import BothyStore
public import BothySyncService

/// The list of spaces whose upkeep is due, and one turn of it.
///
/// Each statement but two names the space, and each transaction changes one space. So a space waits for no other, and
/// the list can be distributed by the space.
extension PostgresServerStorage {
  public func takeDue(at time: Int64, limit: Int, lease: Int64) async throws -> [DueSpace] {
    // Other processes look at the same time, so each tries a random part of a longer list.
    let found = try await look { connection in
      var select = PostgresStatement(StorageSQL.dueSpaces)
      select.bind(time)
      select.bind(Int64(max(0, limit)) * 4)
      select.bind(MaintenanceTurn.lastDue(at: time))
      let rows = try connection.run(select)
      return (0..<rows.count).map { (space: rows.text($0, 0) ?? "", since: rows.int($0, 1)) }
    }
    guard !found.isEmpty else { return [] }
    let end = time + lease
    return try await update { worker in
      var taken: [DueSpace] = []
      for (space, since) in found.shuffled() where taken.count < limit {
        var take = PostgresStatement(StorageSQL.take, in: space)
        take.bind(end)
        take.bind(time)
        take.bind(MaintenanceTurn.lastDue(at: time))
        let rows = try worker.attempt { try $0.act(take) }
        guard rows.count > 0 else { continue }
        taken.append(
          DueSpace(
            space: space, since: since, lease: end, head: rows.int(0, 0),
            collection: Self.collection(rows, at: 1)))
      }
      return taken
    }
  }

  private static func collection(_ rows: PostgresResult, at column: Int32) -> BlobCollection? {
    guard let at = rows.optionalInt(0, column), let head = rows.optionalInt(0, column + 1) else { return nil }
    return BlobCollection(at: at, head: head, due: rows.optionalInt(0, column + 2))
  }

  public func dueCount(at time: Int64, limit: Int) async throws -> Int {
    try await look { connection in
      var select = PostgresStatement(StorageSQL.dueCount)
      select.bind(time)
      select.bind(Int64(max(0, limit)))
      select.bind(MaintenanceTurn.lastDue(at: time))
      return Int(try connection.run(select).int(0, 0))
    }
  }

  public func putOff(_ due: DueSpace, until time: Int64) async throws {
    var update = PostgresStatement(StorageSQL.putOff, in: due.space)
    update.bind(due.lease)
    update.bind(time)
    try await act(update) { _ in }
  }

  public func makeDue(space: String) async throws {
    try await act(PostgresStatement(StorageSQL.makeDue, in: space)) { _ in }
  }

  public func lastCollection(of space: String) async throws -> BlobCollection? {
    try await look { connection in
      let rows = try connection.run(PostgresStatement(StorageSQL.collection, in: space))
      return rows.count > 0 ? Self.collection(rows, at: 0) : nil
    }
  }

  public func maintain(space: String, _ turn: MaintenanceTurn) async throws -> RetentionReport? {
    var devices = PostgresStatement(StorageSQL.devices, in: space)
    devices.bind(turn.devicesSince)
    let reads = [
      PostgresStatement(StorageSQL.turn, in: space), devices, PostgresStatement(StorageSQL.marks, in: space),
    ]
    return try await change(space, .upkeep, after: reads) { connection, found in
      let row = found[0]
      guard row.count > 0, turn.lease == nil || row.optionalInt(0, 2) == turn.lease else { return (nil, []) }
      var report = RetentionReport()
      var state = UpkeepState(
        head: row.int(0, 0), floor: row.int(0, 1),
        marks: (0..<found[2].count).map { HeadMark(at: found[2].int($0, 0), position: found[2].int($0, 1)) },
        acknowledged: found[1].optionalInt(0, 0), oldestDevice: found[1].optionalInt(0, 1),
        oldestOutcome: row.optionalInt(0, 3))
      if state.oldestOutcome ?? .min < turn.outcomesSince {
        report.outcomes = try Self.forgetOutcomes(of: space, turn, connection)
        state.oldestOutcome =
          try turn.oldestLeft(after: report.outcomes, of: state)
          ?? connection.run(PostgresStatement(StorageSQL.oldestOutcome, in: space)).optionalInt(0, 0)
      }
      var plan = turn.plan(for: state)
      if let floor = plan.floor,
        let stop = try Self.stop(
          of: space, after: state.floor, upTo: floor, rows: turn.rows, connection)
      {
        plan.stop(at: stop, time: turn.time)
      }
      report.floor = plan.floor
      (report.isPartial, report.wantedFloor) = (plan.isPartial, plan.wantedFloor)
      var writes = Self.writes(of: plan, on: space, state, turn)
      if let first = found[1].optionalInt(0, 2), first < turn.devicesSince {
        var forget = PostgresStatement(StorageSQL.forgetOldDevices, in: space)
        forget.bind(turn.devicesSince)
        writes.append(forget)
      }
      return (report, writes)
    }
  }

  /// Forgets outcomes that are too old. Returns their number.
  private static func forgetOutcomes(
    of space: String, _ turn: MaintenanceTurn, _ connection: PostgresConnection
  ) throws -> Int {
    var forget = PostgresStatement(StorageSQL.forgetOldOutcomes, in: space)
    forget.bind(turn.outcomesSince)
    forget.bind(Int64(MaintenanceTurn.outcomeLimit))
    return try connection.run(forget).changedCount
  }

  /// Returns the position up to which a step forgets about `rows` of each kind, or `nil` if it forgets all up to `end`.
  static func stop(
    of space: String, after start: Int64, upTo end: Int64, rows: Int, _ connection: PostgresConnection
  ) throws -> Int64? {
    var select = PostgresStatement(StorageSQL.stop, in: space)
    for number in [start, end, Int64(rows)] { select.bind(number) }
    return try connection.run(select).optionalInt(0, 0)
  }

  private static func writes(
    of plan: UpkeepPlan, on space: String, _ state: UpkeepState, _ turn: MaintenanceTurn
  ) -> [PostgresStatement] {
    func statement(_ sql: String, _ numbers: Int64?...) -> PostgresStatement {
      var statement = PostgresStatement(sql, in: space)
      for number in numbers { statement.bind(number) }
      return statement
    }
    var writes: [PostgresStatement] = []
    if let mark = plan.mark { writes.append(statement(StorageSQL.addMark, mark.at, mark.position)) }
    for times in plan.dropped {
      writes.append(statement(StorageSQL.dropMarks, times.lowerBound, times.upperBound))
    }
    if let floor = plan.floor {
      // Up to the former floor nothing is left to forget.
      writes += StorageSQL.forgetting.map { statement($0, state.floor, floor) }
    }
    writes.append(PostgresStatement(StorageSQL.clearSignatures, in: space))
    let collection = turn.collection
    writes.append(
      statement(
        StorageSQL.endTurn, plan.floor ?? state.floor, plan.next, plan.rest, state.oldestOutcome,
        collection?.at, collection?.head, collection?.due))
    return writes
  }
}
