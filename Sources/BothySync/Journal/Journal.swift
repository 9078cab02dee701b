import BothyStore
import GRDB

/// The durable list of decisions about local writes, newest last. A decision is written in the transaction that makes
/// it, so that neither a relaunch nor a late listener misses a verdict.
///
/// A row represents the revisions of one outbox entry up to its own. They are consecutive, and each entry begins at a
/// random one, so a revision slightly below a row's belongs to it. `share` is 1 for rows that lost something and 0 for
/// the others. `ordinal` counts the rows of a share and `extent` its bytes, and both rise without end. So the oldest
/// row and the newest give the size of a share.
enum Journal {
  static let tables = [
    """
    CREATE TABLE IF NOT EXISTS bothy_journal (
      number INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER, verdict INTEGER NOT NULL,
      at INTEGER NOT NULL, version TEXT, reason TEXT, lost TEXT, cause INTEGER NOT NULL DEFAULT 0,
      kind INTEGER NOT NULL DEFAULT 1, names TEXT, base TEXT, now TEXT, now_at INTEGER, place TEXT,
      attempts INTEGER NOT NULL DEFAULT 0, retry_at INTEGER, restored INTEGER, share INTEGER NOT NULL DEFAULT 0,
      ordinal INTEGER NOT NULL DEFAULT 0, extent INTEGER NOT NULL DEFAULT 0, policy TEXT) STRICT
    """,
    "CREATE INDEX IF NOT EXISTS bothy_journal_record ON bothy_journal (type, id)",
    "CREATE INDEX IF NOT EXISTS bothy_journal_share ON bothy_journal (share, ordinal)",
    // Rows from before shares existed.
    "UPDATE bothy_journal SET share = verdict <> 0, ordinal = number WHERE share = 0 AND ordinal = 0",
  ]

  /// The most by which a row's revision exceeds the first one of its entry.
  static let span: Int64 = 1 << 20

  /// The raw values are those of the file.
  enum Verdict: Int64 {
    case accepted = 0
    case merged = 1
    case overwritten = 2
    case rejected = 3
    /// A merge was decided, and the server hasn't accepted it yet.
    case merging = 4
    /// Rejected, and still pending.
    case refused = 5
    /// The server doesn't decide about it.
    case withdrawn = 6

    /// SQL of the verdicts that aren't final.
    static let open = "(4, 5)"
  }

  struct Row {
    var record: RecordID
    var revision: Int64?
    var kind = ChangeKind.update
    var verdict: Verdict
    var cause: JournalEntry.Cause
    var version: String?
    var reason: Rejection?
    var loss: Loss?
    var attempts = 0
    var retryAt: Int64?
    var policy: String?

    init(
      _ record: RecordID, _ kind: ChangeKind, _ verdict: Verdict, _ cause: JournalEntry.Cause,
      revision: Int64? = nil
    ) {
      self.record = record
      self.kind = kind
      self.verdict = verdict
      self.cause = cause
      self.revision = revision
    }

    /// True if the row belongs to the share of those that lost something.
    fileprivate var isLasting: Bool {
      loss != nil || [.overwritten, .rejected, .merging].contains(verdict)
    }
  }

  /// Proof that the journal has a row. Without it no entry of the outbox is removed.
  struct Noted { fileprivate init() {} }

  private static let insertSQL = """
    INSERT INTO bothy_journal (type, id, revision, verdict, at, version, reason, lost, cause, kind, names, base, now,
      now_at, place, attempts, retry_at, share, policy, number, ordinal, extent)
    VALUES (?1, ?2, ?3, CASE WHEN ?4 = 0 AND EXISTS (
        SELECT 1 FROM bothy_journal WHERE type = ?1 AND id = ?2 AND verdict = 4
          AND revision BETWEEN ?3 - \(span) AND ?3)
      THEN 1 ELSE ?4 END, ?5, ?6, ?7, ?8,
      ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?20, 1 + (\(endSQL)),
      1 + coalesce((SELECT ordinal FROM bothy_journal WHERE share = ?18 ORDER BY ordinal DESC LIMIT 1), 0),
      ?19 + coalesce((SELECT extent FROM bothy_journal WHERE share = ?18 ORDER BY ordinal DESC LIMIT 1), 0))
    """

