import BothyStore
package import BothySyncService

/// The answers for an operator's page. A list and what belongs to its rows are two round trips, whatever its length.
extension PostgresServerStorage: ServerReports {
  package func spaces(_ query: SpaceQuery) async throws -> [SpaceLine] {
    try await look(.upkeep) { connection in
      var select = PostgresStatement(ReportSQL.list(query.order))
      select.bind(query.part)
      select.bind(query.mark?.number)
      select.bind(query.mark?.name ?? "")
      select.bind(Int64(max(0, query.limit)))
      return try Self.lines(try connection.run(select), connection)
    }
  }

  package func space(named name: String) async throws -> SpaceLine? {
    try await look { connection in
      try Self.lines(try connection.run(PostgresStatement(ReportSQL.space, in: name)), connection).first
    }
  }

  private static func lines(_ rows: PostgresResult, _ connection: PostgresConnection) throws -> [SpaceLine] {
    var lines = (0..<rows.count).map { row in
      SpaceLine(
        name: rows.text(row, 0) ?? "", epoch: rows.text(row, 1) ?? "", head: rows.int(row, 2),
        floor: rows.int(row, 3), due: rows.optionalInt(row, 4))
    }
    guard !lines.isEmpty else { return [] }
    let found = try connection.run(
      lines.flatMap { line in
        [ReportSQL.lastChange, ReportSQL.lastRecord].map { PostgresStatement($0, in: line.name) }
      })
    for index in lines.indices {
      lines[index].lastWrite = times(found[2 * index], found[2 * index + 1]).max()
    }
    return lines
  }

  private static func times(_ results: PostgresResult...) -> [Int64] {
    results.compactMap { $0.count > 0 ? $0.optionalInt(0, 0) : nil }
  }

  package func spaceCount() async throws -> Int {
    try await look { Int(try $0.run(PostgresStatement(ReportSQL.count)).int(0, 0)) }
  }

  package func devices(of space: String, after mark: DeviceMark?, limit: Int) async throws -> [DeviceLine] {
    try await look(.upkeep) { connection in
      var select = PostgresStatement(ReportSQL.devices, in: space)
      select.bind(mark?.position)
      select.bind(mark?.device ?? "")
      select.bind(Int64(max(0, limit)))
      let rows = try connection.run(select)
      var lines = (0..<rows.count).map { row in
        DeviceLine(
          device: rows.text(row, 0) ?? "", scopes: Int(rows.int(row, 1)), position: rows.int(row, 2),
          notedAt: rows.int(row, 3))
      }
      guard !lines.isEmpty else { return [] }
      let found = try connection.run(
        lines.flatMap { line in
          [ReportSQL.nextChange, ReportSQL.nextRecord].map { sql in
            var select = PostgresStatement(sql, in: space)
            select.bind(line.position)
            return select
          }
        })
      for index in lines.indices {
        lines[index].behindSince = Self.times(found[2 * index], found[2 * index + 1]).min()
      }
      return lines
    }
  }

  package func containers(of space: String, limit: Int) async throws -> [ContainerLine] {
    try await look(.upkeep) { connection in
      var select = PostgresStatement(ReportSQL.containers, in: space)
      select.bind(Int64(max(0, limit)))
      select.bind(Int64(SpaceStatistics.limit))
      let rows = try connection.run(select)
      return (0..<rows.count).map { row in
        ContainerLine(
          container: rows.text(row, 0) ?? "", records: Int(rows.int(row, 1)), position: rows.int(row, 2))
      }
    }
  }

  package func rejections(of space: String, limit: Int) async throws -> RejectionCounts {
    try await look(.upkeep) { connection in
      var select = PostgresStatement(ReportSQL.outcomes, in: space)
      select.bind(Int64(max(0, limit)))
      let rows = try connection.run(select)
      var found = RejectionCounts()
      for row in 0..<rows.count {
        found.read += 1
        if let text = rows.text(row, 0) { found.add(outcome: text, at: rows.int(row, 1)) }
      }
      return found
    }
  }

  package func webhook(_ name: String, limit: Int) async throws -> WebhookLine {
    try await look(.upkeep) { connection in
      var worst = PostgresStatement(ReportSQL.worst, in: name)
      worst.bind(Int64(max(0, limit)))
      let results = try connection.run([PostgresStatement(ReportSQL.webhook, in: name), worst])
      let (sums, rows) = (results[0], results[1])
      var found = WebhookLine(name: name)
      found.spaces = Int(sums.int(0, 1))
      found.untouched = Int(sums.int(0, 0)) - found.spaces
      found.behind = Int(sums.int(0, 2))
      found.failing = Int(sums.int(0, 3))
      found.deliveredAt = sums.optionalInt(0, 4) ?? 0
      found.worst = (0..<rows.count).map { Self.state(rows, $0) }
      return found
    }
  }
}
