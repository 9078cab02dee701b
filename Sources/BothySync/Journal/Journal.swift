import BothyStore
import GRDB

/// The durable list of decisions about local writes, newest last. A decision is written in the transaction that makes
/// it, so that neither a relaunch nor a late listener misses a verdict.
///
/// A row represents the revisions of one outbox entry up to its own. They are consecutive, and each entry begins at a
/// random one, so a revision slightly below a row's belongs to it. `since` is the first of them if an earlier change of
/// the record had another end. It stays when the row of that end is deleted. `share` is 1 for rows that lost something and 0 for
/// the others. `ordinal` counts the rows of a share and `extent` its bytes, and both rise without end. So the oldest
/// row and the newest give the size of a share.
///
/// `together` names the transaction of a lost change that was part of one. It is empty if the limits, a purge or the drop
/// of a type have removed a part of the transaction. `known_at` is the server's time when the age of a row was first
/// judged, and `NULL` until then.
enum Journal {
  static let tables = [
    """
    CREATE TABLE IF NOT EXISTS bothy_journal (
      number INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER, verdict INTEGER NOT NULL,
      at INTEGER NOT NULL, version TEXT, reason TEXT, lost TEXT, cause INTEGER NOT NULL DEFAULT 0,
      kind INTEGER NOT NULL DEFAULT 1, names TEXT, base TEXT, now TEXT, now_at INTEGER, place TEXT,
      attempts INTEGER NOT NULL DEFAULT 0, retry_at INTEGER, restored INTEGER, share INTEGER NOT NULL DEFAULT 0,
      ordinal INTEGER NOT NULL DEFAULT 0, extent INTEGER NOT NULL DEFAULT 0, policy TEXT, known_at INTEGER,
      together TEXT, since INTEGER) STRICT
    """,
    "CREATE INDEX IF NOT EXISTS bothy_journal_record ON bothy_journal (type, id)",
    "CREATE INDEX IF NOT EXISTS bothy_journal_share ON bothy_journal (share, ordinal)",
    "CREATE INDEX IF NOT EXISTS bothy_journal_ageless ON bothy_journal (number) WHERE known_at IS NULL",
    "CREATE INDEX IF NOT EXISTS bothy_journal_tied ON bothy_journal (together) WHERE together IS NOT NULL",
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
    /// Sent and undone here, because no answer came. The server may have made it, see `OutboxQueue+Doubt`.
    case unanswered = 7

    /// SQL of the verdicts that aren't final.
    static let open = "(4, 5, 7)"

    var isFinal: Bool { self != .merging && self != .refused && self != .unanswered }

    func outcome(_ version: String?, _ reason: Rejection?) -> SaveOutcome {
      switch self {
      case .accepted: .accepted(version: version ?? "")
      case .merged, .merging: .merged(version: version ?? "")
      case .overwritten: .overwritten(version: version ?? "")
      case .rejected, .refused: reason.map { .rejected($0) } ?? .unknown
      case .withdrawn: .withdrawn
      case .unanswered: .unknown
      }
    }
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
    /// The transaction that the change belonged to, or `nil` for a change of its own.
    var group: String?

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

    /// The transaction whose lost changes are restored together.
    fileprivate var tie: String? { loss == nil ? nil : group }

    /// True if the row belongs to the share of those that lost something.
    fileprivate var isLasting: Bool {
      loss != nil || [.overwritten, .rejected, .merging].contains(verdict)
    }
  }

  /// Proof that the journal has a row. Without it no entry of the outbox is removed.
  struct Noted { fileprivate init() {} }

  private static let isEarlier = "type = ?1 AND id = ?2 AND revision BETWEEN ?3 - \(span) AND ?3 - 1"

  /// SQL of the first revision that a new row represents, or null if no end of an earlier one is known.
  private static let sinceSQL = """
    SELECT max(revision) + 1 FROM (
      SELECT revision FROM bothy_journal WHERE \(isEarlier) AND verdict NOT IN \(Verdict.open)
      UNION ALL SELECT revision FROM bothy_outbox WHERE \(isEarlier)
      UNION ALL SELECT revision FROM bothy_later WHERE \(isEarlier))
    """

