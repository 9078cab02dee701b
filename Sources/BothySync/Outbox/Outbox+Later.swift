import BothyStore

/// Changes that wait on top of others of their record. What was written together is one transaction, and so is what was
/// written singly between two of them. Each is sent for itself, in the order it was made (rule R21).
///
/// The first of a record's changes is its entry. The others lie in `bothy_later`, by their revisions. Each has what it was
/// made on (`base`) and what it makes of the record (`awaited`); the row shows the last. When the first ends, the next
/// becomes the entry.
extension Outbox {
  /// The version of what a later change was made on. Every version of a server is newer, so that a conflict is decided.
  static let unsentVersion = "0"

  /// A record as one of its changes leaves it.
  struct Content: Equatable {
    var fields: FieldsDocument
    var container: String

    init(_ row: StoredRow, _ table: TypeTable) {
      fields = table.document(row)
      container = row.container ?? table.schema.name
    }

    init(_ base: OutboxEntry.Base, _ type: String) {
      fields = base.fields
      container = base.container ?? type
    }
  }

  // MARK: reading

  /// The later changes of a record, the earliest first.
  static func later(
    of id: RecordID, above revision: Int64 = .min, limit: Int = -1, in transaction: ReadTransaction
  ) throws -> [OutboxEntry] {
    try laterEntries(
      where: "type = ? AND id = ? AND revision > ? ORDER BY revision",
      [.text(id.type), .text(id.id), .int(revision)], limit: limit, in: transaction)
  }

  /// `condition` is SQL of this module's own, with its order.
  static func laterEntries(
    where condition: String = "1", _ arguments: [FieldValue] = [], limit: Int = -1,
    in transaction: ReadTransaction
  ) throws -> [OutboxEntry] {
    let select = try PreparedStatement(
      "SELECT \(columns) FROM bothy_later WHERE \(condition) LIMIT ?", in: transaction.database)
    for (index, argument) in (arguments + [.int(Int64(limit))]).enumerated() {
      select.bind(argument, at: Int32(index + 1))
    }
    defer { select.reset() }
    var entries: [OutboxEntry] = []
    while try select.step() {
      var entry = try entry(from: select)
      entry.isLater = true
      entries.append(entry)
    }
    return entries
  }

  /// The entries whose turn has come and whose conflict with what the server has is not decided.
  static func undecided(in transaction: ReadTransaction) throws -> [OutboxEntry] {
    let select = try PreparedStatement(
      """
      SELECT \(columns) FROM bothy_outbox INDEXED BY bothy_outbox_unsent
      WHERE base_version = '\(unsentVersion)' AND operation IS NULL AND state = 0
      """, in: transaction.database)
    defer { select.reset() }
    var entries: [OutboxEntry] = []
    while try select.step() { entries.append(try entry(from: select)) }
    return entries
  }

  static func hasLater(in transaction: ReadTransaction) throws -> Bool {
    let select = try PreparedStatement("SELECT 1 FROM bothy_later LIMIT 1", in: transaction.database)
    defer { select.reset() }
    return try select.step()
  }

  /// The last change of a record, which the row shows; nil where nothing is pending.
  static func top(of id: RecordID, _ mark: Mark, in transaction: ReadTransaction) throws -> OutboxEntry? {
    guard mark.awaiting == .beneath else { return try entry(id, in: transaction) }
    return try laterEntries(
      where: "type = ? AND id = ? ORDER BY revision DESC", [.text(id.type), .text(id.id)], limit: 1,
      in: transaction
    ).first
  }

  /// The same where nothing of the record is known yet. Two look-ups at most.
  static func top(of id: RecordID, in transaction: ReadTransaction) throws -> OutboxEntry? {
    try mark(id, in: transaction).flatMap { try top(of: id, $0, in: transaction) }
  }

  // MARK: writing

