import BothyStore

/// Handles changes that the server rejects, and those that can't be decided.
extension PushResultApplier {
  /// Keeps a server's version that can't be read here. Nothing is decided about it.
  mutating func setAside(_ found: UnreadableRecord, _ current: ServerRecord?) throws {
    try UnreadableTable.keep(found, current, in: transaction)
    report.unreadable.append(found)
  }

  mutating func reject(
    _ item: PushBatch.Item, _ entry: Outbox.Entry, _ table: TypeTable, _ rejection: Rejection
  ) throws {
    if entry.isHidden && !rejection.leavesDoubt {
      return try OutboxQueue.refuse(awaited: entry, rejection, at: clock.now(), in: transaction)
    }
    guard entry.revision == item.revision else {
      // Edited since: it is sent as it is now, unless the rejection leaves it in doubt.
      try tell(SyncReport.Failure(entry, rejection, nextRetry: clock.now(), in: transaction))
      return rejection.leavesDoubt ? () : try OutboxQueue.recall(entry.record, in: transaction)
    }
    if configuration.rejectionPolicy(for: entry.record.type) == .discardAndRefetch && !rejection.leavesDoubt {
      try report.failures.append(SyncReport.Failure(entry, rejection, nextRetry: nil, in: transaction))
      return try discard(entry, table, rejection)
    }
    try postpone(entry, rejection)
  }

  /// Undoes the local change. The row becomes what the server last reported, and the next pull requests the record.
  mutating func discard(_ entry: Outbox.Entry, _ table: TypeTable, _ rejection: Rejection) throws {
    let lost = try OutboxQueue.local(entry, table, in: transaction).map { table.document($0) }
    report.overwritten.append(SyncReport.ReplacedContent(record: entry.record, fields: lost))
    let noted = try journal(
      entry, .rejected, .rejectionPolicy, loses: true, to: entry.told, reason: rejection)
    let container = try OutboxQueue.serverContainer(of: entry, in: transaction)
    try InboxDecision.undo(entry, noted, in: transaction)
    try Refetch.mark(entry.record, in: container, in: transaction)
  }

  /// Keeps the entry with the reason and retries it later. An entry that was rejected as often as its type allows is
  /// quarantined until a decision. A change on which the server failed inside wasn't rejected, and is always retried.
  mutating func postpone(_ entry: Outbox.Entry, _ rejection: Rejection) throws {
    var state = Outbox.Entry.State.pending
    if case .quarantine(let limit) = configuration.rejectionPolicy(for: entry.record.type),
      entry.attempts + 1 >= limit,
      rejection.code != Rejection.mergeFailed && !rejection.leavesDoubt
    {
      state = .quarantined
    }
    let retryAt = clock.now() + configuration.backoff.milliseconds(attempt: entry.attempts + 1)
    let noted = try tell(
      SyncReport.Failure(entry, rejection, nextRetry: state == .pending ? retryAt : nil, in: transaction))
    try OutboxQueue.postpone(
      entry.record, rejection, noted, until: retryAt, state: state, staysInDoubt: rejection.leavesDoubt,
      in: transaction)
  }

  /// Reports a rejection that leaves the change pending.
  @discardableResult
  mutating func tell(_ failure: SyncReport.Failure) throws -> Journal.Noted {
    report.failures.append(failure)
    return try Journal.note(failure, at: clock.now(), in: transaction)
  }

}

extension SyncReport.Failure {
  /// Makes the failure of an entry as it is here.
  init(
    _ entry: Outbox.Entry, _ rejection: Rejection, nextRetry: Int64?, in transaction: ReadTransaction
  ) throws {
    self.init(
      record: entry.record, operation: entry.kind, rejection: rejection, attempts: entry.attempts + 1,
      nextRetry: nextRetry, revision: entry.revision,
      local: try OutboxQueue.localContent(of: entry.record, in: transaction))
  }
}
