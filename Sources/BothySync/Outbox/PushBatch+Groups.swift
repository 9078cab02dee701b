import BothyStore

/// Sends each transaction whole or not at all. Its operations are adjacent in one request, after the new records that
/// they refer to.
extension PushBatchBuilder {
  /// Adds groups before single changes, so that a large one finds room. Groups that need each other are fused and added
  /// again.
  mutating func addGroups() throws {
    repeat {
      for group in try OutboxQueue.groups(in: transaction) where !isFull && batch.items.count < limit {
        try add(group: group)
        try addFollowing()
      }
    } while try !isFull && batch.items.count < limit && fuseCycles()
  }

  mutating func add(group: String) throws {
    guard !groups.contains(group) else { return }
    let members = try OutboxQueue.members(of: group, in: transaction)
    // A group is sent after the transactions that it is stacked on.
    guard try members.allSatisfy({ try !$0.isLater || predecessor(of: $0) != nil }) else {
      if try isNeededBeneath(members) { needing.append(.group(group)) }
      return
    }
    groups.insert(group)
    if holdsGroups, let first = members.first {
      batch.holdsGroups = true
      return wait(Set(members.map(\.record)), for: first.record)
    }
    if let obstacle = members.first(where: { !isReady($0) }) { return block(members, by: obstacle.record) }
    let records = Set(members.map(\.record))
    for record in records where links[record] == nil { visited[record] = .open }
    var contents: [(entry: Outbox.Entry, row: StoredRow?, fields: [String: JSONValue])] = []
    var waiting: RecordID?
    for member in members {
      guard member.kind != .delete else {
        contents.append((member, nil, [:]))
        continue
      }
      let table = try transaction.catalog.table(member.record.type)
      guard let (row, fields) = try content(of: member, table) else {
        if case .blocked? = visited[member.record] { return block(members, by: member.record) }
        continue
      }
      contents.append((member, row, fields))
      if try needsBlobs(member.record, member.kind, member.revision, fields, table) {
        waiting = member.record
      }
      for target in try newRecords(in: fields, table) where !records.contains(target) {
        if try isSent(target) { continue }
        needing.append(.group(group))
        return isFull ? reopen(group, records) : block(members, by: target)
      }
    }
    if let waiting { return wait(records, for: waiting) }
    guard batch.items.isEmpty || batch.items.count + contents.count <= limit else {
      // A group that is larger than a batch has a request to itself.
      isFull = true
      return
    }
    let size = contents.count
    for (entry, row, fields) in try inSendingOrder(contents) {
      try send(
        entry, transaction.catalog.table(entry.record.type), fields: fields, isPartial: false,
        container: row?.container, group: size > 1 ? SyncOperation.Group(id: group, size: size) : nil)
    }
  }

  /// Adds a group whose outcome is unknown again just as it was sent.
  mutating func addGroupInDoubt(_ group: String, _ records: Set<RecordID>?) throws {
    let members = try OutboxQueue.membersInDoubt(of: group, in: transaction)
    let found = try members.compactMap { entry in
      try OutboxQueue.sentOperation(of: entry, in: transaction).map { (operation: $0, entry: entry) }
    }
    guard found.count == members.count else {
      for member in members { try OutboxQueue.recall(member.record, member.operationID, in: transaction) }
      return
    }
    if let records, !found.contains(where: { records.contains($0.operation.record) }) { return }
    guard try members.allSatisfy({ try goesBeneath($0) }) else {
      // The server didn't apply what one of them was made on, so it applied none of them.
      for member in members { try OutboxQueue.recall(member.record, member.operationID, in: transaction) }
      return
    }
    var waiting: RecordID?
    for (operation, entry) in found where try needsBlobs(operation, revision: entry.revision) {
      waiting = operation.record
    }
    if let waiting { return wait(Set(found.map(\.operation.record)), for: waiting) }
    guard batch.items.isEmpty || batch.items.count + found.count <= limit else {
      isFull = true
      return
    }
    guard groups.insert(group).inserted else { return }
    for (operation, entry) in found { try addInDoubt(operation, of: entry) }
  }

  /// Makes all of a group wait, for the blobs of one of its records or for missing pages.
  private mutating func wait(_ records: Set<RecordID>, for record: RecordID) {
    for member in records { visited[member] = .blocked(by: record) }
  }

  func isReady(_ entry: Outbox.Entry) -> Bool {
    entry.state == .pending && entry.operationID == nil && entry.retryAt <= now
      && !heldTypes.contains(entry.record.type)
  }

  /// Returns the records that the fields refer to and that the server doesn't have yet.
  func newRecords(in fields: [String: JSONValue], _ table: TypeTable) throws -> [RecordID] {
    try table.schema.fields.flatMap { $0.targets(of: fields[$0.name]) }
      .filter { try OutboxQueue.mark($0, in: transaction)?.kind == .insert }
  }

  /// Sends first what a group needs. Returns false if that can't be sent now.
  private mutating func isSent(_ target: RecordID) throws -> Bool {
    guard let entry = try OutboxQueue.entry(target, in: transaction) else { return true }
    if visited[target] == nil, entry.state == .pending, entry.retryAt <= now, entry.operationID == nil,
      depth < Self.depthLimit
    {
      depth += 1
      defer { depth -= 1 }
      try add(entry)
    }
    return if case .sent? = visited[target] { true } else { false }
  }

  /// Leaves a group that finds no room for the next request.
  private mutating func reopen(_ group: String, _ members: Set<RecordID>) {
    groups.remove(group)
    for member in members where links[member] == nil { visited[member] = nil }
  }

  /// Blocks all of the group. Doesn't report an obstacle that is only in doubt, because this request resolves it.
  private mutating func block(_ members: [Outbox.Entry], by obstacle: RecordID) {
    let isInDoubt = members.contains { $0.record == obstacle && $0.operationID != nil }
    for member in members
    where visited[member.record].map({ if case .sent = $0 { false } else { true } }) ?? true {
      visited[member.record] = .blocked(by: obstacle)
      if member.record != obstacle && !isInDoubt { batch.blocked.append((member.record, obstacle)) }
    }
  }

  private func inSendingOrder(
    _ contents: [(entry: Outbox.Entry, row: StoredRow?, fields: [String: JSONValue])]
  ) throws -> [(entry: Outbox.Entry, row: StoredRow?, fields: [String: JSONValue])] {
    let order = transaction.catalog.tablesByReference.map(\.schema.name)
    func rank(_ entry: Outbox.Entry) -> Int {
      let position = order.firstIndex(of: entry.record.type) ?? 0
      switch entry.kind {
      case .insert: return position
      case .update: return order.count + position
      case .delete: return 3 * order.count - position
      }
    }
    return contents.map { (rank($0.entry), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
  }
}
