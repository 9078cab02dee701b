import BothyStore

/// What becomes of changes that the server refuses, and of those that can't be decided.
extension Settlement {
  /// The server has the record as it can't be read here: nothing is decided about it.
  mutating func setAside(_ found: UnreadableRecord, _ current: ServerRecord?) throws {
    try UnreadableTable.keep(found, current, in: transaction)
    report.unreadable.append(found)
  }

  mutating func reject(
    _ item: PushBatch.Item, _ entry: OutboxEntry, _ table: TypeTable, _ rejection: Rejection
  ) throws {
    if entry.isHidden && !rejection.leavesDoubt {
      return try Outbox.refuse(awaited: entry, rejection, at: clock.now(), in: transaction)
    }
    guard entry.revision == item.revision else {
      // Edited since: it is sent as it is now, where the server has answered.
      try tell(failure(entry, rejection, nextRetry: clock.now()))
      return rejection.leavesDoubt ? () : try Outbox.recall(entry.record, in: transaction)
    }
    if rejections(entry.record.type) == .discardAndRefetch && !rejection.leavesDoubt {
      try report.failures.append(failure(entry, rejection, nextRetry: nil))
      return try discard(entry, table, rejection)
    }
    try postpone(entry, rejection)
  }

  /// Undoes the local change: the row is what the server last told, and the next pull asks for the record.
  mutating func discard(_ entry: OutboxEntry, _ table: TypeTable, _ rejection: Rejection) throws {
    let lost = try Outbox.local(entry, table, in: transaction).map { table.document($0) }
    report.overwritten.append(Overwritten(record: entry.record, fields: lost))
    let noted = try journal(
      entry, .rejected, .rejectionPolicy, loses: true, to: entry.told, reason: rejection)
    let container = try Outbox.serverContainer(of: entry, in: transaction)
    try InboxDecision.undo(entry, noted, in: transaction)
    try Refetch.mark(entry.record, in: container, in: transaction)
  }

  /// Keeps the entry with the reason, to be tried later or, when it was refused as often as its type allows, not
  /// until somebody decides. A change on which the server failed inside was not refused, and is always tried later.
  mutating func postpone(_ entry: OutboxEntry, _ rejection: Rejection) throws {
    var state = OutboxEntry.State.pending
    if case .quarantine(let limit) = rejections(entry.record.type), entry.attempts + 1 >= limit,
      rejection.code != Rejection.mergeFailed && !rejection.leavesDoubt
    {
      state = .quarantined
    }
    let retryAt = clock.now() + backoff.milliseconds(attempt: entry.attempts + 1)
    let noted = try tell(failure(entry, rejection, nextRetry: state == .pending ? retryAt : nil))
    try Outbox.postpone(
      entry.record, rejection, noted, until: retryAt, state: state, staysInDoubt: rejection.leavesDoubt,
      in: transaction)
  }

  /// Tells of a refusal that leaves the change pending.
  @discardableResult
  mutating func tell(_ failure: SyncFailure) throws -> Journal.Noted {
    report.failures.append(failure)
    return try Journal.note(failure, at: clock.now(), in: transaction)
  }

  func failure(_ entry: OutboxEntry, _ rejection: Rejection, nextRetry: Int64?) throws -> SyncFailure {
    SyncFailure(
      record: entry.record, operation: entry.kind, rejection: rejection, attempts: entry.attempts + 1,
      nextRetry: nextRetry, revision: entry.revision,
      local: try Outbox.localContent(of: entry.record, in: transaction))
  }
}
