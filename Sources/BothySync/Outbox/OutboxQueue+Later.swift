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
  static func removeLater(
    _ entry: Outbox.Entry, _: Journal.Noted, in transaction: WriteTransaction
  ) throws {
    try delete(entry, in: transaction)
    guard let first = try self.entry(entry.id, in: transaction), first.isBeneath else { return }
    let top = try last(of: entry.id, in: transaction) ?? first
    guard top.isBeneath else { return }
    let table = try transaction.catalog.table(entry.id.type)
    try setContent(of: top, nil, table, keeping: nil, in: transaction)
  }
}

/// The ends of changes that have others stacked on them, and of those others. The next change becomes the entry, a
/// change between others is undone, or the rest is rebased.
extension OutboxQueue {
  /// Undoes a later change and keeps those stacked on it. Returns the next one if it was made on the undone content.
  @discardableResult
  static func undo(
    later entry: Outbox.Entry, _ noted: Journal.Noted, in transaction: WriteTransaction
  ) throws -> Outbox.Entry? {
    let (id, table) = (entry.id, try transaction.catalog.table(entry.id.type))
    let first = try self.entry(id, in: transaction)
    var before = try beneath(entry, in: transaction).flatMap { try local($0, table, in: transaction) }
    before?.version = first?.base?.version == unsentVersion ? nil : first?.base?.version
    before?.metadata = RecordMetadata(modified: first?.editedTime).filled(from: first?.base?.metadata)
      .filled(from: RecordMetadata(created: first?.editedTime))
    if try !later(of: id, above: entry.revision, limit: 1, in: transaction).isEmpty {
      let row = try local(entry, table, in: transaction)
      try rebase(id, from: row, to: before, above: entry.revision, in: transaction)
    } else if let before {
      try transaction.replace(table, id: id.id, before)
    } else {
      try transaction.evict(table, id: id.id)
    }
    try end(entry, noted, in: transaction)
    guard let next = try later(of: id, above: entry.revision, limit: 1, in: transaction).first,
      next.base.map({ Content($0, id.type) }) != before.map({ Content($0, table) })
    else { return nil }
    return next
  }

  /// Makes the next change of a record its entry, after the first has ended. Returns true if a value had to be filled
  /// in or left out.
  ///
  /// If the server has the state that the next change was made on, or the record whose deletion it follows, the change
  /// continues from there. Otherwise its conflict with the server's version is decided when it is sent.
  static func advance(
    _ ended: Outbox.Entry, reported answer: ServerRecord?, isPulling: Bool, in transaction: WriteTransaction
  ) throws -> Bool {
    let id = ended.id
    let reported =
      try answer == nil ? Self.reported(of: ended, in: transaction) : ended.reported(since: answer)
    let live = reported?.live
    var rest = try later(of: id, limit: 2, in: transaction)
    let isOver =
      try reported == nil && !later(of: id, in: transaction).contains { try edits($0, in: transaction) }
    while let next = rest.first, live == nil, next.change == .delete || isOver {
      let noted = try Journal.note(
        next, reported == nil ? .withdrawn : .accepted, reported == nil ? .takenBack : .agreed,
        in: transaction)
      try end(next, noted, in: transaction)
      rest = try later(of: id, limit: 2, in: transaction)
    }
    guard var next = rest.first else {
      return try show(ended, reported: answer, isPulling: isPulling, in: transaction)
    }
    let isSame =
      live.map { live in
        next.base.map { Content($0, id.type) } == Content(Outbox.Entry.Base(live), id.type)
      } ?? false
    if let live, isSame || next.base == nil && live.version == ended.base?.version {
      next.base = Outbox.Entry.Base(live)
      if next.change == .insert { next.change = .update }
    } else if reported == nil {
      // The server never had the record, so the local content is new there.
      (next.base, next.change) = (nil, .insert)
    }
    try begin(next, isLast: rest.count == 1, isLeaving: ended.isLeaving, in: transaction)
    // An answer that doesn't know the record says nothing about a later time.
    if let reported, !isSame, next.base?.version != reported.version, reported.version != String(Int64.max) {
      try hear(reported, in: transaction)
    }
    if let reported = ended.reported(since: answer) {
      try AudienceTable.set(reported.isDeleted ? .nobody : reported.sharing, of: id, in: transaction)
    }
    if rest.count == 1, let live {
      try know(Outbox.Entry.Base(live), of: id, transaction.catalog.table(id.type), in: transaction)
    }
    // The change was sent on top of one that ended otherwise, so the server's result is requested.
    if next.operationID != nil && !isSame {
      try Refetch.mark(id, in: live?.container ?? ended.container, in: transaction)
    }
    return false
  }

