import BothyStore

/// Sends each transaction whole or not at all. Its operations are adjacent in one request, after the new records that
/// they refer to.
extension PushBatchBuilder {
  /// Adds groups before single changes, so that a large one finds room. Groups that need each other are fused and added
  /// again.
  mutating func addGroups() throws {
    repeat {
      var last = ""
      while !isFull, batch.items.count < limit,
        let group = try OutboxQueue.group(after: last, in: transaction)
      {
        try add(group: group)
        try addFollowing()
        last = group
      }
    } while try fuseCycles()
  }

  mutating func add(group: String) throws {
    guard !groups.contains(group) else { return }
    let members = try OutboxQueue.members(of: group, in: transaction)
    // A group is sent after the transactions that it is stacked on.
    guard try members.allSatisfy({ try !$0.isLater || predecessor(of: $0) != nil }) else { return }
    groups.insert(group)
    if holdsGroups, let first = members.first {
      batch.holdsGroups = true
      return wait(Set(members.map(\.id)), for: first.id)
    }
    if let obstacle = members.first(where: { !isReady($0) }) { return block(members, by: obstacle.id) }
    let records = Set(members.map(\.id))
    for record in records where links[record] == nil { visited[record] = .open }
    var contents: [(entry: Outbox.Entry, row: StoredRow?, fields: [String: JSONValue])] = []
    var waiting: RecordID?
    for member in members {
      guard member.change != .delete else {
        contents.append((member, nil, [:]))
        continue
      }
      let table = try transaction.catalog.table(member.id.type)
      guard let (row, fields) = try content(of: member, table) else {
        if case .blocked? = visited[member.id] { return block(members, by: member.id) }
        continue
      }
      contents.append((member, row, fields))
      if try needsBlobs(member.id, member.change, member.revision, fields, table) {
        waiting = member.id
      }
      for target in try newRecords(in: fields, table) where !records.contains(target) {
        if try isSent(target) { continue }
        needing.append(.group(group))
        if isFull { return reopen(group, records) }
        try leaveOut(members, behind: target)
        return block(members, by: target)
      }
    }
    if let waiting {
      try leaveOut(members)
      return wait(records, for: waiting)
    }
    guard batch.items.isEmpty || batch.items.count + contents.count <= limit else {
      // A group that is larger than a batch has a request to itself.
      isFull = true
      return
    }
    let size = contents.count
    for (entry, row, fields) in try inSendingOrder(contents) {
      try send(
        entry, transaction.catalog.table(entry.id.type), fields: fields, isPartial: false,
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
      for member in members { try OutboxQueue.recall(member.id, member.operationID, in: transaction) }
      return
    }
    if let records, !found.contains(where: { records.contains($0.operation.record) }) { return }
    guard try members.allSatisfy({ try goesBeneath($0) }) else {
      // The server didn't apply what one of them was made on, so it applied none of them.
      for member in members { try OutboxQueue.recall(member.id, member.operationID, in: transaction) }
      return
    }
    var waiting: RecordID?
    for (operation, entry) in found where try needsBlobs(operation, revision: entry.revision) {
      waiting = operation.record
    }
    let own = Set(found.map(\.operation.record))
    if let waiting { return wait(own, for: waiting) }
    for (operation, _) in found {
      if let target = try missing(for: operation, besides: own) { return block(members, by: target) }
    }
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
    entry.stage == .pending && entry.operationID == nil && entry.retryAt <= now
      && !heldTypes.contains(entry.id.type)
  }

  /// Returns the records that the fields refer to and that the server doesn't have yet.
  func newRecords(in fields: [String: JSONValue], _ table: TypeTable) throws -> [RecordID] {
    try table.targets(of: fields).filter { try OutboxQueue.mark($0, in: transaction)?.kind == .insert }
  }

  /// Sends first what a group needs. Returns false if that can't be sent now.
  private mutating func isSent(_ target: RecordID) throws -> Bool {
    guard let entry = try OutboxQueue.entry(target, in: transaction) else { return true }
    if visited[target] == nil, isReady(entry), depth < Self.depthLimit {
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
    let isInDoubt = members.contains { $0.id == obstacle && $0.operationID != nil }
    for member in members
    where visited[member.id].map({ if case .sent = $0 { false } else { true } }) ?? true {
      visited[member.id] = .blocked(by: obstacle)
      if member.id != obstacle && !isInDoubt { batch.blocked.append((member.id, obstacle)) }
    }
  }

  private func inSendingOrder(
    _ contents: [(entry: Outbox.Entry, row: StoredRow?, fields: [String: JSONValue])]
  ) throws -> [(entry: Outbox.Entry, row: StoredRow?, fields: [String: JSONValue])] {
    let order = transaction.catalog.tablesByReference.map(\.schema.name)
    func rank(_ entry: Outbox.Entry) -> Int {
      let position = order.firstIndex(of: entry.id.type) ?? 0
      switch entry.change {
      case .insert: return position
      case .update: return order.count + position
      case .delete: return 3 * order.count - position
      }
    }
    return contents.map { (rank($0.entry), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
  }
}

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
      needed += closure.filter { seen.insert($0.id).inserted }
    }
    return needed
  }

  /// Notes that the changes stacked on an entry may follow its operation.
  mutating func link(_ entry: Outbox.Entry, _ operation: String) throws {
    guard entry.isBeneath else { return }
    let table = try transaction.catalog.table(entry.id.type)
    let base = try OutboxQueue.local(entry, table, in: transaction).map { row in
      Outbox.Entry.Base(
        version: OutboxQueue.unsentVersion, fields: table.document(row), container: row.container)
    }
    links[entry.id] = Link(operation: operation, revision: entry.revision, base: base)
    if !following.contains(entry.id) { following.append(entry.id) }
  }

  /// Returns the operation that a stacked change follows. Returns `nil` if the change beneath isn't sent in this batch,
  /// or leaves the record in another state than the change was made on.
  func predecessor(of entry: Outbox.Entry) throws -> String? {
    guard entry.isLater, let link = links[entry.id], link.base == entry.base,
      try OutboxQueue.later(of: entry.id, above: link.revision, limit: 1, in: transaction).first?.revision
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
    var last = ""
    while let group = try OutboxQueue.group(after: last, in: transaction) {
      last = group
      if groups.contains(group) { continue }
      let members = try OutboxQueue.members(of: group, in: transaction)
      guard let obstacle = members.first(where: \.isLater) else { continue }
      batch.blocked += members.filter { !$0.isLater }.map { ($0.id, obstacle.id) }
    }
  }

  /// Adds a stacked change in doubt again just as it was sent.
  private mutating func addInDoubt(_ entry: Outbox.Entry) throws {
    if let group = entry.sentGroup { return try addGroupInDoubt(group, nil) }
    guard let operation = try OutboxQueue.sentOperation(of: entry, in: transaction) else {
      return try OutboxQueue.recall(entry.id, entry.operationID, in: transaction)
    }
    try addInDoubt(operation, of: entry)
  }

  private mutating func add(later entry: Outbox.Entry) throws {
    let record = entry.id
    guard isReady(entry), try predecessor(of: entry) != nil else { return }
    let table = try transaction.catalog.table(record.type)
    guard entry.change != .delete else { return try send(entry, table, fields: [:], isPartial: false) }
    let sent = visited[record]
    guard let (row, fields) = try content(of: entry, table) else {
      visited[record] = sent
      return
    }
    if try needsBlobs(record, entry.change, entry.revision, fields, table) {
      visited[record] = sent
      return
    }
    for target in try newRecords(in: fields, table) where target != record {
      guard case .sent? = visited[target] else { return }
    }
    try send(entry, table, fields: fields, isPartial: false, container: row.container)
  }
}

/// Fuses transactions that need each other into one, because none of them could be sent before the others.
extension PushBatchBuilder {
  /// The changes that are sent as one.
  enum Unit: Hashable {
    case group(String)
    case single(RecordID, revision: Int64)

