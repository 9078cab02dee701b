import BothyStore

/// Which changes belong together: those of one together-write, and of others that it can't be sent without.
///
/// A change has one of two bonds. `group` ties what was not sent yet; `sentGroup` ties the operation whose outcome is
/// unknown, and is part of that operation.
extension Outbox {
  /// An edit of one member may cure what the server refused of another: all of the group is tried again.
  static func forgive(_ group: String, in transaction: WriteTransaction) throws {
    let update = try PreparedStatement(
      """
      UPDATE bothy_outbox SET \(triedAgain) WHERE together = ? AND reason IS NOT NULL
      """, in: transaction.database)
    update.bind(group, at: 1)
    try update.run()
    transaction.joined.insert(group)
  }

  /// The groups with changes that were not sent yet. One look at an index that is empty without groups.
  static func groups(in transaction: ReadTransaction) throws -> [String] {
    let select = try PreparedStatement(
      """
      SELECT DISTINCT together FROM bothy_outbox INDEXED BY bothy_outbox_together WHERE together IS NOT NULL
      """, in: transaction.database)
    defer { select.reset() }
    var groups: [String] = []
    while try select.step() { if let group = select.text(at: 0) { groups.append(group) } }
    return groups
  }

  static func members(of group: String, in transaction: ReadTransaction) throws -> [OutboxEntry] {
    try entries(where: "together = ?", [.text(group)], in: transaction)
      + laterEntries(where: "together = ?", [.text(group)], in: transaction)
  }

  /// What was sent of a group, in the order it was sent.
  static func membersInDoubt(of group: String, in transaction: ReadTransaction) throws -> [OutboxEntry] {
    let members =
      try entries(where: "sent_together = ?", [.text(group)], in: transaction)
      + laterEntries(where: "sent_together = ?", [.text(group)], in: transaction)
    return members.sorted { $0.operationID ?? "" < $1.operationID ?? "" }
  }

  static func memberCount(of group: String, in transaction: ReadTransaction) throws -> Int {
    let select = try PreparedStatement(
      """
      SELECT (SELECT count(*) FROM bothy_outbox WHERE together = ?1)
        + (SELECT count(*) FROM bothy_later WHERE together = ?1)
      """, in: transaction.database)
    select.bind(group, at: 1)
    defer { select.reset() }
    return try select.step() ? Int(select.int(at: 0)) : 0
  }

  /// The change as it is pending now; nil where it is not.
  static func current(_ entry: OutboxEntry, in transaction: ReadTransaction) throws -> OutboxEntry? {
    try change(of: entry.record, at: entry.revision, in: transaction)
  }

  /// Whether any entry is tied to another.
  static func hasGroups(in transaction: ReadTransaction) throws -> Bool {
    let select = try PreparedStatement(
      """
      SELECT EXISTS (SELECT 1 FROM bothy_outbox WHERE together IS NOT NULL)
        OR EXISTS (SELECT 1 FROM bothy_later)
        OR EXISTS (SELECT 1 FROM bothy_outbox WHERE sent_together IS NOT NULL)
      """, in: transaction.database)
    defer { select.reset() }
    return try select.step() && select.int(at: 0) != 0
  }

  /// All that stands or falls with a record's entry, the entry itself first; empty when it has none.
  static func unit(of id: RecordID, in transaction: ReadTransaction) throws -> [OutboxEntry] {
    guard let first = try entry(id, in: transaction) else { return [] }
    var unit = [first]
    var revisions: [RecordID: Set<Int64>] = [id: [first.revision]]
    var seen: Set<String> = []
    var open = [first.group, first.sentGroup].compactMap { $0 }
    while let group = open.popLast() {
      guard seen.insert(group).inserted else { continue }
      for entry in try tied(by: group, in: transaction)
      where revisions[entry.record, default: []].insert(entry.revision).inserted {
        unit.append(entry)
        open += [entry.group, entry.sentGroup].compactMap { $0 }
      }
    }
    return unit
  }

  /// What is pending or in doubt of a together-write.
  private static func tied(by group: String, in transaction: ReadTransaction) throws -> [OutboxEntry] {
    try entries(where: "together = ?1 OR sent_together = ?1", [.text(group)], in: transaction)
      + laterEntries(where: "together = ?1 OR sent_together = ?1", [.text(group)], in: transaction)
  }

  /// The entries of all records that a decision about all pending work of one is about: those that any of its
  /// transactions changed, and so on.
  static func closure(of id: RecordID, in transaction: ReadTransaction) throws -> [OutboxEntry] {
    var closure: [OutboxEntry] = []
    var (open, seen, groups): ([RecordID], Set<RecordID>, Set<String>) = ([id], [id], [])
    while let record = open.popLast() {
      guard let entry = try entry(record, in: transaction) else { continue }
      closure.append(entry)
      for change in try [entry] + later(of: record, in: transaction) {
        for group in [change.group, change.sentGroup].compactMap({ $0 }) where groups.insert(group).inserted {
          let records = try tied(by: group, in: transaction).map(\.record)
          open += records.filter { seen.insert($0).inserted }
        }
      }
    }
    return closure
  }

  /// Removes all pending work of a record; the changes that were written together with it are undone.
  ///
  /// - Parameter note: notes in the journal what becomes of each.
  static func forget(
    _ id: RecordID, in transaction: WriteTransaction, _ note: (OutboxEntry) throws -> Journal.Noted
  ) throws {
    guard let first = try entry(id, in: transaction) else { return }
    try forgetTies(of: [first], in: transaction, note)
    try forgetLater(of: id, in: transaction, note)
    if let entry = try entry(id, in: transaction) { try remove(id, note(entry), in: transaction) }
  }

  /// Removes the changes on top of a record's entry in the same way.
  static func forgetLater(
    of id: RecordID, in transaction: WriteTransaction, _ note: (OutboxEntry) throws -> Journal.Noted
  ) throws {
    try forgetTies(of: later(of: id, in: transaction), in: transaction, note)
    for entry in try later(of: id, in: transaction) { _ = try note(entry) }
    try removeLater(of: id, in: transaction)
  }

  /// Undoes what was written together with changes of one record.
  private static func forgetTies(
    of changes: [OutboxEntry], in transaction: WriteTransaction, _ note: (OutboxEntry) throws -> Journal.Noted
  ) throws {
    var done: Set<String> = []
    for change in changes {
      for group in [change.group, change.sentGroup].compactMap({ $0 }) where done.insert(group).inserted {
        for entry in try tied(by: group, in: transaction).reversed() where entry.record != change.record {
          try InboxDecision.undo(entry, note(entry), in: transaction)
        }
      }
    }
  }

  /// The member of an entry's group that the server has refused, if there is one.
  static func refusedMember(with entry: OutboxEntry, in transaction: ReadTransaction) throws -> OutboxEntry? {
    guard let group = entry.group, entry.reason == nil else { return nil }
    return try entries(
      where: "together = ? AND reason IS NOT NULL", [.text(group)], limit: 1, in: transaction
    )
    .first
  }
}
