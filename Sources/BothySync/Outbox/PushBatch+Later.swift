import BothyStore

/// Sends stacked changes in the same request, each on top of the operation before it. So a record that many
/// transactions changed doesn't cost a round trip for each.
extension PushBatchBuilder {
  /// The last operation of a record in this batch that others may follow.
  struct Link {
    /// The operation's id.
    var operation: String
    /// The revision that it was made from.
    var revision: Int64
    /// The record after the operation, or `nil` for a deletion.
    var base: Outbox.Entry.Base?
  }

  /// Returns the entries of some records. For an entry with a transaction or stacked changes, also returns the entries
  /// of all records that its transactions changed.
  func needed(by records: [RecordID]) throws -> [Outbox.Entry] {
    var needed: [Outbox.Entry] = []
    var seen: Set<RecordID> = []
    for record in records {
      guard let entry = try OutboxQueue.entry(record, in: transaction) else { continue }
      let closure =
        try entry.group != nil || entry.isBeneath ? OutboxQueue.closure(of: record, in: transaction) : [entry]
      needed += closure.filter { seen.insert($0.record).inserted }
    }
    return needed
  }

  /// Notes that the changes stacked on an entry may follow its operation.
  mutating func link(_ entry: Outbox.Entry, _ operation: String) throws {
    guard entry.isBeneath else { return }
    let table = try transaction.catalog.table(entry.record.type)
    let base = try OutboxQueue.local(entry, table, in: transaction).map { row in
      Outbox.Entry.Base(
        version: OutboxQueue.unsentVersion, fields: table.document(row), container: row.container)
    }
    links[entry.record] = Link(operation: operation, revision: entry.revision, base: base)
    if !following.contains(entry.record) { following.append(entry.record) }
  }

  /// Returns the operation that a stacked change follows. Returns `nil` if the change beneath isn't sent in this batch,
  /// or leaves the record in another state than the change was made on.
  func predecessor(of entry: Outbox.Entry) throws -> String? {
    guard entry.isLater, let link = links[entry.record], link.base == entry.base,
      try OutboxQueue.later(of: entry.record, above: link.revision, limit: 1, in: transaction).first?.revision
        == entry.revision
    else { return nil }
    return link.operation
  }

  /// Sends the changes that may follow the operations so far.
  mutating func addFollowing() throws {
    while let record = following.popLast(), !isFull, batch.items.count < limit {
      guard let link = links[record],
        let next = try OutboxQueue.later(of: record, above: link.revision, limit: 1, in: transaction).first
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

  /// Adds the change that a change in doubt was made on before it. Returns false if that one is no longer in doubt,
  /// because the server hasn't applied it.
  mutating func goesBeneath(_ entry: Outbox.Entry) throws -> Bool {
    guard entry.isLater else { return true }
    guard let beneath = try OutboxQueue.beneath(entry, in: transaction), let operation = beneath.operationID
    else {
      return false
    }
    if batch.items.contains(where: { $0.operation.id == operation }) { return true }
    if let group = beneath.sentGroup {
      try addGroupInDoubt(group, nil)
    } else if try goesBeneath(beneath), batch.items.count < limit,
      let sent = try OutboxQueue.sentOperation(of: beneath, in: transaction)
    {
      try addInDoubt(sent, of: beneath)
    }
    return true
  }

  /// Reports the members of transactions that can't be sent yet.
  mutating func noteWaiting() throws {
    guard !isFull, batch.items.count < limit, try OutboxQueue.hasLater(in: transaction) else { return }
    for group in try OutboxQueue.groups(in: transaction) where !groups.contains(group) {
      let members = try OutboxQueue.members(of: group, in: transaction)
      guard let obstacle = members.first(where: \.isLater) else { continue }
      batch.blocked += members.filter { !$0.isLater }.map { ($0.record, obstacle.record) }
    }
  }

  /// Adds a stacked change in doubt again just as it was sent.
  private mutating func addInDoubt(_ entry: Outbox.Entry) throws {
    if let group = entry.sentGroup { return try addGroupInDoubt(group, nil) }
    guard let operation = try OutboxQueue.sentOperation(of: entry, in: transaction) else {
      return try OutboxQueue.recall(entry.record, entry.operationID, in: transaction)
    }
    try addInDoubt(operation, of: entry)
  }

  private mutating func add(later entry: Outbox.Entry) throws {
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
