import BothyStore

/// Sends changes that lie on top of others in the same request, each on top of the operation before it, so that a record
/// that many transactions changed costs no round trip for each.
extension PushBatchBuilder {
  /// The last operation of a record in this batch that others may follow.
  struct Link {
    /// The operation's id.
    var operation: String
    /// The revision that it was made of.
    var revision: Int64
    /// The record as it leaves it; nil for a deletion.
    var base: OutboxEntry.Base?
  }

  /// The entries of some records, and where any belongs to a transaction on top of others, those of all records that these
  /// changed.
  func needed(by records: [RecordID]) throws -> [OutboxEntry] {
    var needed: [OutboxEntry] = []
    var seen: Set<RecordID> = []
    for record in records {
      guard let entry = try Outbox.entry(record, in: transaction) else { continue }
      let closure =
        try entry.group != nil || entry.isBeneath ? Outbox.closure(of: record, in: transaction) : [entry]
      needed += closure.filter { seen.insert($0.record).inserted }
    }
    return needed
  }

  /// Notes that what lies on top of an entry may follow its operation.
  mutating func link(_ entry: OutboxEntry, _ operation: String) throws {
    guard entry.isBeneath else { return }
    let table = try transaction.catalog.table(entry.record.type)
    let base = try Outbox.local(entry, table, in: transaction).map { row in
      OutboxEntry.Base(
        version: Outbox.unsentVersion, fields: table.document(row), container: row.container)
    }
    links[entry.record] = Link(operation: operation, revision: entry.revision, base: base)
    if !following.contains(entry.record) { following.append(entry.record) }
  }

  /// The operation that a change on top of another is to follow; nil where that one does not go by this batch, or leaves
  /// the record otherwise than the change was made on.
  func predecessor(of entry: OutboxEntry) throws -> String? {
    guard entry.isLater, let link = links[entry.record], link.base == entry.base,
      try Outbox.later(of: entry.record, above: link.revision, limit: 1, in: transaction).first?.revision
        == entry.revision
    else { return nil }
    return link.operation
  }

  /// Sends what may follow what was sent so far.
  mutating func addFollowing() throws {
    while let record = following.popLast(), !isFull, batch.items.count < limit {
      guard let link = links[record],
        let next = try Outbox.later(of: record, above: link.revision, limit: 1, in: transaction).first
      else { continue }
      if next.operationID != nil {
        try addInDoubt(next)
      } else if let group = next.group {
        try add(group: group)
      } else {
        try add(later: next)
      }
    }
  }

  /// Sends again first what a change in doubt was made on. False where that is not in doubt any more: the server has not
  /// applied it.
  mutating func goesBeneath(_ entry: OutboxEntry) throws -> Bool {
    guard entry.isLater else { return true }
    guard let beneath = try Outbox.beneath(entry, in: transaction), let operation = beneath.operationID else {
      return false
    }
    if batch.items.contains(where: { $0.operation.id == operation }) { return true }
    if let group = beneath.sentGroup {
      try addGroupInDoubt(group, nil)
    } else if try goesBeneath(beneath), batch.items.count < limit,
      let sent = try Outbox.sentOperation(of: beneath, in: transaction)
    {
      try addInDoubt(sent, of: beneath)
    }
    return true
  }

  /// Tells of what belongs to transactions whose turn has not come.
  mutating func noteWaiting() throws {
    guard !isFull, batch.items.count < limit, try Outbox.hasLater(in: transaction) else { return }
    for group in try Outbox.groups(in: transaction) where !groups.contains(group) {
      let members = try Outbox.members(of: group, in: transaction)
      guard let obstacle = members.first(where: \.isLater) else { continue }
      batch.blocked += members.filter { !$0.isLater }.map { ($0.record, obstacle.record) }
    }
  }

  /// What was sent on top of another before goes as it was sent then.
  private mutating func addInDoubt(_ entry: OutboxEntry) throws {
    if let group = entry.sentGroup { return try addGroupInDoubt(group, nil) }
    guard let operation = try Outbox.sentOperation(of: entry, in: transaction) else {
      return try Outbox.recall(entry.record, entry.operationID, in: transaction)
    }
    try addInDoubt(operation, of: entry)
  }

  private mutating func add(later entry: OutboxEntry) throws {
    let record = entry.record
    guard entry.state == .pending, entry.retryAt <= now, !heldTypes.contains(record.type),
      try predecessor(of: entry) != nil
    else { return }
    let table = try transaction.catalog.table(record.type)
    guard entry.kind != .delete else { return try send(entry, table, fields: [:], isPartial: false) }
    guard let (row, fields) = try content(of: entry, table) else { return }
    let sent = visited[record]
    if try needsBlobs(record, entry.kind, entry.revision, fields, table) {
      visited[record] = sent
      return
    }
    for target in try newRecords(in: fields, table) where target != record {
      guard case .sent? = visited[target] else { return }
    }
    try send(entry, table, fields: fields, isPartial: false, container: row.container)
  }
}
