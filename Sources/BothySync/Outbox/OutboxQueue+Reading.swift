import BothyStore

/// Reading entries.
extension OutboxQueue {
  static let columns = """
    type, id, kind, revision, edited, state, attempts, retry_at, base_version, base, operation, remote_version,
    reason, container, leaving, edited_unsure, share, together, sent_together, awaiting, awaited, awaited_in,
    sent_revision, base_created, base_modified, base_owner, former
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
      [entry.id, entry.isLater ? entry.revision : nil] + values)
  }

  static func entry(from row: PreparedStatement) throws -> Outbox.Entry {
    Outbox.Entry(
      id: row.record(at: 0),
      change: ChangeKind(number: row.int(at: 2)), revision: row.int(at: 3), editedTime: row.int(at: 4),
      isEditTimeReliable: row.int(at: 15) == 0,
      base: row.text(at: 8).map {
        Outbox.Entry.Base(
          version: $0, fields: FieldsDocument(canonical: row.bytes(at: 9)), container: row.text(at: 13),
          metadata: row.metadata(at: 23))
      },
      stage: Outbox.Entry.Stage(rawValue: Int(row.int(at: 5))) ?? .pending, attempts: Int(row.int(at: 6)),
      retryAt: retryTime(row.int(at: 7)),
      reason: try row.text(at: 12).map(Rejection.init(json:)),
      operationID: row.text(at: 10), sentRevision: row.optionalInt(at: 22),
      remoteVersion: try row.text(at: 11).map { try JSONReader.read($0) { try ServerRecord(from: &$0) } },
      container: row.text(at: 13), isLeaving: row.int(at: 14) != 0,
      sharing: try row.text(at: 16).map(SharingChange.init(json:)), group: row.text(at: 17),
      sentGroup: row.text(at: 18), awaited: awaited(from: row), former: row.json(at: 26))
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
      if select.int(at: 1) == 1 { counts.drafts += number }
      if select.int(at: 2) != 0 { counts.rejected += number }
    }
    return counts
  }
}

/// The parts of entries, and the changes that are stacked on them.
extension OutboxQueue {
  /// The parts of a pending change that decide how another joins it.
  struct Mark {
    var last: ChangeCoalescing.Last
    var awaiting: Outbox.Entry.Awaited.Keeping?
    var revision: Int64
    var former: [UInt8]?

    var kind: ChangeKind { last.kind }
    var isHidden: Bool { awaiting != nil && awaiting != .beneath }
  }

  static func mark(_ id: RecordID, in transaction: ReadTransaction) throws -> Mark? {
    try mark(id, "bothy_outbox WHERE type = ? AND id = ?", in: transaction)
  }

  /// Returns the mark of a record's last change. Two look-ups at most.
  static func topMark(_ id: RecordID, in transaction: ReadTransaction) throws -> Mark? {
    let first = try mark(id, in: transaction)
    guard first?.awaiting == .beneath else { return first }
    let source = "bothy_later WHERE type = ? AND id = ? ORDER BY revision DESC LIMIT 1"
    return try mark(id, source, isLater: true, in: transaction) ?? first
  }

  private static func mark(
    _ id: RecordID, _ source: String, isLater: Bool = false, in transaction: ReadTransaction
  ) throws -> Mark? {
    try transaction.first(
      """
      SELECT kind, operation IS NOT NULL, base_version IS NOT NULL, together, sent_together, awaiting, revision,
        former
      FROM \(source)
      """, id
    ) { row in
      Mark(
        last: ChangeCoalescing.Last(
          ChangeKind(number: row.int(at: 0)), wasSent: row.int(at: 1) != 0, hasBase: row.int(at: 2) != 0,
          isLater: isLater, group: row.text(at: 3), sentGroup: row.text(at: 4)),
        awaiting: Outbox.Entry.Awaited.Keeping(rawValue: row.int(at: 5)), revision: row.int(at: 6),
        former: row.json(at: 7))
    }
  }

  /// Returns all pending changes of a record, its entry first.
  static func changes(of id: RecordID, in transaction: ReadTransaction) throws -> [Outbox.Entry] {
    guard let first = try entry(id, in: transaction) else { return [] }
    return first.isBeneath ? try [first] + later(of: id, in: transaction) : [first]
  }

  /// Returns the later changes of a record, the earliest first.
  static func later(
    of id: RecordID, above revision: Int64 = .min, limit: Int = -1, in transaction: ReadTransaction
  ) throws -> [Outbox.Entry] {
    try laterEntries(
      where: "type = ? AND id = ? AND revision > ? ORDER BY revision",
      [id, revision], limit: limit, in: transaction)
  }

  /// Returns the later changes that meet `condition`, which is SQL of this module's own with its order.
  static func laterEntries(
    where condition: String, _ arguments: [any StatementValue] = [], limit: Int = -1,
    in transaction: ReadTransaction
  ) throws -> [Outbox.Entry] {
    try entries(
      "bothy_later WHERE \(condition)", arguments, limit: limit, isLater: true, in: transaction)
  }

  /// Returns the records whose entries were later changes before and whose conflict with the server's version isn't
  /// decided, by type and id. Reads as many rows of an index.
  static func undecided(in transaction: ReadTransaction) throws -> [RecordID] {
    try transaction.rows(
      """
      SELECT type, id FROM bothy_outbox INDEXED BY bothy_outbox_unsent
      WHERE base_version = '\(unsentVersion)' AND operation IS NULL AND state = 0
      """
    ) { $0.record(at: 0) }
  }

  static func hasLater(in transaction: ReadTransaction) throws -> Bool {
    try transaction.has("SELECT 1 FROM bothy_later LIMIT 1")
  }

  /// Returns the last change of a record, which the row shows, or `nil` if nothing is pending. Two look-ups at most.
  static func top(of id: RecordID, in transaction: ReadTransaction) throws -> Outbox.Entry? {
    let first = try entry(id, in: transaction)
    return try first?.isBeneath == true ? last(of: id, in: transaction) ?? first : first
  }

  /// Returns the last change made before `revision` that is stacked on a record's entry, or `nil`.
  static func last(
    of id: RecordID, below revision: Int64 = .max, in transaction: ReadTransaction
  ) throws -> Outbox.Entry? {
    try laterEntries(
      where: "type = ? AND id = ? AND revision < ? ORDER BY revision DESC",
      [id, revision], limit: 1, in: transaction
    ).first
  }

  /// Returns the change that a later change is stacked on.
  static func beneath(_ entry: Outbox.Entry, in transaction: ReadTransaction) throws -> Outbox.Entry? {
    try last(of: entry.id, below: entry.revision, in: transaction)
      ?? self.entry(entry.id, in: transaction)
  }

  /// Returns a record's pending change by its revision, or `nil`.
  static func change(
    of id: RecordID, at revision: Int64, in transaction: ReadTransaction
  ) throws -> Outbox.Entry? {
    guard let first = try entry(id, in: transaction) else { return nil }
    if first.revision == revision { return first }
    return try laterEntries(
      where: "type = ? AND id = ? AND revision = ?", [id, revision], in: transaction
    ).first
  }

  // MARK: pending work by container

  /// Returns the local container of an entry's record. For a record deleted here, returns the server's container.
  static func container(of entry: Outbox.Entry, in transaction: ReadTransaction) throws -> String {
    let type = entry.id.type
    if let awaited = entry.awaited, entry.change != .delete { return awaited.container ?? type }
    guard entry.change != .delete, let table = transaction.catalog.tableIfKnown(type),
      let row = try transaction.row(table, id: entry.id.id)
    else { return entry.container ?? type }
    return row.container ?? type
  }

  /// Returns the server's container of an entry's record as last reported, or the local one if the server reported
  /// none. Requests for the record use this container.
  static func serverContainer(of entry: Outbox.Entry, in transaction: ReadTransaction) throws -> String {
    if let reported = entry.reported, !reported.isDeleted { return reported.container }
    return try container(of: entry, in: transaction)
  }

  /// Returns the names of the containers with entries to send. Drafts and quarantined entries don't count. Exact, with
  /// one look at each entry.
  static func containersToSend(in transaction: ReadTransaction) throws -> [String] {
    try countsByContainer(where: "entry.state = 0", in: transaction).keys.sorted()
  }

  /// Returns the number of entries in each container. A moved record counts in its local container, and a record
  /// deleted here in the server's. `condition` is SQL of this module's own. All columns have the name of their table,
  /// because a field may be called like a column of the outbox.
  static func countsByContainer(
    where condition: String = "1", in transaction: ReadTransaction
  ) throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for table in transaction.catalog.tables where table.schema.isSynced {
      try transaction.forEach(
        """
        SELECT CASE WHEN entry.kind = 2 THEN coalesce(entry.container, ?1) WHEN entry.awaited IS NOT NULL
          THEN coalesce(entry.awaited_in, ?1) ELSE coalesce(row._container, ?1) END, count(*)
        FROM bothy_outbox AS entry LEFT JOIN \(table.name) AS row ON row._id = entry.id
        WHERE entry.type = ?1 AND \(condition) GROUP BY 1
        """, [table.schema.name]
      ) { row in
        if let name = row.text(at: 0) { counts[name, default: 0] += Int(row.int(at: 1)) }
      }
    }
    return counts
  }

  /// Returns the entries of a scope in the order of sending. New records come after what they refer to, then updates,
  /// then deletions before what they refer to. Those of a type that are sent once more come after the others.
  static func entries(
    in scope: SyncScope, includingQuarantined: Bool, in transaction: ReadTransaction
  ) throws -> [Outbox.Entry] {
    let order = transaction.catalog.tablesByReference.map(\.schema.name)
    let rank = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
    func key(_ entry: Outbox.Entry) -> (Int64, Int, Int64, String) {
      let place = rank[entry.id.type] ?? order.count
      return (entry.change.number, entry.change == .delete ? -place : place, entry.retryAt, entry.id.id)
    }
    return try entries(in: transaction).filter { entry in
      guard includingQuarantined || entry.stage != .quarantined else { return false }
      return try scope == .everything || scope.contains(container(of: entry, in: transaction))
    }
    .sorted { key($0) < key($1) }
  }
}

extension OutboxQueue {
  /// Returns the member of an entry's group that the server has rejected, or `nil`.
  static func refusedMember(with entry: Outbox.Entry, in transaction: ReadTransaction) throws -> Outbox.Entry?
  {
    guard let group = entry.group, entry.reason == nil else { return nil }
    return try refused(in: group, in: transaction)
  }

  /// Returns the reason of an entry's rejection, or that of a member of its group, or `nil`.
  static func reason(of entry: Outbox.Entry, in transaction: ReadTransaction) throws -> Rejection? {
    try entry.reason ?? refusedMember(with: entry, in: transaction)?.reason
  }

  /// Returns a member of a group that the server has rejected, or `nil`. One look-up, whatever the size of the group.
  static func refused(in group: String, in transaction: ReadTransaction) throws -> Outbox.Entry? {
    try entries(where: "together = ? AND reason IS NOT NULL", [group], limit: 1, in: transaction).first
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
