import BothyStore

/// Changes that are stacked on other changes of their record. The changes of one transaction form a unit, and so do the
/// single changes between two transactions. Each unit is sent separately, in the order of writing.
///
/// The first of a record's changes is its entry. The others are stored in `bothy_later`, by their revisions. Each has
/// the state that it was made on (`base`) and the state that it makes of the record (`awaited`). The row shows the
/// last. When the first ends, the next becomes the entry.
extension OutboxQueue {
  /// The version of the base of a later change. Every version of a server is newer, so that a conflict is decided.
  static let unsentVersion = "0"

  /// The base version of a change that is known to be in conflict. Every version of a server is newer.
  static let agedVersion = "-1"

  /// A record as one of its changes leaves it.
  struct Content: Equatable {
    var fields: FieldsDocument
    var container: String

    init(_ row: StoredRow, _ table: TypeTable) {
      fields = table.document(row)
      container = row.container ?? table.schema.name
    }

    init(_ base: Outbox.Entry.Base, _ type: String) {
      fields = base.fields
      container = base.container ?? type
    }
  }

  // MARK: reading

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

  /// Returns the entries that were later changes before and whose conflict with the server's version isn't decided.
  static func undecided(in transaction: ReadTransaction) throws -> [Outbox.Entry] {
    try entries(
      """
      bothy_outbox INDEXED BY bothy_outbox_unsent
      WHERE base_version = '\(unsentVersion)' AND operation IS NULL AND state = 0
      """, in: transaction)
  }

  static func hasLater(in transaction: ReadTransaction) throws -> Bool {
    try transaction.has("SELECT 1 FROM bothy_later LIMIT 1")
  }

  /// Returns the last change of a record, which the row shows, or `nil` if nothing is pending.
  static func top(of id: RecordID, _ mark: Mark, in transaction: ReadTransaction) throws -> Outbox.Entry? {
    try mark.awaiting == .beneath ? last(of: id, in: transaction) : entry(id, in: transaction)
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
    try last(of: entry.record, below: entry.revision, in: transaction)
      ?? self.entry(entry.record, in: transaction)
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

  /// Like `top(of:_:in:)`, but reads the mark of the record first. Two look-ups at most.
  static func top(of id: RecordID, in transaction: ReadTransaction) throws -> Outbox.Entry? {
    try mark(id, in: transaction).flatMap { try top(of: id, $0, in: transaction) }
  }

  // MARK: writing

  /// True if a change is sent separately and not as part of the record's last one. A single change joins a rejected
  /// transaction, because it may cure the rejection.
  static func liesOnTop(of top: Outbox.Entry, in transaction: WriteTransaction) throws -> Bool {
    if top.isLater && top.operationID != nil { return true }
    let group = top.group ?? top.sentGroup
    if group == transaction.group { return false }
    guard transaction.group == nil, !top.isLater, let group = top.group else { return true }
    if transaction.joined.contains(group) { return false }
    return try refused(in: group, in: transaction) == nil
  }

  /// Adds a change on top of the record's last one.
  ///
  /// - Parameter before: the record as that one left it, or `nil` if it deleted the record.
  static func stack(
    _ kind: ChangeKind, on top: Outbox.Entry, _ table: TypeTable, before: StoredRow?,
    last: FieldsDocument?, at now: SyncClock.Reading, in transaction: WriteTransaction
  ) throws {
    try setContent(of: top, before, table, keeping: .beneath, in: transaction)
    try transaction.run(
      """
      INSERT INTO bothy_later (type, id, kind, revision, edited, state, attempts, retry_at, base_version, base,
        last, container, edited_unsure, together) VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, 0, ?6, ?7, ?8, ?9, ?10, ?11)
      """, top.record, (before == nil ? .insert : kind).number, top.revision + 1, now.time,
      before == nil ? nil : unsentVersion, before.map { table.document($0) }, last, before?.container,
      !now.isReliable, transaction.group)
  }

  /// Joins a change to the record's last one, which is stacked on others and wasn't sent.
  static func amend(
    _ top: Outbox.Entry, _ table: TypeTable, by kind: ChangeKind, last: FieldsDocument?,
    at now: SyncClock.Reading, in transaction: WriteTransaction
  ) throws {
    var collapse = ChangeCoalescing(top.kind, wasSent: false, hasBase: top.base != nil, then: kind)
    if try collapse == .annihilate && transaction.exists(top.record) { collapse = .become(.insert) }
    guard case .become(let kind) = collapse else {
      // Created again and deleted again: the change beneath is a deletion, and the record isn't here.
      try Journal.note(top, .withdrawn, .takenBack, at: now.time, in: transaction)
      return try removeLater(top, in: transaction)
    }
    try update(
      top, "SET kind = ?4, revision = revision + 1, edited = ?5, last = ?6, edited_unsure = ?7", kind.number,
      now.time, last, !now.isReliable, in: transaction)
    if top.kind == .delete, kind != .delete { try carry(into: top, in: transaction) }
  }

  /// Sets the content of a change and its place: the entry, or with `nil` the row.
  static func setContent(
    of entry: Outbox.Entry, _ row: StoredRow?, _ table: TypeTable, keeping: Outbox.Entry.Awaited.Keeping?,
    in transaction: WriteTransaction
  ) throws {
    let row = keeping == nil ? nil : row
    try update(
      entry, "SET awaiting = ?4, awaited = ?5, awaited_in = ?6", keeping?.rawValue ?? 0,
      row.map { table.document($0) }, row?.container, in: transaction)
  }

  static func delete(_ entry: Outbox.Entry, in transaction: WriteTransaction) throws {
    try statement("DELETE FROM", entry, in: transaction).run()
  }

  /// Removes a later change's row. If it was the last, the row of the record shows the change beneath it.
  static func removeLater(_ entry: Outbox.Entry, in transaction: WriteTransaction) throws {
    try delete(entry, in: transaction)
    guard let first = try self.entry(entry.record, in: transaction), first.isBeneath else { return }
    let top = try last(of: entry.record, in: transaction) ?? first
    guard top.isBeneath else { return }
    let table = try transaction.catalog.table(entry.record.type)
    try setContent(of: top, nil, table, keeping: nil, in: transaction)
  }

  // MARK: drafts

  /// Makes a draft of a record's last change.
  static func hold(_ id: RecordID, in transaction: WriteTransaction) throws {
    if let top = try top(of: id, in: transaction) { try setState(.held, of: top, in: transaction) }
  }

  /// True if any of a record's changes up to `revision` is a draft. No change is sent before an earlier draft.
  static func isHeld(
    _ id: RecordID, upTo revision: Int64 = .max, in transaction: ReadTransaction
  ) throws -> Bool {
    guard let first = try entry(id, in: transaction) else { return false }
    if first.state == .held || !first.isBeneath { return first.state == .held }
    return try !laterEntries(
      where: "type = ? AND id = ? AND revision <= ? AND state = 1",
      [id, revision], limit: 1, in: transaction
    ).isEmpty
  }

  /// Makes all drafts of a record ready to be sent. Returns false if it has none.
  static func release(_ id: RecordID, in transaction: WriteTransaction) throws -> Bool {
    let drafts = try changes(of: id, in: transaction).filter { $0.state == .held }
    for draft in drafts { try setState(.pending, of: draft, in: transaction) }
    return !drafts.isEmpty
  }

  private static func setState(
    _ state: Outbox.Entry.State, of entry: Outbox.Entry, in transaction: WriteTransaction
  ) throws {
    try update(entry, "SET state = ?4", state.rawValue, in: transaction)
  }
}
