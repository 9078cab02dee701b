public import BothyStore

/// The durable list of what became of local writes, newest last: written in the transaction that settles a write, so
/// that neither a relaunch nor a listener that was not there misses a verdict.
///
/// A row stands for the revisions of one outbox entry up to its own. They are consecutive, and each entry begins at a
/// random one, so a revision a little below a row's belongs to it.
enum Journal {
  static let tableSQL = """
    CREATE TABLE IF NOT EXISTS bothy_journal (
      number INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER, verdict INTEGER NOT NULL,
      at INTEGER NOT NULL, version TEXT, reason TEXT, lost TEXT) STRICT
    """
  static let indexSQL = "CREATE INDEX IF NOT EXISTS bothy_journal_record ON bothy_journal (type, id)"

  /// So many rows of writes that the server took as they were are kept, and as many of the others: neither kind drives
  /// out the other.
  static let limit = 1000
  /// How far below a row's revision its entry may have begun.
  private static let span: Int64 = 1 << 20

  /// The raw values are those of the file.
  enum Verdict: Int64 {
    case accepted = 0
    case merged = 1
    case overwritten = 2
    case rejected = 3
    /// A merge was decided, and the server is yet to take it.
    case merging = 4
  }

  struct Row {
    var record: RecordID
    var revision: Int64?
    var verdict: Verdict
    var version: String?
    var reason: Rejection?
    var lost: FieldsDocument?
  }

