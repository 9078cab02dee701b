import BothyStore

/// The tables that sync keeps beside the records, in the same file.
///
/// - `bothy_outbox`: one row for each record with pending work. It is clustered by (type, id), so ids that rise with
///   time are appended. `together` names the transaction whose changes wait in the row. `sent_together` names the one
///   that was sent and whose outcome is unknown. `awaiting`, `awaited` and `awaited_in` belong to changes that readers
///   don't see yet, see `OutboxQueue+Awaited`, and to those with others stacked on them. `former` has what the changes
///   replaced, see `FormerValues`. `retry_at` is the time before which it isn't sent, with two numbers of another meaning,
///   see `OutboxQueue.retryTime(_:)`.
/// - `bothy_later`: changes that are stacked on others of their record, with the columns of the outbox, see
///   `OutboxQueue+Later`.
/// - `bothy_doubt`: saves without an answer that are undone here, with the columns of the outbox, see `OutboxQueue+Doubt`.
/// - `bothy_cursor`: the position to which each scope was pulled.
/// - `bothy_stage`: pages of a pull that isn't complete.
/// - `bothy_unknown`: records of types that this schema doesn't know, kept for a later one.
/// - `bothy_unreadable`: records that the server has and that can't be read here, see `UnreadableTable`.
/// - `bothy_refetch`: records to request from the server again, see `Refetch`.
/// - `bothy_given`: records that a server gets back, see `GivenBack`.
/// - `bothy_blob`: the state of each blob, see `BlobTable`.
/// - `bothy_coverage`: the queries that the server has answered in full, with the time.
/// - `bothy_stale`: answers to saves that no row shows, with the versions of the rows, or none without a row.
/// - `bothy_sharing`: the audience of each record, as far as the server reported it.
/// - `bothy_sync_log`: the results of past syncs, see `SyncHistoryTable`.
/// - `bothy_replaced`: content that newer versions replaced, see `ReplacedFields`.
/// - `bothy_journal`: the ends of local writes, see `Journal`.
/// - `bothy_sync`: device id, clock offset and other single values.
enum OutboxTables {
  private static let columns = """
    type TEXT NOT NULL, id TEXT NOT NULL, kind INTEGER NOT NULL, revision INTEGER NOT NULL,
    edited INTEGER NOT NULL, state INTEGER NOT NULL, attempts INTEGER NOT NULL, retry_at INTEGER NOT NULL,
    base_version TEXT, base TEXT, operation TEXT, sent_revision INTEGER, sent TEXT, remote_version TEXT,
    reason TEXT, last TEXT, container TEXT, leaving INTEGER NOT NULL DEFAULT 0,
    edited_unsure INTEGER NOT NULL DEFAULT 0, share TEXT, together TEXT, sent_together TEXT,
    awaiting INTEGER NOT NULL DEFAULT 0, awaited TEXT, awaited_in TEXT, base_created INTEGER,
    base_modified INTEGER, base_owner TEXT, former TEXT
    """

  /// The names that columns had in earlier versions, by the present ones. Files and documents of pending changes may have
  /// them.
  static let formerColumns = ["remote_version": "shadow"]

  /// Returns the present name of a column that may have its former one. A document keeps former names until it is
  /// inserted, because its memory is made of them.
  static func presentName(_ column: String) -> String {
    formerColumns.first { $0.value == column }?.key ?? column
  }

  static let all =
    [
      "CREATE TABLE IF NOT EXISTS bothy_outbox (\(columns), PRIMARY KEY (type, id)) STRICT, WITHOUT ROWID",
      "CREATE TABLE IF NOT EXISTS bothy_later (\(columns), PRIMARY KEY (type, id, revision)) STRICT, WITHOUT ROWID",
      "CREATE TABLE IF NOT EXISTS bothy_doubt (\(columns), PRIMARY KEY (type, id)) STRICT, WITHOUT ROWID",
      """
      CREATE INDEX IF NOT EXISTS bothy_outbox_ready ON bothy_outbox (type, kind, retry_at, id)
      WHERE state = 0 AND operation IS NULL
      """,
      """
      CREATE INDEX IF NOT EXISTS bothy_outbox_unsent ON bothy_outbox (type, id)
      WHERE base_version = '\(OutboxQueue.unsentVersion)'
      """,
      """
      CREATE INDEX IF NOT EXISTS bothy_later_together ON bothy_later (together) WHERE together IS NOT NULL
      """,
      """
      CREATE INDEX IF NOT EXISTS bothy_later_sent_together ON bothy_later (sent_together)
      WHERE sent_together IS NOT NULL
      """,
      """
      CREATE INDEX IF NOT EXISTS bothy_outbox_open ON bothy_outbox (operation) WHERE operation IS NOT NULL
      """,
      """
      CREATE INDEX IF NOT EXISTS bothy_later_open ON bothy_later (operation) WHERE operation IS NOT NULL
      """,
      """
      CREATE INDEX IF NOT EXISTS bothy_outbox_together ON bothy_outbox (together) WHERE together IS NOT NULL
      """,
      """
      CREATE INDEX IF NOT EXISTS bothy_outbox_group ON bothy_outbox (together)
      WHERE together IS NOT NULL AND retry_at < \(OutboxQueue.waitingForBlobs)
      """,
      """
      CREATE INDEX IF NOT EXISTS bothy_outbox_waiting ON bothy_outbox (type, id)
      WHERE retry_at = \(OutboxQueue.waitingForBlobs)
      """,
      """
      CREATE INDEX IF NOT EXISTS bothy_outbox_refused ON bothy_outbox (together) WHERE reason IS NOT NULL
      """,
      """
      CREATE INDEX IF NOT EXISTS bothy_outbox_sent_together ON bothy_outbox (sent_together)
      WHERE sent_together IS NOT NULL
      """,
      """
      CREATE TABLE IF NOT EXISTS bothy_cursor (
        container TEXT NOT NULL, children INTEGER NOT NULL, cursor TEXT, staged TEXT, resetting INTEGER NOT NULL,
        complete INTEGER NOT NULL, pulled_at INTEGER, generation INTEGER NOT NULL, PRIMARY KEY (container, children)) STRICT, WITHOUT ROWID
      """,
      """
      CREATE TABLE IF NOT EXISTS bothy_stage (
        container TEXT NOT NULL, children INTEGER NOT NULL, page INTEGER NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (container, children, page)) STRICT
      """,
      """
      CREATE TABLE IF NOT EXISTS bothy_unknown (
        type TEXT NOT NULL, id TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (type, id)) STRICT, WITHOUT ROWID
      """,
      """
      CREATE TABLE IF NOT EXISTS bothy_coverage (
        type TEXT NOT NULL, query TEXT NOT NULL, asked_at INTEGER NOT NULL, PRIMARY KEY (type, query)
        ) STRICT, WITHOUT ROWID
      """,
      """
      CREATE TABLE IF NOT EXISTS bothy_stale (
        type TEXT NOT NULL, id TEXT NOT NULL, version TEXT NOT NULL, told TEXT, PRIMARY KEY (type, id)
        ) STRICT, WITHOUT ROWID
      """,
      """
      CREATE TABLE IF NOT EXISTS bothy_sharing (
        type TEXT NOT NULL, id TEXT NOT NULL, sharing TEXT NOT NULL, PRIMARY KEY (type, id)) STRICT, WITHOUT ROWID
      """,
      "CREATE TABLE IF NOT EXISTS bothy_sync (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
      UnreadableTable.sql, Refetch.sql, GivenBack.sql, BlobTable.sql, SyncHistoryTable.sql,
    ] + Journal.tables + ReplacedFields.tables
}
