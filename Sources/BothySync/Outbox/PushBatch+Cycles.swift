import BothyStore

/// Makes one transaction of those that need each other: none of them could be sent before the others.
extension PushBatchBuilder {
  /// What is sent as one.
  enum Unit: Hashable {
    case group(String)
    case single(RecordID, revision: Int64)

    init(_ entry: OutboxEntry) {
      self = entry.group.map { .group($0) } ?? .single(entry.record, revision: entry.revision)
    }
  }

  /// Looks for cycles among what was found to need a record that was not sent. True where any became one.
  ///
  /// A transaction needs the new records that it refers to, and what it lies on top of. The first of a cycle was made
  /// before all that it needs, so it needs a record of a later one: only from such a need on is anything looked at.
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
        try Outbox.join(member, to: group, in: transaction)
        if case .sent? = visited[member.record] { continue }
        visited[member.record] = nil
        deferred.remove(member.record)
        batch.blocked.removeAll { $0.record == member.record }
      }
      try Outbox.fuse(group, in: transaction)
      self.groups.subtract(groups)
    }
    return isFused
  }

  private func members(of unit: Unit) throws -> [OutboxEntry] {
    switch unit {
    case .group(let group): return try Outbox.members(of: group, in: transaction)
    case .single(let record, let revision):
      return try Outbox.change(of: record, at: revision, in: transaction).map { [$0] } ?? []
    }
  }

  /// What has to be sent before or with a unit; nothing where the unit itself can't be sent now.
  private func needs(of unit: Unit) throws -> [Unit] {
    let members = try members(of: unit)
    guard members.allSatisfy(isReady) else { return [] }
    var needs: Set<Unit> = []
    for member in members {
      if member.isLater, let beneath = try Outbox.beneath(member, in: transaction), beneath.operationID == nil
      {
        needs.insert(Unit(beneath))
      }
      for target in try newRecords(neededBy: member) {
        guard let entry = try Outbox.entry(target, in: transaction), entry.operationID == nil else {
          continue
        }
        needs.insert(Unit(entry))
      }
    }
    needs.remove(unit)
    return Array(needs)
  }

  private func newRecords(neededBy entry: OutboxEntry) throws -> [RecordID] {
    let table = try transaction.catalog.table(entry.record.type)
    guard entry.kind != .delete, let row = try Outbox.local(entry, table, in: transaction) else { return [] }
    var fields =
      try entry.base == nil
      ? table.members(row) : Self.changedFields(table.document(row), since: entry.base)
    // What is sent for itself goes without its optional references first.
    if entry.group == nil && !entry.isLater {
      for field in table.schema.fields where field.isOptional { fields[field.name] = nil }
    }
    return try newRecords(in: fields, table)
  }
}