    init(_ entry: Outbox.Entry) {
      self = entry.group.map { .group($0) } ?? .single(entry.id, revision: entry.revision)
    }
  }

  /// Fuses the cycles among the units that need a record that wasn't sent. Returns true if any were fused. Does nothing
  /// if the request has no room for more.
  ///
  /// A unit needs the new records that it refers to, and the changes that its own are stacked on. The first of a cycle
  /// was made before all that it needs, so it needs a record of a later one. A transaction counts from there on, and a
  /// single change leads to a record of a transaction. The search begins only at such needs.
  mutating func fuseCycles() throws -> Bool {
    let roots = needing
    needing = []
    guard !roots.isEmpty, !isFull, batch.items.count < limit else { return false }
    let builder = self
    let cycles = try Components.cycles(from: roots) { try builder.needs(of: $0) }
    var isFused = false
    for cycle in cycles {
      let groups = cycle.compactMap { if case .group(let group) = $0 { group } else { nil } }
      guard let group = groups.min() else { continue }
      isFused = true
      for member in try cycle.flatMap({ try members(of: $0) }) {
        try OutboxQueue.join(member, to: group, in: transaction)
        if case .sent? = visited[member.id] { continue }
        visited[member.id] = nil
        deferred.remove(member.id)
        batch.blocked.removeAll { $0.record == member.id }
      }
      try OutboxQueue.fuse(group, in: transaction)
      self.groups.subtract(groups)
    }
    return isFused
  }

  private func members(of unit: Unit) throws -> [Outbox.Entry] {
    switch unit {
    case .group(let group): return try OutboxQueue.members(of: group, in: transaction)
    case .single(let record, let revision):
      return try OutboxQueue.change(of: record, at: revision, in: transaction).map { [$0] } ?? []
    }
  }

  /// Returns the units that have to be sent before or with a unit. Empty if the unit itself can't be sent now.
  private func needs(of unit: Unit) throws -> [Unit] {
    let members = try members(of: unit)
    guard members.allSatisfy(isReady) else { return [] }
    var needs: Set<Unit> = []
    for member in members {
      if member.isLater, let beneath = try OutboxQueue.beneath(member, in: transaction),
        beneath.operationID == nil
      {
        needs.insert(Unit(beneath))
      }
      for target in try newRecords(neededBy: member) {
        guard let entry = try OutboxQueue.entry(target, in: transaction), entry.operationID == nil else {
          continue
        }
        needs.insert(Unit(entry))
      }
    }
    needs.remove(unit)
    return Array(needs)
  }

  private func newRecords(neededBy entry: Outbox.Entry) throws -> [RecordID] {
    let table = try transaction.catalog.table(entry.id.type)
    guard entry.change != .delete, let row = try OutboxQueue.local(entry, table, in: transaction) else {
      return []
    }
    let fields =
      try entry.base == nil
      ? table.members(row) : Self.changedFields(table.document(row), since: entry.base)
    return try newRecords(in: fields, table)
  }
}
