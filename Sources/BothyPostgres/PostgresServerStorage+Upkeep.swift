import BothyStore
public import BothySyncService

/// The operations of operators on spaces, and the data remembered for them. Each change is one transaction that holds
/// the space's lock and may be repeated.
extension PostgresServerStorage: ServerMaintenance {
  public func spaces() async throws -> [String] {
    try await look { connection in
      let rows = try connection.run(PostgresStatement(StorageSQL.spaces))
      return (0..<rows.count).compactMap { rows.text($0, 0) }
    }
  }

  public func startEpoch(space: String) async throws {
    try await change(space) {
      var update = PostgresStatement(StorageSQL.startEpoch, in: space)
      update.bind(UUIDv7.make())
      // The acknowledged positions belong to the former history.
      return [update, PostgresStatement(StorageSQL.forgetDevices, in: space)]
    }
  }

  public func compact(space: String, upTo position: Int64) async throws {
    try await compact(space: space, upTo: position, rowsAtATime: SpaceRows.step) {
      try Task.checkCancellation()
    }
  }

  /// Forgets about `count` tombstones, departures and notices in each step, a transaction, up to `position`.
  ///
  /// - Parameter pause: is called between two steps.
  package func compact(
    space: String, upTo position: Int64, rowsAtATime count: Int, pause: () async throws -> Void
  ) async throws {
    let lock = PostgresStatement(StorageSQL.lockedState, in: space)
    while true {
      let stop: Int64? = try await change(space, .upkeep, after: [lock]) { connection, _ in
        let found = try Self.stop(of: space, after: 0, upTo: position, rows: count, connection)
        var raise = PostgresStatement(StorageSQL.raiseFloor, in: space)
        raise.bind(found ?? position)
        var writes = [raise]
        for sql in StorageSQL.forgetting {
          var statement = PostgresStatement(sql, in: space)
          statement.bind(Int64(0))
          statement.bind(found ?? position)
          writes.append(statement)
        }
        return (found, writes)
      }
      if stop == nil { return }
      try await pause()
    }
  }

  public func statistics(of space: String) async throws -> SpaceStatistics {
    try await statistics(of: space, counting: SpaceStatistics.limit)
  }

  /// Counts the content of the space, at most `limit` rows of each kind.
  package func statistics(of space: String, counting limit: Int) async throws -> SpaceStatistics {
    try await look(.upkeep) { connection in
      var statements = [PostgresStatement(StorageSQL.state, in: space)]
      for sql in [StorageSQL.recordNumbers, StorageSQL.outcomeNumber, StorageSQL.deviceNumber] {
        var count = PostgresStatement(sql, in: space)
        count.bind(Int64(limit))
        statements.append(count)
      }
      let found = try connection.run(statements)
      let isThere = found[0].count > 0
      var numbers = SpaceStatistics(
        space: space, epoch: isThere ? found[0].text(0, 0) ?? "" : "", head: isThere ? found[0].int(0, 1) : 0,
        floor: isThere ? found[0].int(0, 2) : 0)
      numbers.records = Int(found[1].int(0, 0))
      numbers.tombstones = Int(found[1].int(0, 1))
      numbers.containers = Int(found[1].int(0, 2))
      numbers.bytes = found[1].int(0, 3)
      numbers.outcomes = Int(found[2].int(0, 0))
      numbers.devices = Int(found[3].int(0, 0))
      let rows = [numbers.records + numbers.tombstones, numbers.outcomes, Int(found[3].int(0, 1))]
      numbers.isPartial = rows.contains { $0 >= limit }
      return numbers
    }
  }

  public func users(of space: String) async throws -> [UserStatistics] {
    try await users(of: space, counting: SpaceStatistics.limit)
  }

