import BothyStore
import GRDB

/// The answers for an operator's page. Each is one read on a connection for short reads.
extension SQLiteServerStorage: ServerReports {
  package func spaces(_ query: SpaceQuery) async throws -> [SpaceLine] {
    try await database.read { database in
      try Row.fetchAll(
        database, sql: Self.list(query.order),
        arguments: [query.part, query.mark?.number, query.mark?.name ?? "", max(0, query.limit)]
      )
      .map { try Self.line($0, in: database) }
    }
  }

  package func space(named name: String) async throws -> SpaceLine? {
    try await database.read { database in
      try Row.fetchOne(
        database, sql: "SELECT name, epoch, head, floor, due FROM space WHERE name = ?", arguments: [name]
      )
      .map { try Self.line($0, in: database) }
    }
  }

  /// Returns the statement for a page of spaces whose names contain `?1`, after the number `?2` and the name `?3`.
  private static func list(_ order: SpaceQuery.Order) -> String {
    let (condition, sorting) =
      switch order {
      case .name: ("name > ?3 AND ?2 IS ?2", "name")
      case .head: ("(?2 IS NULL OR head < ?2 OR (head = ?2 AND name > ?3))", "head DESC, name")
      case .due:
        ("due IS NOT NULL AND (?2 IS NULL OR due > ?2 OR (due = ?2 AND name > ?3))", "due, name")
      }
    return """
      SELECT name, epoch, head, floor, due FROM space
      WHERE (?1 = '' OR instr(name, ?1) > 0) AND \(condition) ORDER BY \(sorting) LIMIT ?4
      """
  }

  private static func line(_ row: Row, in database: Database) throws -> SpaceLine {
    var line = SpaceLine(name: row[0], epoch: row[1], head: row[2], floor: row[3], due: row[4])
    line.lastWrite = try Int64.fetchOne(
      database,
      sql: """
        SELECT max(time) FROM (
          SELECT * FROM (SELECT time FROM history WHERE space = ?1 ORDER BY position DESC LIMIT 1)
          UNION ALL
          SELECT * FROM (SELECT modified FROM record WHERE space = ?1 ORDER BY position DESC LIMIT 1))
        """, arguments: [line.name])
    return line
  }

  package func spaceCount() async throws -> Int {
    try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM space") ?? 0 }
  }

  package func devices(of space: String, after mark: DeviceMark?, limit: Int) async throws -> [DeviceLine] {
    try await database.read { database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT device, count(*), min(position) AS place, max(at) FROM device WHERE space = ?1 GROUP BY device
          HAVING ?2 IS NULL OR place > ?2 OR (place = ?2 AND device > ?3) ORDER BY place, device LIMIT ?4
          """, arguments: [space, mark?.position, mark?.device ?? "", max(0, limit)]
      )
      .map { row in
        var line = DeviceLine(device: row[0], scopes: row[1], position: row[2], notedAt: row[3])
        line.behindSince = try Int64.fetchOne(
          database,
          sql: """
            SELECT min(time) FROM (
              SELECT * FROM (
                SELECT time FROM history WHERE space = ?1 AND position > ?2 ORDER BY position LIMIT 1)
              UNION ALL
              SELECT * FROM (
                SELECT modified FROM record WHERE space = ?1 AND position > ?2 ORDER BY position LIMIT 1))
            """, arguments: [space, line.position])
        return line
      }
    }
  }

  package func containers(of space: String, limit: Int) async throws -> [ContainerLine] {
    try await database.read { database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT container, count(*) AS records, max(position)
          FROM (SELECT container, position, deleted FROM record WHERE space = ? LIMIT ?) WHERE deleted = 0
          GROUP BY container ORDER BY records DESC, container LIMIT ?
          """, arguments: [space, SpaceStatistics.limit, max(0, limit)]
      )
      .map { ContainerLine(container: $0[0], records: $0[1], position: $0[2]) }
    }
  }

  package func rejections(of space: String, limit: Int) async throws -> RejectionCounts {
    try await database.read { database in
      var found = RejectionCounts()
      let rows = try Row.fetchCursor(
        database,
        sql: """
          SELECT CASE WHEN instr(outcome, '"rejected"') > 0 THEN outcome END, at FROM operation WHERE space = ?
          LIMIT ?
          """, arguments: [space, max(0, limit)])
      while let row = try rows.next() {
        found.read += 1
        if let text: String = row[0] { found.add(outcome: text, at: row[1]) }
      }
      return found
    }
  }

  package func webhook(_ name: String, limit: Int) async throws -> WebhookLine {
    try await database.read { database in
      var found = WebhookLine(name: name)
      let row = try Row.fetchOne(
        database,
        sql: """
          SELECT count(*), count(webhook.hook), total(webhook.hook IS NOT NULL AND \(Self.isBehind)),
            total(webhook.failures > 0), max(webhook.delivered)
          FROM space LEFT JOIN webhook ON webhook.space = space.name AND webhook.hook = ?
          """, arguments: [name])
      if let row {
        found.spaces = row[1]
        found.untouched = (row[0] as Int) - found.spaces
        found.behind = Int(row[2] as Double)
        found.failing = Int(row[3] as Double)
        found.deliveredAt = row[4] ?? 0
      }
      found.worst = try Row.fetchAll(
        database,
        sql: """
          SELECT space.name, space.epoch, space.head, webhook.epoch, webhook.position, webhook.failures,
            webhook.delivered, webhook.holder, webhook.until
          FROM space JOIN webhook ON webhook.space = space.name AND webhook.hook = ?
          WHERE \(Self.isBehind) ORDER BY webhook.failures DESC, space.name LIMIT ?
          """, arguments: [name, max(0, limit)]
      )
      .map(Self.state)
      return found
    }
  }

  /// The condition of `WebhookState.isBehind`.
  private static let isBehind = """
    CASE WHEN webhook.epoch = '' AND webhook.position = 0 THEN space.head > 0
      ELSE webhook.epoch <> space.epoch OR webhook.position < space.head END
    """
}