  /// True if a later change is one of fields. Moving and sharing alone don't recreate a missing record.
  static func edits(_ next: Outbox.Entry, in transaction: ReadTransaction) throws -> Bool {
    guard let base = next.base, next.change != .delete else { return next.change != .delete }
    let table = try transaction.catalog.table(next.id.type)
    return try local(next, table, in: transaction).map { table.document($0) != base.fields } ?? true
  }

  private static func begin(
    _ next: Outbox.Entry, isLast: Bool, isLeaving: Bool, in transaction: WriteTransaction
  ) throws {
    try transaction.run(
      """
      INSERT INTO bothy_outbox (\(columns), sent, last)
      SELECT \(columns), sent, last FROM bothy_later WHERE type = ?1 AND id = ?2 AND revision = ?3
      """, next.id, next.revision)
    try delete(next, in: transaction)
    try transaction.run(
      """
      UPDATE bothy_outbox SET kind = ?3, base_version = ?4, base = ?5, container = ?6, leaving = ?7, awaiting = ?8,
        base_created = ?9, base_modified = ?10, base_owner = ?11
      WHERE type = ?1 AND id = ?2
      """, next.id, next.change.number, next.base?.version, next.base?.fields,
      next.base == nil ? next.container : next.base?.container, isLeaving,
      isLast ? 0 : Outbox.Entry.Awaited.Keeping.beneath.rawValue, next.base?.metadata)
  }

  /// Ends all changes stacked on a record's entry.
  ///
  /// - Parameter note: notes the end of each change in the journal.
  static func endLater(
    of id: RecordID, in transaction: WriteTransaction, _ note: (Outbox.Entry) throws -> Journal.Noted
  ) throws {
    for entry in try later(of: id, in: transaction) { _ = try note(entry) }
    try transaction.run("DELETE FROM bothy_later WHERE type = ? AND id = ?", id)
  }

  /// Removes the effect of a change from those stacked on it, which continue from the state that it was made on.
  static func takeOut(_ entry: Outbox.Entry, in transaction: WriteTransaction) throws {
    guard entry.isBeneath, let base = entry.base else { return }
    let table = try transaction.catalog.table(entry.id.type)
    let before = try table.row(base.fields, in: base.container ?? entry.container)
    let local = try local(entry, table, in: transaction)
    try rebase(entry.id, from: local, to: before, in: transaction)
  }

  /// Rebases changes from the state that they were made on to another. They keep what they changed and take the rest
  /// from the new state.
  ///
  /// Stops at a change of a field that differs between the two states. The server answers that change with a conflict,
  /// and the merge policy decides. Counters and the like keep both changes.
  ///
  /// - Parameter movesDoubt: true to rebase changes in doubt too, false if the state that they were sent on is undone
  ///   here.
  static func rebase(
    _ id: RecordID, from former: StoredRow?, to current: StoredRow?, above revision: Int64 = .min,
    movesDoubt: Bool = false, in transaction: WriteTransaction
  ) throws {
    guard let former, let current else { return }
    let table = try transaction.catalog.table(id.type)
    var (old, new) = (Content(former, table), Content(current, table))
    guard old != new else { return }
    for entry in try later(of: id, above: revision, in: transaction) where old != new {
      guard let base = entry.base, Content(base, id.type) == old, movesDoubt || entry.operationID == nil
      else { return }
      // The merge policy decides about a deletion of a record that others changed meanwhile.
      guard entry.change != .delete, let row = try local(entry, table, in: transaction) else { return }
      let mine = Content(row, table)
      guard let fields = try moved(mine, from: old, to: new, table.schema) else { return }
      try setBase(of: entry, new, in: transaction)
      let moved = try table.row(
        fields, in: mine.container == old.container ? new.container : mine.container, version: row.version)
      try setLocal(entry, table, moved, in: transaction)
      (old, new) = (mine, Content(moved, table))
    }
  }

