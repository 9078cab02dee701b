import BothyStore

/// The ends of changes that have others stacked on them, and of those others. The next change becomes the entry, a
/// change between others is undone, or the rest is rebased.
extension OutboxQueue {
  /// Undoes a later change and keeps those stacked on it. Returns the next one if it was made on the undone content.
  @discardableResult
  static func undo(
    later entry: Outbox.Entry, _: Journal.Noted, in transaction: WriteTransaction
  ) throws -> Outbox.Entry? {
    let (id, table) = (entry.record, try transaction.catalog.table(entry.record.type))
    let first = try self.entry(id, in: transaction)
    var before = try beneath(entry, in: transaction).flatMap { try local($0, table, in: transaction) }
    before?.version = first?.base?.version == unsentVersion ? nil : first?.base?.version
    before?.metadata = RecordMetadata(modified: first?.edited).filled(from: first?.base?.metadata)
      .filled(from: RecordMetadata(created: first?.edited))
    if try !later(of: id, above: entry.revision, limit: 1, in: transaction).isEmpty {
      let row = try local(entry, table, in: transaction)
      try rebase(id, from: row, to: before, above: entry.revision, in: transaction)
    } else if let before {
      try transaction.replace(table, id: id.id, before)
    } else {
      try transaction.evict(table, id: id.id)
    }
    try removeLater(entry, in: transaction)
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
    _ ended: Outbox.Entry, told answer: ServerRecord?, isPulling: Bool, in transaction: WriteTransaction
  ) throws -> Bool {
    let id = ended.record
    let told = try answer == nil ? Self.told(of: ended, in: transaction) : ended.told(since: answer)
    let live = told?.live
    var rest = try later(of: id, limit: 2, in: transaction)
    let isOver =
      try told == nil && !later(of: id, in: transaction).contains { try edits($0, in: transaction) }
    while let next = rest.first, live == nil, next.kind == .delete || isOver {
      try Journal.note(
        next, told == nil ? .withdrawn : .accepted, told == nil ? .takenBack : .agreed, in: transaction)
      try removeLater(next, in: transaction)
      rest = try later(of: id, limit: 2, in: transaction)
    }
    guard var next = rest.first else {
      return try show(ended, told: answer, isPulling: isPulling, in: transaction)
    }
    let isSame =
      live.map { live in
        next.base.map { Content($0, id.type) } == Content(Outbox.Entry.Base(live), id.type)
      } ?? false
    if let live, isSame || next.base == nil && live.version == ended.base?.version {
      next.base = Outbox.Entry.Base(live)
      if next.kind == .insert { next.kind = .update }
    } else if told == nil {
      // The server never had the record, so the local content is new there.
      (next.base, next.kind) = (nil, .insert)
    }
    try begin(next, isLast: rest.count == 1, isLeaving: ended.isLeaving, in: transaction)
    // An answer that doesn't know the record says nothing about a later time.
    if let told, !isSame, next.base?.version != told.version, told.version != String(Int64.max) {
      try hear(told, in: transaction)
    }
    var known = try AudienceTable(transaction)
    if let told = ended.told(since: answer) { try known.set(told.isDeleted ? .nobody : told.sharing, of: id) }
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
  private static func edits(_ next: Outbox.Entry, in transaction: ReadTransaction) throws -> Bool {
    guard let base = next.base, next.kind != .delete else { return next.kind != .delete }
    let table = try transaction.catalog.table(next.record.type)
    return try local(next, table, in: transaction).map { table.document($0) != base.fields } ?? true
  }

  private static func begin(
    _ next: Outbox.Entry, isLast: Bool, isLeaving: Bool, in transaction: WriteTransaction
  ) throws {
    try transaction.run(
      """
      INSERT INTO bothy_outbox (\(columns), sent, last)
      SELECT \(columns), sent, last FROM bothy_later WHERE type = ?1 AND id = ?2 AND revision = ?3
      """, next.record, next.revision)
    try delete(next, in: transaction)
    try transaction.run(
      """
      UPDATE bothy_outbox SET kind = ?3, base_version = ?4, base = ?5, container = ?6, leaving = ?7, awaiting = ?8,
        base_created = ?9, base_modified = ?10, base_owner = ?11
      WHERE type = ?1 AND id = ?2
      """, next.record, next.kind.number, next.base?.version, next.base?.fields,
      next.base == nil ? next.container : next.base?.container, isLeaving,
      isLast ? 0 : Outbox.Entry.Awaited.Keeping.beneath.rawValue, next.base?.metadata)
  }

  /// Ends all changes stacked on a record's entry, which the journal has already noted.
  static func removeLater(of id: RecordID, in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_later WHERE type = ? AND id = ?", id)
  }

  /// Removes the effect of a change from those stacked on it, which continue from the state that it was made on.
  static func takeOut(_ entry: Outbox.Entry, in transaction: WriteTransaction) throws {
    guard entry.isBeneath, let base = entry.base else { return }
    let table = try transaction.catalog.table(entry.record.type)
    let before = try table.row(base.fields, in: base.container ?? entry.container)
    let local = try local(entry, table, in: transaction)
    try rebase(entry.record, from: local, to: before, in: transaction)
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
      guard entry.kind != .delete, let row = try local(entry, table, in: transaction) else { return }
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
      guard !isChanged || schema[name]?.merge.ofOnePerson != .client && schema[name] != nil else {
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
      content.container == entry.record.type ? nil : content.container, in: transaction)
  }
}