  /// Notes a decision about an entry.
  ///
  /// - Parameters:
  ///   - loss: the content that the decision takes.
  ///   - policy: the name of the merge policy that decided, or `nil` if none did.
  ///   - time: the time of the decision, or `nil` for that of the transaction.
  @discardableResult
  static func note(
    _ entry: Outbox.Entry, _ verdict: Verdict, _ cause: JournalEntry.Cause, version: String? = nil,
    reason: Rejection? = nil, loss: Loss? = nil, policy: String? = nil, at time: Int64? = nil,
    in transaction: WriteTransaction
  ) throws -> Noted {
    var row = Row(entry.record, entry.kind, verdict, cause, revision: entry.revision)
    (row.version, row.reason, row.loss, row.policy) = (version, reason, loss, policy)
    return try note(row, at: time, in: transaction)
  }

  /// Adds a row. An accepted write counts as merged if a merge of it was decided before.
  @discardableResult
  static func note(_ row: Row, at time: Int64? = nil, in transaction: WriteTransaction) throws -> Noted {
    let (loss, reason) = (row.loss, row.reason?.json)
    let size = [loss?.local, loss?.base, loss?.now].reduce(64 + (reason?.utf8.count ?? 0)) {
      $0 + ($1?.bytes.count ?? 0)
    }
    try transaction.run(
      insertSQL, row.record, row.revision, row.verdict.rawValue, time ?? transaction.time, row.version,
      reason,
      loss?.local, row.cause.rawValue, row.kind.number, loss?.namesJSON, loss?.base, loss?.now,
      loss?.nowTime, loss?.place, row.attempts, row.retryAt, row.isLasting, size, row.policy)
    transaction.touchBookkeeping()
    return Noted()
  }

  // MARK: bounds

  private static let endKey = "journalEnd"

  /// SQL of the highest number that a row ever had.
  static let endSQL = """
    SELECT max(coalesce((SELECT max(number) FROM bothy_journal), 0), coalesce((
      SELECT CAST(value AS INTEGER) FROM bothy_sync WHERE key = '\(endKey)'), 0))
    """

  /// Returns the highest number that a row ever had, or 0.
  static func end(in transaction: ReadTransaction) throws -> Int64 {
    try transaction.first(endSQL) { $0.int(at: 0) } ?? 0
  }

  /// Stores the number of the newest row, so that numbers continue after it when it is removed.
  private static func keepEnd(in transaction: WriteTransaction) throws {
    try SyncValues.set(endKey, String(end(in: transaction)), in: transaction)
  }

  /// The most rows of a share that one transaction looks at.
  private static let step: Int64 = 2000

  /// Removes the oldest rows beyond the limits. Runs once in a transaction that added rows. Costs a look at the oldest
  /// and the newest row of each share if nothing is removed, and otherwise the removal of 2,000 rows of a share at
  /// most.
  static func trim(to limits: SyncOptions.JournalLimits, at now: Int64, in transaction: WriteTransaction)
    throws
  {
    let begin = limits.begin(at: now)
    for share in [Int64(0), 1] {
      let rows = Int64(clamping: share == 0 ? limits.acceptedRows : limits.rows)
      guard
        let newest = try transaction.first(
          "SELECT ordinal, extent FROM bothy_journal WHERE share = ?1 ORDER BY ordinal DESC LIMIT 1", share,
          read: { (ordinal: $0.int(at: 0), extent: $0.int(at: 1)) })
      else { continue }
      let old = try PreparedStatement(
        "SELECT ordinal, extent, at FROM bothy_journal WHERE share = ?1 ORDER BY ordinal LIMIT ?2",
        in: transaction.database)
      old.bind(share, at: 1)
      old.bind(step, at: 2)
      var last: Int64?
      while try old.step() {
        let ordinal = old.int(at: 0)
        let isOver =
          newest.ordinal - ordinal >= rows || newest.extent - old.int(at: 1) >= Int64(clamping: limits.bytes)
        guard isOver || old.int(at: 2) < begin else { break }
        last = ordinal
      }
      old.reset()
      guard let last else { continue }
      if last == newest.ordinal { try keepEnd(in: transaction) }
      try transaction.run("DELETE FROM bothy_journal WHERE share = ?1 AND ordinal <= ?2", share, last)
    }
  }

