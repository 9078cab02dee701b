import BothyStore

/// Reading entries.
extension OutboxQueue {
  static let columns = """
    type, id, kind, revision, edited, state, attempts, retry_at, base_version, base, operation, shadow, reason,
    container, leaving, edited_unsure, share, together, sent_together, awaiting, awaited, awaited_in,
    sent_revision, base_created, base_modified, base_owner
    """

  private static let selectByRecord = "SELECT \(columns) FROM bothy_outbox WHERE type = ? AND id = ?"

  /// SQL that holds for rejected changes, and for those of their transactions.
  static let isRefused = """
    reason IS NOT NULL OR together IN (
      SELECT together FROM bothy_outbox WHERE reason IS NOT NULL AND together IS NOT NULL)
    """

  static func entry(_ id: RecordID, in transaction: ReadTransaction) throws -> Outbox.Entry? {
    try transaction.first(selectByRecord, id, read: entry)
  }

  /// Returns entries in the order of type and id. `condition` is SQL of this module's own, with `arguments` for its
  /// marks.
  static func entries(
    where condition: String = "1", _ arguments: [any StatementValue] = [], limit: Int = -1,
    in transaction: ReadTransaction
  ) throws -> [Outbox.Entry] {
    try entries("bothy_outbox WHERE \(condition) ORDER BY type, id", arguments, limit: limit, in: transaction)
  }

  /// Returns the entries that meet `condition`, and then the changes stacked on entries that do.
  static func changes(
    where condition: String, _ arguments: [any StatementValue] = [], in transaction: ReadTransaction
  ) throws -> [Outbox.Entry] {
    try entries(where: condition, arguments, in: transaction)
      + laterEntries(where: condition, arguments, in: transaction)
  }

  /// Like `entries(where:_:limit:in:)`, but for any table with the columns of the outbox. `source` is the SQL between
  /// `FROM` and `LIMIT`.
  static func entries(
    _ source: String, _ arguments: [any StatementValue] = [], limit: Int = -1, isLater: Bool = false,
    in transaction: ReadTransaction
  ) throws -> [Outbox.Entry] {
    try transaction.rows("SELECT \(columns) FROM \(source) LIMIT ?", arguments + [limit]) { row in
      var entry = try entry(from: row)
      entry.isLater = isLater
      return entry
    }
  }

  /// Changes columns of the row that stores a change.
  ///
  /// - Parameters:
  ///   - clause: the SQL between the table and the condition, with marks from 4 on.
  ///   - values: the values of these marks.
  static func update(
    _ entry: Outbox.Entry, _ clause: String, _ values: (any StatementValue)?...,
    in transaction: WriteTransaction
  ) throws {
    try statement("UPDATE", entry, clause, values, in: transaction).run()
  }

  /// Returns a statement on the row that stores a change, with its key bound to the marks 1 to 3.
  static func statement(
    _ verb: String, _ entry: Outbox.Entry, _ clause: String = "", _ values: [(any StatementValue)?] = [],
    in transaction: ReadTransaction
  ) throws -> PreparedStatement {
    try transaction.prepared(
      "\(verb) \(entry.table) \(clause) WHERE type = ?1 AND id = ?2\(entry.isLater ? " AND revision = ?3" : "")",
      [entry.record, entry.isLater ? entry.revision : nil] + values)
  }

  static func entry(from row: PreparedStatement) throws -> Outbox.Entry {
    Outbox.Entry(
      record: row.record(at: 0),
      kind: ChangeKind(number: row.int(at: 2)), revision: row.int(at: 3), edited: row.int(at: 4),
      isEditTimeReliable: row.int(at: 15) == 0,
      base: row.text(at: 8).map {
        Outbox.Entry.Base(
          version: $0, fields: FieldsDocument(canonical: row.bytes(at: 9)), container: row.text(at: 13),
          metadata: row.metadata(at: 23))
      },
      state: Outbox.Entry.State(rawValue: Int(row.int(at: 5))) ?? .pending, attempts: Int(row.int(at: 6)),
      retryAt: row.int(at: 7) == 1 ? 0 : row.int(at: 7),
      reason: try row.text(at: 12).map(Rejection.init(json:)),
      operationID: row.text(at: 10), sentRevision: row.optionalInt(at: 22),
      remoteVersion: try row.text(at: 11).map { try JSONReader.read($0) { try ServerRecord(from: &$0) } },
      container: row.text(at: 13), isLeaving: row.int(at: 14) != 0,
      sharing: try row.text(at: 16).map(SharingChange.init(json:)), group: row.text(at: 17),
      sentGroup: row.text(at: 18), awaited: awaited(from: row))
  }

