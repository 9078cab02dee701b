import BothyStore
import GRDB

/// The progress of webhooks.
extension SQLiteServerStorage: FeedStorage {
  static let webhookTables = """
    CREATE TABLE IF NOT EXISTS webhook (
      space TEXT NOT NULL, hook TEXT NOT NULL, epoch TEXT NOT NULL, position INTEGER NOT NULL,
      holder TEXT NOT NULL, until INTEGER NOT NULL, failures INTEGER NOT NULL, delivered INTEGER NOT NULL,
      PRIMARY KEY (space, hook)
    ) STRICT, WITHOUT ROWID;
    """

  /// Returns the heads of at most `limit` spaces after a name, by name. Leaves out those without any change.
  ///
  /// Reads as many rows, and those that it leaves out.
  public func heads(after name: String, limit: Int) async throws -> [SpaceHead] {
    try await database.read { database in
      let rows = try Row.fetchAll(
        database,
        sql: "SELECT name, epoch, head FROM space WHERE name > ? AND head > 0 ORDER BY name LIMIT ?",
        arguments: [name, limit])
      return rows.map(Self.head)
    }
  }

  /// Returns the names of the webhooks with progress in any space, by name. Reads the progress of all spaces.
  public func webhooks() async throws -> [String] {
    try await database.read { database in
      try String.fetchAll(database, sql: "SELECT DISTINCT hook FROM webhook ORDER BY hook")
    }
  }

  /// Returns the state of a webhook in a space, or `nil` for a missing space. Costs two look-ups.
  ///
  /// A webhook without progress there has the position `start`.
  public func state(of hook: String, in space: String) async throws -> WebhookState? {
    try await database.read { database in
      try Row.fetchOne(
        database, sql: Self.states("space.name = ?2"), arguments: [hook, space, 1]
      ).map(Self.state)
    }
  }

  /// Returns the states of a webhook in at most `limit` spaces after a name, by name. Reads as many rows, and a look-up
  /// each.
  ///
  /// Spaces in which it has delivered everything, or nothing yet, are among them.
  public func states(of hook: String, after name: String, limit: Int) async throws -> [WebhookState] {
    try await database.read { database in
      try Row.fetchAll(
        database, sql: Self.states("space.name > ?2"), arguments: [hook, name, limit]
      ).map(Self.state)
    }
  }

  /// Claims a space for `holder` until a time, unless another holder has a claim at `now`.
  ///
  /// Returns the progress, or `nil` if another has it. A claim of the same holder is renewed. Costs one transaction,
  /// which waits for the disk.
  public func claim(
    _ hook: String, in space: String, for holder: String, until end: Int64, at now: Int64
  ) async throws -> WebhookProgress? {
    try await change { database in
      let rows = try Row.fetchAll(
        database,
        sql: """
          INSERT INTO webhook VALUES (?1, ?2, '', 0, ?3, ?4, 0, 0)
          ON CONFLICT (space, hook) DO UPDATE SET holder = ?3, until = ?4
            WHERE holder = ?3 OR until <= ?5 OR until > ?6
          RETURNING epoch, position, failures, delivered
          """, arguments: [space, hook, holder, end, now, now.addingClamped(WebhookState.longestClaim)])
      return rows.first.map { Self.progress($0, from: 0) }
    }
  }

  /// Stores progress and the end of the claim; 0 ends it. Returns false, and changes nothing, if the claim is
  /// another's.
  ///
  /// A claim whose time is over is still the holder's, until another claims the space. Costs one transaction.
  public func note(
    _ progress: WebhookProgress, of hook: String, in space: String, by holder: String, until end: Int64
  ) async throws -> Bool {
    try await change { database in
      try database.execute(
        sql: """
          UPDATE webhook SET epoch = ?, position = ?, failures = ?, delivered = ?, until = ?
          WHERE space = ? AND hook = ? AND holder = ?
          """,
        arguments: [
          progress.position.epoch, progress.position.position, progress.failures, progress.deliveredAt, end,
          space, hook, holder,
        ])
      return database.changesCount > 0
    }
  }

  /// Sets where a webhook continues, for operators. Ends any claim, so that a running delivery can't note its progress.
  ///
  /// The number of failures and the time of the last delivery are 0 then.
  public func place(_ hook: String, in space: String, at position: FeedPosition) async throws {
    try await change { database in
      try database.execute(
        sql: "INSERT OR REPLACE INTO webhook VALUES (?, ?, ?, ?, '', 0, 0, 0)",
        arguments: [space, hook, position.epoch, position.position])
    }
  }

  /// Returns the statement for the states of the webhook `?1` in at most `?3` of the spaces of a condition.
  private static func states(_ condition: String) -> String {
    """
    SELECT space.name, space.epoch, space.head, webhook.epoch, webhook.position, webhook.failures,
      webhook.delivered, webhook.holder, webhook.until
    FROM space LEFT JOIN webhook ON webhook.space = space.name AND webhook.hook = ?1
    WHERE \(condition) ORDER BY space.name LIMIT ?3
    """
  }

  private static func head(_ row: Row) -> SpaceHead {
    SpaceHead(space: row[0], head: FeedPosition(epoch: row[1], position: row[2]))
  }

  private static func progress(_ row: Row, from column: Int) -> WebhookProgress {
    WebhookProgress(
      position: FeedPosition(epoch: row[column] ?? "", position: row[column + 1] ?? 0),
      failures: row[column + 2] ?? 0, deliveredAt: row[column + 3] ?? 0)
  }

  static func state(_ row: Row) -> WebhookState {
    WebhookState(
      head: head(row), progress: progress(row, from: 3), holder: row[7] ?? "", heldUntil: row[8] ?? 0)
  }
}
