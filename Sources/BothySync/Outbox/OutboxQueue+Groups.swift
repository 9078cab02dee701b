import BothyStore

/// Changes that belong together: those of one transaction, and of others that it can't be sent without.
///
/// A change has one of two ties. `group` ties changes that aren't sent yet. `sentGroup` ties those of the operation
/// whose outcome is unknown, and is part of that operation.
extension OutboxQueue {
  /// Makes a whole group ready to be sent again, because an edit of one member may cure the rejection of another.
  static func forgive(_ group: String, in transaction: WriteTransaction) throws {
    try transaction.run(
      """
      UPDATE bothy_outbox SET \(triedAgain) WHERE together = ? AND reason IS NOT NULL
      """, group)
    transaction.joined.insert(group)
  }

  static func members(of group: String, in transaction: ReadTransaction) throws -> [Outbox.Entry] {
    try changes(where: "together = ?", [group], in: transaction)
  }

  /// Returns the changes of a group that were sent and are in doubt, in the order of sending.
  static func membersInDoubt(of group: String, in transaction: ReadTransaction) throws -> [Outbox.Entry] {
    try changes(where: "sent_together = ?", [group], in: transaction)
      .sorted { $0.operationID ?? "" < $1.operationID ?? "" }
  }

  static func memberCount(of group: String, in transaction: ReadTransaction) throws -> Int {
    try transaction.first(
      """
      SELECT (SELECT count(*) FROM bothy_outbox WHERE together = ?1)
        + (SELECT count(*) FROM bothy_later WHERE together = ?1)
      """, group
    ) { Int($0.int(at: 0)) } ?? 0
  }

  /// Returns the change as it is pending now, or `nil` if it isn't pending.
  static func current(_ entry: Outbox.Entry, in transaction: ReadTransaction) throws -> Outbox.Entry? {
    try change(of: entry.id, at: entry.revision, in: transaction)
  }

  /// Returns all entries that are decided about together with a record's entry, which is the first. Empty if it has
  /// none.
  static func unit(of id: RecordID, in transaction: ReadTransaction) throws -> [Outbox.Entry] {
    guard let first = try entry(id, in: transaction) else { return [] }
    var unit = [first]
    var revisions: [RecordID: Set<Int64>] = [id: [first.revision]]
    var seen: Set<String> = []
    var open = [first.group, first.sentGroup].compactMap { $0 }
    while let group = open.popLast() {
      guard seen.insert(group).inserted else { continue }
      for entry in try tied(by: group, in: transaction)
      where revisions[entry.id, default: []].insert(entry.revision).inserted {
        unit.append(entry)
        open += [entry.group, entry.sentGroup].compactMap { $0 }
      }
    }
    return unit
  }

  /// Returns the changes of a transaction that are pending or in doubt.
  private static func tied(by group: String, in transaction: ReadTransaction) throws -> [Outbox.Entry] {
    try changes(where: "together = ?1 OR sent_together = ?1", [group], in: transaction)
  }

  /// Returns the entries that a decision about all pending changes of a record applies to. These are the entries of the
  /// records that any of its transactions changed, transitively.
  static func closure(of id: RecordID, in transaction: ReadTransaction) throws -> [Outbox.Entry] {
    var closure: [Outbox.Entry] = []
    var (open, seen, groups): ([RecordID], Set<RecordID>, Set<String>) = ([id], [id], [])
    while let record = open.popLast() {
      let changes = try changes(of: record, in: transaction)
      closure += changes.prefix(1)
      for change in changes {
        for group in [change.group, change.sentGroup].compactMap({ $0 }) where groups.insert(group).inserted {
          let records = try tied(by: group, in: transaction).map(\.id)
          open += records.filter { seen.insert($0).inserted }
        }
      }
    }
    return closure
  }

  /// Removes all pending changes of a record, and undoes the changes that were written together with them.
  ///
  /// - Parameter note: notes the end of each change in the journal.
  static func forget(
    _ id: RecordID, in transaction: WriteTransaction, _ note: (Outbox.Entry) throws -> Journal.Noted
  ) throws {
    guard let first = try entry(id, in: transaction) else { return }
    try forgetTies(of: [first], in: transaction, note)
    try forgetLater(of: id, in: transaction, note)
    if let entry = try entry(id, in: transaction) { try remove(entry, note(entry), in: transaction) }
  }

  /// Removes the changes stacked on a record's entry in the same way.
  static func forgetLater(
    of id: RecordID, in transaction: WriteTransaction, _ note: (Outbox.Entry) throws -> Journal.Noted
  ) throws {
    try forgetTies(of: later(of: id, in: transaction), in: transaction, note)
    try endLater(of: id, in: transaction, note)
  }

  /// Undoes the changes of other records that were written together with changes of one record.
  private static func forgetTies(
    of changes: [Outbox.Entry], in transaction: WriteTransaction,
    _ note: (Outbox.Entry) throws -> Journal.Noted
  ) throws {
    var done: Set<String> = []
    for change in changes {
      for group in [change.group, change.sentGroup].compactMap({ $0 }) where done.insert(group).inserted {
        for entry in try tied(by: group, in: transaction).reversed() where entry.id != change.id {
          try OutboxDecision.undo(entry, note(entry), in: transaction)
        }
      }
    }
  }
}
