import BothyStore

/// Reading the journal.
extension Journal {
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
        ORDER BY revision, number
        """,
      [id, revision, revision + span], limit: 1, in: transaction
    ).first
  }

  /// Returns the content that a write at this revision lost, in the decision that ended it or in an earlier merge of
  /// it. Returns `nil` if nothing was lost.
  static func lost(of id: RecordID, at revision: Int64, in transaction: ReadTransaction) throws -> AnyRecord?
  {
    guard let last = try entry(of: id, at: revision, in: transaction)?.number else { return nil }
    let found = try entries(
      where: """
        type = ? AND id = ? AND lost IS NOT NULL AND revision BETWEEN ? AND ? AND number <= ? ORDER BY number
        """,
      [id, revision, revision + span, last], limit: 1, in: transaction)
    guard let lost = found.first?.lost else { return nil }
    let table = try transaction.catalog.table(id.type)
    return AnyRecord(id: id.id, try table.row(lost), table)
  }

  /// Returns the newest verdict on a record, or `nil`.
  static func last(of id: RecordID, in transaction: ReadTransaction) throws -> SaveOutcome? {
    try entries(
      where: "type = ? AND id = ? AND verdict NOT IN \(Verdict.open) ORDER BY number DESC",
      [id], limit: 1, in: transaction
    ).first?.outcome
  }

  static func entry(_ number: Int64, in transaction: ReadTransaction) throws -> JournalEntry? {
    try entries(where: "number = ?", [number], limit: 1, in: transaction).first
  }

  private static let columns = """
    number, type, id, verdict, at, version, reason, lost, cause, kind, names, base, now, now_at, place, attempts,
    retry_at, restored, revision, policy
    """

  /// Returns the entries that meet `condition`, which is SQL of this module's own with its order.
  static func entries(
    where condition: String, _ arguments: [any StatementValue] = [], limit: Int,
    in transaction: ReadTransaction
  ) throws -> [JournalEntry] {
    try transaction.rows(
      "SELECT \(columns) FROM bothy_journal WHERE \(condition) LIMIT ?", arguments + [max(0, limit)],
      read: entry)
  }

  private static func entry(from row: PreparedStatement) throws -> JournalEntry {
    let verdict = Verdict(rawValue: row.int(at: 3))
    let cause = JournalEntry.Cause(rawValue: row.int(at: 8)) ?? .acknowledged
    let version = row.text(at: 5) ?? ""
    let outcome: SaveOutcome =
      switch verdict {
      case .accepted: .accepted(version: version)
      case .merged, .merging: .merged(version: version)
      case .overwritten: .overwritten(version: version)
      case .rejected, .refused: try row.text(at: 6).map { .rejected(try Rejection(json: $0)) } ?? .unknown
      case .withdrawn: .withdrawn
      case nil: .unknown
      }
    let (lost, now) = (row.document(at: 7), row.document(at: 12))
    var entry = JournalEntry(
      number: row.int(at: 0), record: row.record(at: 1),
      change: ChangeKind(number: row.int(at: 9)), outcome: outcome, cause: cause,
      isFinal: verdict != .merging && verdict != .refused, decided: row.int(at: 4), lost: lost)
    if let lost {
      entry.lostFields = try fields(Loss.names(row.text(at: 10)), lost, row.document(at: 11), now)
      entry.isGone = now == nil && row.text(at: 10) != nil
    }
    entry.lostContainer = row.text(at: 14)
    entry.replaced = row.optionalInt(at: 13)
    entry.restored = row.optionalInt(at: 17)
    entry.attempts = Int(row.int(at: 15))
    entry.retryAt = row.optionalInt(at: 16)
    entry.revision = row.optionalInt(at: 18)
    entry.policy = row.text(at: 19)
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
