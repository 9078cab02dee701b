import BothyStore

/// Applies verdicts to changes that have others of their record stacked on them.
extension PushResultApplier {
  /// Settles a change that the server has accepted. The next one continues from the record that the server made of it.
  ///
  /// - Parameter newer: the version that was reported since, or `nil`.
  mutating func settle(
    beneath entry: Outbox.Entry, _ made: ServerRecord, _ newer: ServerRecord?, _ noted: Journal.Noted
  ) throws {
    let table = try transaction.catalog.table(entry.record.type)
    if newer == nil, !made.isDeleted {
      let local = try OutboxQueue.local(entry, table, in: transaction)
      try OutboxQueue.rebase(
        entry.record, from: local, to: table.row(made), movesDoubt: true, in: transaction)
    }
    // The change was sent on top of one that was undone here, so the server's result of both is requested.
    if entry.base?.version == OutboxQueue.unsentVersion {
      try Refetch.mark(entry.record, in: made.container, in: transaction)
    }
    try end(entry, newer ?? made, noted)
  }

  /// True if any of these operations belongs to a change on top of one that wasn't accepted. Then all of them wait
  /// again. If the server has applied them nevertheless, they stay in doubt.
  func waitsBeneath(_ sent: [(item: PushBatch.Item, verdict: Outcome.Verdict)]) throws -> Bool {
    let isBlocked = try sent.contains { item, _ in
      let id = item.operation.record
      guard let entry = try OutboxQueue.entry(id, in: transaction), entry.isBeneath,
        entry.operationID != item.operation.id
      else { return false }
      return try !OutboxQueue.laterEntries(
        where: "type = ? AND id = ? AND operation = ?",
        [id, item.operation.id], limit: 1, in: transaction
      ).isEmpty
    }
    guard isBlocked else { return false }
    if !sent.contains(where: \.verdict.isApplied) {
      for (item, _) in sent {
        try OutboxQueue.recall(item.operation.record, item.operation.id, in: transaction)
      }
    }
    return true
  }

  /// Decides the conflicts of changes that became entries because those beneath them ended in another state. Runs in
  /// the same step, so that no reader sees a part of a transaction that is being undone. Conflicts that a policy of the
  /// app's own decides wait until the change is sent.
  mutating func decideLater() throws {
    var left: Set<RecordID> = []
    while let entry = try OutboxQueue.undecided(in: transaction).first(where: { !left.contains($0.record) }) {
      let current = entry.remoteVersion
      guard try Conflicts.unreadable(entry.record, current, in: transaction) == nil,
        case .success(let context)? = try Conflicts.context(
          entry.record, current, entry.group != nil, in: transaction)?.0,
        let choice = Conflicts.decided(context, configuration)
      else {
        left.insert(entry.record)
        continue
      }
      let unit = entry.group == nil ? [entry] : try OutboxQueue.unit(of: entry.record, in: transaction)
      if unit.contains(where: { $0.operationID != nil }) {
        left.insert(entry.record)
        continue
      }
      try carryOut([(entry, current, choice)], of: unit)
      if let now = try OutboxQueue.entry(entry.record, in: transaction), now.revision == entry.revision,
        now.base?.version == OutboxQueue.unsentVersion
      {
        left.insert(entry.record)
      }
    }
  }
}