  static func clear(in transaction: WriteTransaction) throws {
    try keepEnd(in: transaction)
    try transaction.run("DELETE FROM bothy_journal")
    transaction.touchBookkeeping()
  }

  /// SQL that removes the content of a row.
  private static let emptied = "lost = NULL, names = NULL, base = NULL, now = NULL, place = NULL"

  /// Removes the content of a record. The verdicts on its writes stay known.
  static func forgetContent(of id: RecordID, in transaction: WriteTransaction) throws {
    try transaction.run(
      "UPDATE bothy_journal SET \(emptied) WHERE type = ? AND id = ? AND lost IS NOT NULL", id)
  }

  // MARK: migrations

  /// Notes that all pending changes of a dropped type have ended, and removes the content of the type.
  static func drop(type: String, in database: Database) throws {
    try database.execute(sql: "UPDATE bothy_journal SET \(emptied) WHERE type = ?", arguments: [type])
    try database.execute(
      sql: """
        INSERT INTO bothy_journal (type, id, revision, verdict, cause, kind, at, number, ordinal, extent)
        SELECT type, id, revision, ?2, ?3, kind, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER),
          (\(endSQL)) + row_number() OVER (),
          coalesce((SELECT max(ordinal) FROM bothy_journal WHERE share = 0), 0) + row_number() OVER (),
          coalesce((SELECT max(extent) FROM bothy_journal WHERE share = 0), 0)
        FROM (SELECT type, id, revision, kind FROM bothy_outbox
          UNION ALL SELECT type, id, revision, kind FROM bothy_later) WHERE type = ?1
        """,
      arguments: [type, Verdict.withdrawn.rawValue, JournalEntry.Cause.typeDropped.rawValue])
  }

  /// Applies a change of fields to the content of a type.
  ///
  /// - Parameter ofValues: true if it changes values and not names. A field whose value is removed no longer counts as
  ///   lost.
  static func rewrite(
    _ type: String, in transaction: ReadTransaction, ofValues: Bool = false,
    _ change: (inout [String: JSONValue]) -> Void
  ) throws {
    let rows = try transaction.rows(
      "SELECT number, lost, base, now, names FROM bothy_journal WHERE type = ? AND lost IS NOT NULL", type
    ) { (number: $0.int(at: 0), documents: (1...3).map($0.document), names: $0.text(at: 4)) }
    for row in rows {
      var gone: Set<String> = []
      let documents = try row.documents.map { document -> FieldsDocument? in
        guard let before = try document?.members() else { return nil }
        var members = before
        change(&members)
        gone.formUnion(before.keys.filter { members[$0] == nil })
        return FieldsDocument(members)
      }
      var named = Dictionary(
        Loss.names(row.names).map { ($0, JSONValue.bool(true)) }, uniquingKeysWith: { $1 })
      if ofValues { named = named.filter { !gone.contains($0.key) } } else { change(&named) }
      try transaction.run(
        "UPDATE bothy_journal SET lost = ?2, base = ?3, now = ?4, names = ?5 WHERE number = ?1", row.number,
        documents[0], documents[1], documents[2], Loss.json(named.keys.sorted()))
    }
  }
}
