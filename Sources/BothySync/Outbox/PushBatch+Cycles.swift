import BothyStore

/// Fuses transactions that need each other into one, because none of them could be sent before the others.
extension PushBatchBuilder {
  /// The changes that are sent as one.
  enum Unit: Hashable {
    case group(String)
    case single(RecordID, revision: Int64)

    init(_ entry: Outbox.Entry) {
      self = entry.group.map { .group($0) } ?? .single(entry.record, revision: entry.revision)
    }
  }

  /// Fuses the cycles among the units that need a record that wasn't sent. Returns true if any were fused.
  ///
  /// A transaction needs the new records that it refers to, and the changes that its own are stacked on. The first of a
  /// cycle was made before all that it needs, so it needs a record of a later one. The search begins only at such
  /// needs.
  mutating func fuseCycles() throws -> Bool {
    let roots = needing
    needing = []
    guard !roots.isEmpty else { return false }
    let builder = self
    let cycles = try Components.cycles(from: roots) { try builder.needs(of: $0) }
    var isFused = false
    for cycle in cycles {
      let groups = cycle.compactMap { if case .group(let group) = $0 { group } else { nil } }
      guard let group = groups.min() else { continue }
      isFused = true
      for member in try cycle.flatMap({ try members(of: $0) }) {
        try OutboxQueue.join(member, to: group, in: transaction)
        if case .sent? = visited[member.record] { continue }
        visited[member.record] = nil
        deferred.remove(member.record)
        batch.blocked.removeAll { $0.record == member.record }
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
    let table = try transaction.catalog.table(entry.record.type)
    guard entry.kind != .delete, let row = try OutboxQueue.local(entry, table, in: transaction) else {
      return []
    }
    let fields =
      try entry.base == nil
      ? table.members(row) : Self.changedFields(table.document(row), since: entry.base)
    let needed = try newRecords(in: fields, table)
    guard entry.group == nil && !entry.isLater && !needed.isEmpty else { return needed }
    // A single change is first sent without its optional references, except for those into a transaction, which may
    // wait for it.
    let required = fields.filter { table.schema[$0.key]?.isOptional == false }
    return try newRecords(in: required, table)
      + needed.filter { try OutboxQueue.entry($0, in: transaction)?.group != nil }
  }

  /// True if a transaction that creates records is stacked on a change that needs new records itself, perhaps those.
  func isNeededBeneath(_ members: [Outbox.Entry]) throws -> Bool {
    guard members.contains(where: { !$0.isLater && $0.kind == .insert }) else { return false }
    return try members.contains { member in
      guard member.isLater, let beneath = try OutboxQueue.beneath(member, in: transaction),
        beneath.group == nil, beneath.operationID == nil
      else { return false }
      return try !newRecords(neededBy: beneath).isEmpty
    }
  }
}