  /// Returns the result of a change on another state, or `nil` if it changed what differs there.
  private static func moved(
    _ mine: Content, from old: Content, to new: Content, _ schema: TypeSchema
  ) throws -> FieldsDocument? {
    if mine.container != old.container && new.container != old.container { return nil }
    let (before, after) = try (old.fields.members(), new.fields.members())
    let members = try mine.fields.members()
    for name in Set(before.keys).union(after.keys) where before[name] != after[name] {
      let isChanged = members[name] != before[name]
      if members[name] == after[name] { continue }
      guard !isChanged || schema[name]?.merge.ofOnePerson != .local && schema[name] != nil else {
        return nil
      }
    }
    return FieldsDocument(members.laid(on: after, since: before, schema))
  }

  static func setBase(
    of entry: Outbox.Entry, _ content: Content, in transaction: WriteTransaction
  ) throws {
    try update(
      entry, "SET base = ?4, container = ?5", content.fields,
      content.container == entry.id.type ? nil : content.container, in: transaction)
  }

  // MARK: fusing several transactions into one

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
      next.group == nil || next.group == group, next.operationID == nil, next.stage == .pending
    else { return }
    let table = try transaction.catalog.table(id.type)
    let stale = try stale(next, on: entry, table, in: transaction)
    try fuse(next, into: entry, in: transaction)
    if !stale.isEmpty {
      let change = Change.Stale(version: agedVersion, values: stale)
      if let entry = try self.entry(id, in: transaction) {
        try rebase(entry, to: change, table, at: time, in: transaction)
      }
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
    let last = ChangeCoalescing.Last(entry.change, hasBase: entry.base != nil)
    guard case .become(let kind) = try ChangeCoalescing(last, then: next.change) else {
      // Created and deleted: nothing of either remains.
      try takeBack(next, in: transaction)
      return try takeBack(entry, in: transaction)
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
      SET kind = ?4, share = ?5, former = ?7, (\(columns)) =
        (SELECT \(columns) FROM bothy_later WHERE type = ?1 AND id = ?2 AND revision = ?6)
      """, kind.number, sharing?.json, gone.revision, FormerValues(next.former).added(to: entry.former),
      in: transaction)
    try delete(gone, in: transaction)
    guard entry.change == .delete, kind != .delete else { return }
    if let made = try change(of: next.id, at: next.revision, in: transaction) {
      try carry(into: made, in: transaction)
    }
  }

  /// Rebases a change on the result of the change beneath it, if it was made on another state.
  private static func lay(
    _ next: Outbox.Entry, on entry: Outbox.Entry, in transaction: WriteTransaction
  ) throws {
    let table = try transaction.catalog.table(next.id.type)
    guard let base = next.base, let beneath = try local(entry, table, in: transaction),
      let row = try local(next, table, in: transaction),
      Content(base, next.id.type) != Content(beneath, table)
    else { return }
    let (mine, old, new) = (Content(row, table), Content(base, next.id.type), Content(beneath, table))
    let members = try mine.fields.members().laid(
      on: new.fields.members(), since: old.fields.members(), table.schema)
    let laid = try table.row(
      FieldsDocument(members), in: mine.container == old.container ? new.container : mine.container,
      version: row.version)
    try setLocal(next, table, laid, in: transaction)
  }
}
