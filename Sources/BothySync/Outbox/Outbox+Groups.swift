import BothyStore

/// Which entries belong together: the changes of one together-write, and of those that share a record with it.
///
/// An entry has two bonds. `group` ties the changes that were not sent yet; `sentGroup` ties the operation whose
/// outcome is unknown, and is part of that operation. An edit during the flight belongs to the first alone.
extension Outbox {
  /// Ties an entry to a group. Whatever it was tied to before joins the group as a whole: a record that two
  /// together-writes changed makes them one.
  static func join(
    _ id: RecordID, to group: String, from former: String?, in transaction: WriteTransaction
  ) throws {
    if former == group { return }
    if let former { return try join(former, to: group, in: transaction) }
    let update = try PreparedStatement(
      "UPDATE bothy_outbox SET together = ?3 WHERE type = ?1 AND id = ?2", in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    update.bind(group, at: 3)
    try update.run()
  }

  /// Makes two groups one.
  static func join(_ former: String, to group: String, in transaction: WriteTransaction) throws {
    let update = try PreparedStatement(
      "UPDATE bothy_outbox SET together = ?2 WHERE together = ?1", in: transaction.database)
    update.bind(former, at: 1)
    update.bind(group, at: 2)
    try update.run()
  }

  /// An edit of one member may cure what the server refused of another: all of the group is tried again.
  static func forgive(_ group: String, in transaction: WriteTransaction) throws {
    let update = try PreparedStatement(
      """
      UPDATE bothy_outbox SET attempts = 0, retry_at = 0, reason = NULL,
        state = CASE state WHEN 2 THEN 0 ELSE state END WHERE together = ? AND reason IS NOT NULL
      """, in: transaction.database)
    update.bind(group, at: 1)
    try update.run()
  }

  /// What was sent of a group has not been applied: its changes wait again, tied as before.
  static func recall(_ id: RecordID, to group: String, in transaction: WriteTransaction) throws {
    if let since = try mark(id, in: transaction)?.group { try join(since, to: group, in: transaction) }
    let update = try PreparedStatement(
      """
      UPDATE bothy_outbox SET operation = NULL, sent = NULL, sent_revision = NULL, sent_together = NULL,
        together = ?3 WHERE type = ?1 AND id = ?2
      """, in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    update.bind(group, at: 3)
    try update.run()
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
  }

  static func memberCount(of group: String, in transaction: ReadTransaction) throws -> Int {
    let select = try PreparedStatement(
      "SELECT count(*) FROM bothy_outbox WHERE together = ?", in: transaction.database)
    select.bind(group, at: 1)
    defer { select.reset() }
    return try select.step() ? Int(select.int(at: 0)) : 0
  }

  /// Whether any entry is tied to another.
  static func hasGroups(in transaction: ReadTransaction) throws -> Bool {
    let select = try PreparedStatement(
      """
      SELECT EXISTS (SELECT 1 FROM bothy_outbox WHERE together IS NOT NULL)
        OR EXISTS (SELECT 1 FROM bothy_outbox WHERE sent_together IS NOT NULL)
      """, in: transaction.database)
    defer { select.reset() }
    return try select.step() && select.int(at: 0) != 0
  }

  /// All that stands or falls with a record's entry, the entry itself first; empty when it has none.
  static func unit(of id: RecordID, in transaction: ReadTransaction) throws -> [OutboxEntry] {
    guard let first = try entry(id, in: transaction) else { return [] }
    var unit = [first]
    var records: Set<RecordID> = [id]
    var seen: Set<String> = []
    var open = [first.group, first.sentGroup].compactMap { $0 }
    while let group = open.popLast() {
      guard seen.insert(group).inserted else { continue }
      let tied = try entries(
        where: "together = ?1 OR sent_together = ?1", [.text(group)], in: transaction)
      for entry in tied where records.insert(entry.record).inserted {
        unit.append(entry)
        open += [entry.group, entry.sentGroup].compactMap { $0 }
      }
    }
    return unit
  }

  /// Removes a record's entry; the changes that were written together with it are undone.
  ///
  /// - Parameter note: notes in the journal what becomes of each.
  static func forget(
    _ id: RecordID, in transaction: WriteTransaction, _ note: (OutboxEntry) throws -> Journal.Noted
  ) throws {
    let unit = try unit(of: id, in: transaction)
    for entry in unit.dropFirst() {
      try InboxDecision.revert(entry, note(entry), in: transaction)
    }
    if let entry = unit.first { try remove(id, note(entry), in: transaction) }
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