  /// Adds a row. One of a write that was accepted counts as merged where a merge of it was decided before.
  ///
  /// - Parameter time: nil takes the device's clock.
  static func note(_ row: Row, at time: Int64? = nil, in transaction: WriteTransaction) throws {
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_journal (type, id, revision, verdict, at, version, reason, lost)
      VALUES (?1, ?2, ?3, CASE WHEN ?4 = 0 AND EXISTS (
          SELECT 1 FROM bothy_journal WHERE type = ?1 AND id = ?2 AND verdict = 4
            AND revision BETWEEN ?3 - \(span) AND ?3)
        THEN 1 ELSE ?4 END, coalesce(?5, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)), ?6, ?7, ?8)
      """, in: transaction.database)
    insert.bind(row.record.type, at: 1)
    insert.bind(row.record.id, at: 2)
    bind(row.revision, at: 3, of: insert)
    insert.bind(row.verdict.rawValue, at: 4)
    bind(time, at: 5, of: insert)
    insert.bind(row.version, at: 6)
    insert.bind(row.reason?.json, at: 7)
    if let lost = row.lost { insert.bind(utf8: lost.bytes, at: 8) } else { insert.bind(String?.none, at: 8) }
    try insert.run()
  }

  private static func bind(_ number: Int64?, at index: Int32, of statement: PreparedStatement) {
    if let number { statement.bind(number, at: index) } else { statement.bind(String?.none, at: index) }
  }

  /// Removes the oldest rows past the limits. Once in a transaction that added some.
  static func trim(in transaction: WriteTransaction) throws {
    for isAccepted in [Int64(1), 0] {
      let trim = try PreparedStatement(
        """
        DELETE FROM bothy_journal WHERE (verdict = 0) = ?1 AND number <= (
          SELECT number FROM bothy_journal WHERE (verdict = 0) = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
        """, in: transaction.database)
      trim.bind(isAccepted, at: 1)
      trim.bind(Int64(limit), at: 2)
      try trim.run()
    }
  }

  /// Whether a write at this revision is part of what the entry has pending.
  static func belongs(_ revision: Int64, to entry: OutboxEntry) -> Bool {
    revision <= entry.revision && revision >= entry.revision - span
  }

  /// What became of a write at a revision; nil when nothing was decided, or so long ago that it was forgotten.
  static func outcome(of id: RecordID, at revision: Int64, in transaction: ReadTransaction) throws
    -> SaveOutcome?
  {
    try entries(
      where: "type = ? AND id = ? AND verdict <> 4 AND revision BETWEEN ? AND ? ORDER BY number",
      [.text(id.type), .text(id.id), .int(revision), .int(revision + span)], limit: 1, in: transaction
    ).first?.outcome
  }

  /// The newest verdict on a record.
  static func last(of id: RecordID, in transaction: ReadTransaction) throws -> SaveOutcome? {
    try entries(
      where: "type = ? AND id = ? AND verdict <> 4 ORDER BY number DESC", [.text(id.type), .text(id.id)],
      limit: 1, in: transaction
    ).first?.outcome
  }

  /// `condition` is SQL of this module's own, with its order.
  static func entries(
    where condition: String, _ arguments: [FieldValue] = [], limit: Int, in transaction: ReadTransaction
  ) throws -> [JournalEntry] {
    let select = try PreparedStatement(
      """
      SELECT number, type, id, verdict, at, version, reason, lost FROM bothy_journal WHERE \(condition) LIMIT ?
      """, in: transaction.database)
    for (index, argument) in (arguments + [.int(Int64(max(0, limit)))]).enumerated() {
      select.bind(argument, at: Int32(index + 1))
    }
    defer { select.reset() }
    var entries: [JournalEntry] = []
    while try select.step() { entries.append(try entry(from: select)) }
    return entries
  }

  private static func entry(from row: PreparedStatement) throws -> JournalEntry {
    let version = row.text(at: 5) ?? ""
    let outcome: SaveOutcome =
      switch Verdict(rawValue: row.int(at: 3)) {
      case .accepted: .accepted(version: version)
      case .merged, .merging: .merged(version: version)
      case .overwritten: .overwritten(version: version)
      case .rejected: try row.text(at: 6).map { .rejected(try Rejection(json: $0)) } ?? .unknown
      case nil: .unknown
      }
    return JournalEntry(
      number: row.int(at: 0), record: RecordID(type: row.text(at: 1) ?? "", id: row.text(at: 2) ?? ""),
      outcome: outcome, decided: row.int(at: 4),
      lost: row.text(at: 7) == nil ? nil : FieldsDocument(canonical: row.bytes(at: 7)))
  }

  static func clear(in transaction: WriteTransaction) throws {
    try PreparedStatement("DELETE FROM bothy_journal", in: transaction.database).run()
  }

  /// Leaves no content of a record; what became of its writes stays known.
  static func forgetContent(of id: RecordID, in transaction: WriteTransaction) throws {
    let update = try PreparedStatement(
      "UPDATE bothy_journal SET lost = NULL WHERE type = ? AND id = ? AND lost IS NOT NULL",
      in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    try update.run()
  }
}

/// One verdict of the journal: what became of a local write, and the content that it lost.
public struct JournalEntry: Sendable, Hashable {
  /// Rises with each verdict: a reader that keeps the last one it saw goes on behind it.
  public var number: Int64
  /// What was written.
  public var record: RecordID
  /// What became of it.
  public var outcome: SaveOutcome
  /// When that was decided, in server-corrected milliseconds.
  public var decided: Int64
  /// The local content that was replaced or undone; nil when nothing was lost, and for a deletion that was undone.
  public var lost: FieldsDocument?
}

extension SyncedStore {
  /// What became of local writes, the newest first: kept in the file, in the transaction that decided. The last 1,000
  /// that the server took as they were, and the last 1,000 others with the content that they lost.
  ///
  /// - Parameters:
  ///   - record: only the verdicts on this record.
  ///   - number: only those after the entry with this number.
  public func journal(
    of record: RecordID? = nil, after number: Int64? = nil, limit: Int = 50
  ) throws -> [JournalEntry] {
    try store.read { transaction in
      let own = record.map { [FieldValue.text($0.type), .text($0.id)] }
      return try Journal.entries(
        where: (own == nil ? "" : "type = ? AND id = ? AND ") + "number > ? ORDER BY number DESC",
        (own ?? []) + [.int(number ?? 0)], limit: limit, in: transaction)
    }
  }
}