  /// Like `users(of:)`, but reads at most `limit` records, and as many members.
  package func users(of space: String, counting limit: Int) async throws -> [UserStatistics] {
    try await look(.upkeep) { connection in
      var select = PostgresStatement(StorageSQL.users, in: space)
      select.bind(Int64(limit))
      let rows = try connection.run(select)
      return (0..<rows.count).map { row in
        UserStatistics(
          user: rows.text(row, 0) ?? "", records: Int(rows.int(row, 1)), lists: Int(rows.int(row, 2)))
      }
    }
  }

  public func remove(space: String) async throws {
    try await remove(space: space, rowsAtATime: SpaceRows.step) { try Task.checkCancellation() }
  }

  /// Deletes the space. Tables with more rows of it than `count` lose these in steps, each a transaction. PostgreSQL
  /// ends a statement that takes longer than a minute.
  ///
  /// - Parameter pause: is called between two steps.
  package func remove(
    space: String, rowsAtATime count: Int, pause: () async throws -> Void
  ) async throws {
    // To devices, what is gone between two steps is lost by another history, and not deleted.
    try await change(space, .upkeep) {
      var update = PostgresStatement(StorageSQL.startEpoch, in: space)
      update.bind(UUIDv7.make())
      return [update]
    }
    for rows in SpaceRows.all {
      let removal = PostgresStatement(rows.removal(of: count, from: "$1"), in: space)
      while try await changes(space, removal) { try await pause() }
    }
    try await change(space, .upkeep) { StorageSQL.removal.map { PostgresStatement($0, in: space) } }
  }

  /// Runs a statement with the space's lock. Returns true if it changed anything.
  private func changes(_ space: String, _ statement: PostgresStatement) async throws -> Bool {
    let lock = PostgresStatement(StorageSQL.lockedState, in: space)
    return try await change(space, .upkeep, after: [lock]) { connection, _ in
      let count = try connection.run(statement).changedCount
      return (count > 0, [])
    }
  }

  public func position(of space: String, markedBefore time: Int64) async throws -> Int64 {
    try await look { connection in
      var select = PostgresStatement(StorageSQL.marked, in: space)
      select.bind(time)
      let rows = try connection.run(select)
      return rows.count > 0 ? rows.int(0, 0) : 0
    }
  }

  public func acknowledge(
    space: String, device: String, _ progress: [DeviceProgress], at time: Int64
  ) async throws -> Bool {
    var select = PostgresStatement(StorageSQL.progress, in: space)
    select.bind(device)
    let reads = [PostgresStatement(StorageSQL.lockedState, in: space), select]
    return try await change(space, after: reads) { connection, found in
      let epoch = found[0].count > 0 ? found[0].text(0, 0) : nil
      var noted = progress.filter { $0.epoch == epoch }
      guard !noted.isEmpty else { return (false, []) }
      let known = Dictionary(
        (0..<found[1].count).map { (found[1].text($0, 0) ?? "", found[1].int($0, 1)) },
        uniquingKeysWith: { $1 })
      if let owner = DeviceName(device) {
        noted = try noted.fitting(known) {
          var count = PostgresStatement(StorageSQL.progressCount, in: space)
          count.bind(owner.first)
          count.bind(owner.end)
          count.bind(Int64(FixedLimits.devicePositions))
          return Int(try connection.run(count).int(0, 0))
        }
      }
      var writes = noted.map { entry in
        var insert = PostgresStatement(StorageSQL.acknowledge, in: space)
        insert.bind(device)
        insert.bind(entry.scope)
        insert.bind(entry.position)
        insert.bind(time)
        return insert
      }
      var due = PostgresStatement(StorageSQL.makeDueForDevice, in: space)
      due.bind(noted.isAhead(of: known))
      writes.append(due)
      return (true, writes)
    }
  }

  public func acknowledged(space: String, since time: Int64) async throws -> Int64? {
    try await look { connection in
      var select = PostgresStatement(StorageSQL.acknowledged, in: space)
      select.bind(time)
      let rows = try connection.run(select)
      return rows.isNull(0, 0) ? nil : rows.int(0, 0)
    }
  }
}