  /// Whether a change is sent for itself and not as part of the record's last one. A change that was written singly joins a
  /// transaction that was refused: it may cure it.
  static func liesOnTop(of top: OutboxEntry, in transaction: WriteTransaction) throws -> Bool {
    if top.isLater && top.operationID != nil { return true }
    let group = top.group ?? top.sentGroup
    if group == transaction.group { return false }
    guard transaction.group == nil, !top.isLater, let group = top.group else { return true }
    return try entries(
      where: "together = ? AND reason IS NOT NULL", [.text(group)], limit: 1, in: transaction
    ).isEmpty
  }

  /// Adds a change on top of the record's last one.
  ///
  /// - Parameter before: the record as that one left it; nil where it deleted it.
  static func stack(
    _ kind: Operation.Kind, on top: OutboxEntry, _ table: TypeTable, before: StoredRow?,
    last: FieldsDocument?, at now: SyncClock.Reading, in transaction: WriteTransaction
  ) throws {
    try setContent(of: top, before, table, keeping: .beneath, in: transaction)
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_later (type, id, kind, revision, edited, state, attempts, retry_at, base_version, base,
        last, container, edited_unsure, together) VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, 0, ?6, ?7, ?8, ?9, ?10, ?11)
      """, in: transaction.database)
    insert.bind(top.record.type, at: 1)
    insert.bind(top.record.id, at: 2)
    insert.bind((before == nil ? .insert : kind).number, at: 3)
    insert.bind(top.revision + 1, at: 4)
    insert.bind(now.time, at: 5)
    insert.bind(before == nil ? nil : unsentVersion, at: 6)
    insert.bind(before.map { table.document($0) }, at: 7)
    insert.bind(last, at: 8)
    insert.bind(before?.container, at: 9)
    insert.bind(now.isReliable ? 0 : 1, at: 10)
    insert.bind(transaction.group, at: 11)
    try insert.run()
  }

  /// Joins a change to the record's last one, which lies on top of others and was not sent.
  static func amend(
    _ top: OutboxEntry, _ table: TypeTable, by kind: Operation.Kind, last: FieldsDocument?,
    at now: SyncClock.Reading, in transaction: WriteTransaction
  ) throws {
    var collapse = Collapse(top.kind, wasSent: false, hasBase: top.base != nil, then: kind)
    if try collapse == .annihilate && transaction.exists(top.record) { collapse = .become(.insert) }
    guard case .become(let kind) = collapse else {
      // Made again and deleted again: what lies beneath is a deletion, and nothing of the record is here.
      let row = Journal.Row(top, .withdrawn, .takenBack)
      _ = try Journal.note(row, at: now.time, in: transaction)
      return try removeLater(top, in: transaction)
    }
    let update = try PreparedStatement(
      """
      UPDATE bothy_later SET kind = ?4, revision = revision + 1, edited = ?5, last = ?6, edited_unsure = ?7
      WHERE type = ?1 AND id = ?2 AND revision = ?3
      """, in: transaction.database)
    update.bind(top.record.type, at: 1)
    update.bind(top.record.id, at: 2)
    update.bind(top.revision, at: 3)
    update.bind(kind.number, at: 4)
    update.bind(now.time, at: 5)
    update.bind(last, at: 6)
    update.bind(now.isReliable ? 0 : 1, at: 7)
    try update.run()
  }

  /// Joins what was written singly on top of a refused change to it, as an edit that is made after the refusal; and what
  /// belongs to the same transaction since two became one.
  static func absorb(_ id: RecordID, in transaction: WriteTransaction) throws {
    let table = try transaction.catalog.table(id.type)
    guard let entry = try entry(id, in: transaction), let group = entry.group, entry.isBeneath,
      let next = try later(of: id, limit: 1, in: transaction).first,
      next.group == nil || next.group == group, next.operationID == nil, next.state == .pending,
      let row = try local(entry, table, in: transaction),
      next.base.map({ Content($0, id.type) }) == Content(row, table),
      case .become(let kind) = Collapse(
        entry.kind, wasSent: false, hasBase: entry.base != nil, then: next.kind)
    else { return }
    let update = try PreparedStatement(
      """
      UPDATE bothy_outbox SET kind = ?3, (revision, edited, edited_unsure, last, awaiting, awaited, awaited_in) =
        (SELECT revision, edited, edited_unsure, last, awaiting, awaited, awaited_in FROM bothy_later
        WHERE type = ?1 AND id = ?2 AND revision = ?4) WHERE type = ?1 AND id = ?2
      """, in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    update.bind(kind.number, at: 3)
    update.bind(next.revision, at: 4)
    try update.run()
    if let more = next.sharing { try setSharing(entry.sharing?.then(more) ?? more, of: id, in: transaction) }
    try delete(next, in: transaction)
    try forgive(group, in: transaction)
  }

  /// Sets where the content of a change lies, and what it is: in the entry, or (nil) in the row.
  static func setContent(
    of entry: OutboxEntry, _ row: StoredRow?, _ table: TypeTable, keeping: OutboxEntry.Awaited.Keeping?,
    in transaction: WriteTransaction
  ) throws {
    let update = try PreparedStatement(
      """
      UPDATE \(entry.isLater ? "bothy_later" : "bothy_outbox") SET awaiting = ?3, awaited = ?4, awaited_in = ?5
      WHERE type = ?1 AND id = ?2\(entry.isLater ? " AND revision = ?6" : "")
      """, in: transaction.database)
    update.bind(entry.record.type, at: 1)
    update.bind(entry.record.id, at: 2)
    update.bind(keeping?.rawValue ?? 0, at: 3)
    update.bind(keeping == nil ? nil : row.map { table.document($0) }, at: 4)
    update.bind(keeping == nil ? nil : row?.container, at: 5)
    if entry.isLater { update.bind(entry.revision, at: 6) }
    try update.run()
  }

  static func delete(_ entry: OutboxEntry, in transaction: WriteTransaction) throws {
    let delete = try PreparedStatement(
      "DELETE FROM bothy_later WHERE type = ? AND id = ? AND revision = ?", in: transaction.database)
    delete.bind(entry.record.type, at: 1)
    delete.bind(entry.record.id, at: 2)
    delete.bind(entry.revision, at: 3)
    try delete.run()
  }

  /// Removes a later change's row. Where it was the last, the row of the record shows the one beneath.
  static func removeLater(_ entry: OutboxEntry, in transaction: WriteTransaction) throws {
    try delete(entry, in: transaction)
    let table = try transaction.catalog.table(entry.record.type)
    guard let mark = try mark(entry.record, in: transaction), mark.awaiting == .beneath else { return }
    if let top = try top(of: entry.record, mark, in: transaction) {
      if top.isBeneath { try setContent(of: top, nil, table, keeping: nil, in: transaction) }
    } else if let first = try self.entry(entry.record, in: transaction) {
      try setContent(of: first, nil, table, keeping: nil, in: transaction)
    }
  }

  // MARK: drafts

  /// Holds a record's last change back, as a draft.
  static func hold(_ id: RecordID, in transaction: WriteTransaction) throws {
    guard let mark = try mark(id, in: transaction), let top = try top(of: id, mark, in: transaction) else {
      return
    }
    try setState(.held, of: top, in: transaction)
  }

  /// Lets all drafts of a record be sent. False where it has none.
  static func release(_ id: RecordID, in transaction: WriteTransaction) throws -> Bool {
    guard let first = try entry(id, in: transaction) else { return false }
    let changes = first.isBeneath ? try [first] + later(of: id, in: transaction) : [first]
    let drafts = changes.filter { $0.state == .held }
    for draft in drafts { try setState(.pending, of: draft, in: transaction) }
    return !drafts.isEmpty
  }

  private static func setState(
    _ state: OutboxEntry.State, of entry: OutboxEntry, in transaction: WriteTransaction
  ) throws {
    let update = try PreparedStatement(
      """
      UPDATE \(entry.isLater ? "bothy_later" : "bothy_outbox") SET state = ?3
      WHERE type = ?1 AND id = ?2\(entry.isLater ? " AND revision = ?4" : "")
      """, in: transaction.database)
    update.bind(entry.record.type, at: 1)
    update.bind(entry.record.id, at: 2)
    update.bind(Int64(state.rawValue), at: 3)
    if entry.isLater { update.bind(entry.revision, at: 4) }
    try update.run()
  }
}
