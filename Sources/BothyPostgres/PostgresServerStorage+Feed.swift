import BothyStore
public import BothySyncService

/// The progress of webhooks. No statement needs the lock of a space, so deliveries and pushes don't wait for each other.
extension PostgresServerStorage: FeedStorage {
  public func heads(after name: String, limit: Int) async throws -> [SpaceHead] {
    try await look { connection in
      var select = PostgresStatement(FeedSQL.heads, in: name)
      select.bind(Int64(limit))
      let rows = try connection.run(select)
      return (0..<rows.count).map { Self.head(rows, $0) }
    }
  }

  public func webhooks() async throws -> [String] {
    try await look { connection in
      let rows = try connection.run(PostgresStatement(FeedSQL.webhooks))
      return (0..<rows.count).compactMap { rows.text($0, 0) }
    }
  }

  public func state(of hook: String, in space: String) async throws -> WebhookState? {
    try await states(FeedSQL.state, of: hook, space, limit: 1).first
  }

  public func states(of hook: String, after name: String, limit: Int) async throws -> [WebhookState] {
    try await states(FeedSQL.statesAfter, of: hook, name, limit: limit)
  }

  public func claim(
    _ hook: String, in space: String, for holder: String, until end: Int64, at now: Int64
  ) async throws -> WebhookProgress? {
    var claim = PostgresStatement(FeedSQL.claim, in: space)
    claim.bind(hook)
    claim.bind(holder)
    claim.bind(end)
    claim.bind(now)
    claim.bind(now.addingClamped(WebhookState.longestClaim))
    return try await act(claim) { $0.count > 0 ? Self.progress($0, 0, from: 0) : nil }
  }

  public func note(
    _ progress: WebhookProgress, of hook: String, in space: String, by holder: String, until end: Int64
  ) async throws -> Bool {
    var note = PostgresStatement(FeedSQL.note, in: space)
    note.bind(hook)
    note.bind(holder)
    note.bind(progress.position.epoch)
    note.bind(progress.position.position)
    note.bind(Int64(progress.failures))
    note.bind(progress.deliveredAt)
    note.bind(end)
    return try await act(note) { $0.count > 0 }
  }

  public func place(_ hook: String, in space: String, at position: FeedPosition) async throws {
    var place = PostgresStatement(FeedSQL.place, in: space)
    place.bind(hook)
    place.bind(position.epoch)
    place.bind(position.position)
    try await act(place) { _ in }
  }

  private func states(
    _ sql: String, of hook: String, _ name: String, limit: Int
  ) async throws -> [WebhookState] {
    try await look { connection in
      var select = PostgresStatement(sql, in: name)
      select.bind(hook)
      select.bind(Int64(limit))
      let rows = try connection.run(select)
      return (0..<rows.count).map { Self.state(rows, $0) }
    }
  }

  static func state(_ rows: PostgresResult, _ row: Int) -> WebhookState {
    let isHeld = !rows.isNull(row, 8)
    return WebhookState(
      head: head(rows, row), progress: isHeld ? progress(rows, row, from: 3) : WebhookProgress(),
      holder: rows.text(row, 7) ?? "", heldUntil: isHeld ? rows.int(row, 8) : 0)
  }

  private static func head(_ rows: PostgresResult, _ row: Int) -> SpaceHead {
    SpaceHead(
      space: rows.text(row, 0) ?? "",
      head: FeedPosition(epoch: rows.text(row, 1) ?? "", position: rows.int(row, 2)))
  }

  private static func progress(_ rows: PostgresResult, _ row: Int, from column: Int32) -> WebhookProgress {
    WebhookProgress(
      position: FeedPosition(epoch: rows.text(row, column) ?? "", position: rows.int(row, column + 1)),
      failures: Int(rows.int(row, column + 2)), deliveredAt: rows.int(row, column + 3))
  }
}
