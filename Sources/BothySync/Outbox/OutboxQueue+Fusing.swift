import BothyStore

/// Fuses several transactions into one, and their changes of each record.
extension OutboxQueue {
  /// Ties a change that wasn't sent to a group.
  static func join(_ entry: Outbox.Entry, to group: String, in transaction: WriteTransaction) throws {
    if entry.group == group { return }
    try update(entry, "SET together = ?4", group, in: transaction)
  }

  /// Fuses the changes of each record that are stacked on each other in one group.
  static func fuse(_ group: String, in transaction: WriteTransaction) throws {
    let later = try laterEntries(
      where: "together = ? ORDER BY type, id, revision", [group], in: transaction)
    for entry in later {
      // A record that was created and deleted has ended, and then the next change is its first.
      guard let now = try current(entry, in: transaction), now.isLater,
        let beneath = try beneath(now, in: transaction), beneath.group == group
      else { continue }
      try fuse(now, into: beneath, in: transaction)
    }
  }

  /// Fuses a single change into the rejected change that it is stacked on, as an edit that is made after the rejection.
  ///
  /// The merge policy decides about values that it changed from a state that no longer holds, as about any value that
  /// was read before newer versions arrived.
  static func absorb(_ id: RecordID, at time: Int64, in transaction: WriteTransaction) throws {
    guard let entry = try entry(id, in: transaction), let group = entry.group, entry.isBeneath,
      let next = try later(of: id, limit: 1, in: transaction).first,
      next.group == nil || next.group == group, next.operationID == nil, next.state == .pending
    else { return }
    let table = try transaction.catalog.table(id.type)
    let stale = try stale(next, on: entry, table, in: transaction)
    try fuse(next, into: entry, in: transaction)
    if !stale.isEmpty {
      let change = Change.Stale(version: agedVersion, values: stale)
      try rebase(id, to: change, table, at: time, in: transaction)
    }
    try forgive(group, in: transaction)
  }

  /// Returns the base values of the fields that `next` changed and that have another value in the change beneath it.
  private static func stale(
    _ next: Outbox.Entry, on entry: Outbox.Entry, _ table: TypeTable, in transaction: ReadTransaction
  ) throws -> [Int: FieldValue] {
    guard let base = next.base, let beneath = try local(entry, table, in: transaction),
      let row = try local(next, table, in: transaction)
    else { return [:] }
    let before = try table.row(base.fields)
    return conflicts(of: row.values, readAs: before.values, with: beneath.values, table.schema)
  }

  /// Fuses two changes, of which the later is stacked on the other. Neither is in doubt.
  private static func fuse(
    _ next: Outbox.Entry, into entry: Outbox.Entry, in transaction: WriteTransaction
  ) throws {
    let collapse = ChangeCoalescing(entry.kind, wasSent: false, hasBase: entry.base != nil, then: next.kind)
    guard case .become(let kind) = collapse else {
      // Created and deleted: nothing of either remains.
      try Journal.note(next, .withdrawn, .takenBack, in: transaction)
      try removeLater(next, in: transaction)
      let noted = try Journal.note(entry, .withdrawn, .takenBack, in: transaction)
      if entry.isLater { return try removeLater(entry, in: transaction) }
      try end(entry, noted, in: transaction)
      return
    }
    try lay(next, on: entry, in: transaction)
    let sharing = next.sharing.map { entry.sharing?.then($0) ?? $0 } ?? entry.sharing
    let (kept, gone) = entry.isLater ? (next, entry) : (entry, next)
    let columns =
      entry.isLater
      ? "base_version, base, container"
      : "revision, edited, edited_unsure, last, awaiting, awaited, awaited_in"
    try update(
      kept,
      """
      SET kind = ?4, share = ?5, (\(columns)) =
        (SELECT \(columns) FROM bothy_later WHERE type = ?1 AND id = ?2 AND revision = ?6)
      """, kind.number, sharing?.json, gone.revision, in: transaction)
    try delete(gone, in: transaction)
    guard entry.kind == .delete, kind != .delete else { return }
    if let made = try change(of: next.record, at: next.revision, in: transaction) {
      try carry(into: made, in: transaction)
    }
  }

  /// Rebases a change on the result of the change beneath it, if it was made on another state.
  private static func lay(
    _ next: Outbox.Entry, on entry: Outbox.Entry, in transaction: WriteTransaction
  ) throws {
    let table = try transaction.catalog.table(next.record.type)
    guard let base = next.base, let beneath = try local(entry, table, in: transaction),
      let row = try local(next, table, in: transaction),
      Content(base, next.record.type) != Content(beneath, table)
    else { return }
    let members = try table.document(row).members().laid(
      on: table.document(beneath).members(), since: base.fields.members(), table.schema)
    let isMoved = row.container != (base.container ?? next.record.type)
    let laid = try table.row(
      FieldsDocument(members), in: isMoved ? row.container : beneath.container, version: row.version)
    try setLocal(next, table, laid, in: transaction)
  }
}