  private static func awaited(from row: PreparedStatement) -> Outbox.Entry.Awaited? {
    guard let keeping = Outbox.Entry.Awaited.Keeping(rawValue: row.int(at: 19)) else { return nil }
    return Outbox.Entry.Awaited(
      keeping: keeping, fields: FieldsDocument(canonical: row.bytes(at: 20)), container: row.text(at: 21))
  }

  /// Returns the record as it is here, with its pending changes, or `nil` if it was deleted.
  static func localContent(of id: RecordID, in transaction: ReadTransaction) throws -> FieldsDocument? {
    let table = try transaction.catalog.table(id.type)
    let row = try entry(id, in: transaction).map { try local($0, table, in: transaction) }
    return try (row ?? transaction.row(table, id: id.id)).map { table.document($0) }
  }

  /// Returns the record as it was when it was deleted here, or `nil`.
  static func last(_ id: RecordID, in transaction: ReadTransaction) throws -> FieldsDocument? {
    try transaction.first("SELECT last FROM bothy_outbox WHERE type = ? AND id = ?", id) {
      $0.document(at: 0)
    }
  }

  /// Returns a look-up of the pending entries of records.
  static func pending(in transaction: ReadTransaction) throws -> PendingLookup {
    PendingLookup(isEmpty: try isEmpty(in: transaction), transaction: transaction)
  }

  /// Returns the ids of a type's records whose rows show pending changes. Reads as many keys.
  static func ids(of type: String, in transaction: ReadTransaction) throws -> Set<String> {
    Set(
      try transaction.rows("SELECT id FROM bothy_outbox WHERE type = ? AND awaiting IN (0, 4)", type) {
        $0.text(at: 0)
      })
  }

  /// Returns the number of entries that meet `condition`, which is SQL of this module's own.
  static func count(where condition: String, in transaction: ReadTransaction) throws -> Int {
    try transaction.first("SELECT count(*) FROM bothy_outbox WHERE \(condition)") { Int($0.int(at: 0)) } ?? 0
  }

  /// Returns the number of entries by kind and state.
  static func counts(in transaction: ReadTransaction) throws -> Outbox.Counts {
    var counts = Outbox.Counts()
    try transaction.forEach(
      """
      SELECT kind, state = 1 OR awaiting = 4 AND EXISTS (SELECT 1 FROM bothy_later AS later
          WHERE later.type = entry.type AND later.id = entry.id AND later.state = 1),
        reason IS NOT NULL, count(*)
      FROM bothy_outbox AS entry GROUP BY 1, 2, 3
      """
    ) { select in
      let number = Int(select.int(at: 3))
      switch ChangeKind(number: select.int(at: 0)) {
      case .insert: counts.insert += number
      case .update: counts.update += number
      case .delete: counts.delete += number
      }
      if select.int(at: 1) == 1 { counts.held += number }
      if select.int(at: 2) != 0 { counts.inbox += number }
    }
    return counts
  }
}

/// Looks up the pending entry of a record during one transaction. Costs nothing if nothing is pending.
struct PendingLookup {
  let isEmpty: Bool
  let transaction: ReadTransaction

  func callAsFunction(_ id: RecordID) throws -> Outbox.Entry? {
    isEmpty ? nil : try OutboxQueue.entry(id, in: transaction)
  }
}

extension Outbox {
  /// The number of records with pending changes.
  public struct Counts: Sendable, Hashable {
    /// The number of records created here that the server isn't known to have.
    package var insert = 0
    /// The number of records changed, moved or shared here.
    package var update = 0
    /// The number of records deleted here that the server isn't known to have deleted.
    package var delete = 0
    /// The number of these records with a draft.
    package var held = 0
    /// The number of these records that the server has rejected.
    package var inbox = 0

    /// The total, drafts and rejected changes included.
    public var total: Int { insert + update + delete }
  }
}