  private static let insertSQL = """
    INSERT INTO bothy_journal (type, id, revision, verdict, at, version, reason, lost, cause, kind, names, base, now,
      now_at, place, attempts, retry_at, share, policy, together, since, number, ordinal, extent)
    VALUES (?1, ?2, ?3, CASE WHEN ?4 = 0 AND EXISTS (
        SELECT 1 FROM bothy_journal WHERE type = ?1 AND id = ?2 AND verdict = 4
          AND revision BETWEEN coalesce((\(sinceSQL)), ?3 - \(span)) AND ?3)
      THEN 1 ELSE ?4 END, ?5, ?6, ?7, ?8,
      ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?20, ?21, (\(sinceSQL)), 1 + (\(endSQL)),
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
    var row = Row(entry.id, entry.change, verdict, cause, revision: entry.revision)
    (row.version, row.reason, row.loss, row.policy) = (version, reason, loss, policy)
    row.group = entry.group ?? entry.sentGroup
    return try note(row, at: time, in: transaction)
  }

  /// Adds a row. An accepted write counts as merged if a merge of it was decided before. One of a change beneath it says
  /// nothing about it.
  @discardableResult
  static func note(_ row: Row, at time: Int64? = nil, in transaction: WriteTransaction) throws -> Noted {
    let (loss, reason) = (row.loss, row.reason?.json)
    let size = [loss?.local, loss?.base, loss?.now].reduce(64 + (reason?.utf8.count ?? 0)) {
      $0 + ($1?.bytes.count ?? 0)
    }
    try transaction.run(
      insertSQL, row.record, row.revision, row.verdict.rawValue, time ?? transaction.time, row.version,
      reason,
      loss?.local, row.cause.rawValue, row.kind.number, loss.map { Loss.json($0.names) }, loss?.base,
      loss?.now,
      loss?.nowTime, loss?.place, row.attempts, row.retryAt, row.isLasting, size, row.policy, row.tie)
    transaction.touchBookkeeping()
    return Noted()
  }

  // MARK: removal

  /// SQL that removes the content of a row.
  private static let emptied = "lost = NULL, names = NULL, base = NULL, now = NULL, place = NULL"

  /// Returns SQL that marks what is left of transactions whose rows that meet `condition` lose their content.
  private static func cutting(_ condition: String) -> String {
    """
    UPDATE bothy_journal SET together = '' WHERE together IN (
      SELECT together FROM bothy_journal WHERE \(condition) AND lost IS NOT NULL AND together > '')
    """
  }

  /// Removes the content of a record, and marks what is left of its transactions. The verdicts on its writes stay known.
  static func forgetContent(of id: RecordID, in transaction: WriteTransaction) throws {
    try transaction.run(cutting("type = ? AND id = ?"), id)
    try transaction.run("UPDATE bothy_journal SET \(emptied) WHERE type = ? AND id = ?", id)
  }

  /// Marks what is left of a transaction of which a part is given up.
  static func cut(_ group: String, in transaction: WriteTransaction) throws {
    try transaction.run("UPDATE bothy_journal SET together = '' WHERE together = ?", group)
  }

  // MARK: migrations

  /// Notes that all pending changes of a dropped type have ended, and removes the content of the type.
  static func drop(type: String, in database: Database) throws {
    try database.execute(sql: cutting("type = ?"), arguments: [type])
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
      "SELECT number, lost, base, now, names FROM bothy_journal WHERE type = ? AND ifnull(lost, base) NOTNULL",
      type
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

extension Journal {
  // MARK: reading the journal

  /// True if a write at this revision is part of the entry's pending changes.
  static func belongs(_ revision: Int64, to entry: Outbox.Entry) -> Bool {
    revision <= entry.revision && revision >= entry.revision - span
  }

  /// Returns the outcome of a write at a revision. Returns `nil` if nothing was decided, or if the decision is no
  /// longer kept.
  static func outcome(of id: RecordID, at revision: Int64, in transaction: ReadTransaction) throws
    -> SaveOutcome?
  {
    guard let found = try entry(of: id, at: revision, in: transaction) else { return nil }
    // A decision about a change on top says nothing about one beneath it that is still pending.
    let own = try OutboxQueue.changes(of: id, in: transaction).first { $0.revision >= revision }
    if let own, let last = found.revision, own.revision < last { return nil }
    return found.outcome
  }

  private static func entry(of id: RecordID, at revision: Int64, in transaction: ReadTransaction) throws
    -> JournalEntry?
  {
    try entries(
      where: """
        type = ? AND id = ? AND verdict NOT IN \(Verdict.open) AND revision BETWEEN ? AND ?
        AND ifnull(since, 0) <= ? ORDER BY revision, number
        """,
      [id, revision, revision + span, revision], limit: 1, in: transaction
    ).first
  }

  /// Returns the content that a write at this revision lost, in the decision that ended it or in an earlier merge of
  /// it. Returns `nil` if nothing was lost.
  static func lost(of id: RecordID, at revision: Int64, in transaction: ReadTransaction) throws -> AnyRecord?
  {
    guard let last = try entry(of: id, at: revision, in: transaction)?.number else { return nil }
    // Other decisions before that one concern changes on top of this write, such as those that were undone here.
    let found = try entries(
      where: """
        type = ? AND id = ? AND lost IS NOT NULL AND revision BETWEEN ? AND ?
        AND (number = ? OR verdict = \(Verdict.merging.rawValue) AND number < ?) ORDER BY number
        """,
      [id, revision, revision + span, last, last], limit: 1, in: transaction)
    guard let lost = found.first?.lost else { return nil }
    let table = try transaction.catalog.table(id.type)
    return AnyRecord(id: id.id, try table.row(lost), table)
  }

  /// Returns the newest decision on a record that is final, or `nil`.
  static func last(of id: RecordID, in transaction: ReadTransaction) throws -> JournalEntry? {
    try entries(
      where: "type = ? AND id = ? AND verdict NOT IN \(Verdict.open) ORDER BY number DESC",
      [id], limit: 1, in: transaction
    ).first
  }

  static func entry(_ number: Int64, in transaction: ReadTransaction) throws -> JournalEntry? {
    try entries(where: "number = ?", [number], limit: 1, in: transaction).first
  }

  private static let columns = """
    number, type, id, verdict, at, version, reason, lost, cause, kind, names, base, now, now_at, place, attempts,
    retry_at, restored, revision, policy, together = ''
    """

  /// Returns the entries that meet `condition`, which is SQL of this module's own with its order.
  static func entries(
    where condition: String, _ arguments: [any StatementValue] = [], limit: Int,
    in transaction: ReadTransaction
  ) throws -> [JournalEntry] {
    try transaction.rows(
      "SELECT \(columns) FROM bothy_journal WHERE \(condition) LIMIT ?", arguments + [max(0, limit)]
    ) { try entry(from: $0, transaction.catalog) }
  }

  private static func entry(from row: PreparedStatement, _ catalog: Catalog) throws -> JournalEntry {
    let verdict = Verdict(rawValue: row.int(at: 3))
    let cause = JournalEntry.Cause(rawValue: row.int(at: 8)) ?? .acknowledged
    let reason = try row.text(at: 6).map { try Rejection(json: $0) }
    let (lost, base, now) = (row.document(at: 7), row.document(at: 11), row.document(at: 12))
    var entry = JournalEntry(
      number: row.int(at: 0), record: row.record(at: 1), change: ChangeKind(number: row.int(at: 9)),
      outcome: verdict?.outcome(row.text(at: 5), reason) ?? .unknown, cause: cause,
      isFinal: verdict?.isFinal ?? true, decided: row.int(at: 4), lost: lost,
      deleted: lost == nil ? base : nil)
    if let lost {
      entry.listsFields = row.text(at: 10) != nil
      entry.isGone = now == nil && entry.listsFields
      entry.lostFields = try fields(Loss.names(row.text(at: 10)), lost, base, now)
      // A record that another history lacks has no base, and nothing of it was merged.
      if cause != .otherHistory, let schema = catalog.tableIfKnown(entry.record.type)?.schema {
        let isMerged = verdict == .merging && row.text(at: 19) == MergePolicy.fieldByField.name
        entry.lostFields.removeAll { lost in
          schema[lost.name].map {
            lost.isKept($0, isNew: base == nil, isMerged: isMerged, hasNow: now != nil)
          } ?? false
        }
      }
    }
    entry.lostContainer = row.text(at: 14)
    entry.replaced = row.optionalInt(at: 13)
    entry.restored = row.optionalInt(at: 17)
    entry.attempts = Int(row.int(at: 15))
    entry.retryAt = row.optionalInt(at: 16)
    entry.revision = row.optionalInt(at: 18)
    entry.policy = row.text(at: 19)
    entry.isCut = row.int(at: 20) != 0
    return entry
  }

  private static func fields(
    _ names: [String], _ local: FieldsDocument, _ base: FieldsDocument?, _ now: FieldsDocument?
  ) throws -> [JournalEntry.LostField] {
    guard !names.isEmpty else { return [] }
    let (local, base, now) = (try local.members(), try base?.members(), try now?.members())
    return names.map {
      JournalEntry.LostField(
        name: $0, base: base?[$0] ?? .null, local: local[$0] ?? .null, now: now?[$0] ?? .null)
    }
  }
}
