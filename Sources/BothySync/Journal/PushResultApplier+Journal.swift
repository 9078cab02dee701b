import BothyStore

/// Notes the results of a settlement in the journal.
extension PushResultApplier {
  /// Notes the result for an entry as it is here.
  ///
  /// - Parameters:
  ///   - loses: true if local content gives way, to `merged` or to `current`. That is the server's version, or `nil` if
  ///     the server doesn't have the record.
  @discardableResult
  func journal(
    _ entry: Outbox.Entry, _ verdict: Journal.Verdict, _ cause: JournalEntry.Cause, loses: Bool = false,
    to current: ServerRecord? = nil, merged: FieldsDocument? = nil, version: String? = nil,
    reason: Rejection? = nil
  ) throws -> Journal.Noted {
    let (kind, type) = (entry.kind, entry.record.type)
    let schema = try transaction.catalog.table(type).schema
    return try Journal.note(
      entry, verdict, entry.isHidden ? .online : cause, version: version, reason: reason,
      loss: loses ? Journal.Loss(entry, now: current, fields: merged, in: transaction) : nil,
      policy: cause == .merge ? Conflicts.policy(for: kind, of: type, schema, configuration).name : nil,
      at: clock.now(), in: transaction)
  }

  /// Notes that the server has what was sent. After an operation that sent a part, the rest is still pending.
  func journal(accepted item: PushBatch.Item, _ entry: Outbox.Entry, version: String) throws -> Journal.Noted
  {
    let operation = item.operation
    let cause = entry.isHidden ? JournalEntry.Cause.online : .acknowledged
    var row = Journal.Row(operation.record, operation.kind, .accepted, cause)
    row.revision = item.isPartial ? item.revision - 1 : item.revision
    row.version = operation.kind == .delete ? "" : version
    return try Journal.note(row, at: clock.now(), in: transaction)
  }
}

extension Journal {
  /// Notes a rejection that leaves the change pending.
  static func note(
    _ failure: SyncReport.Failure, at time: Int64, in transaction: WriteTransaction
  ) throws -> Noted {
    var row = Row(failure.record, failure.operation, .refused, .refused, revision: failure.revision)
    row.reason = failure.rejection
    row.attempts = failure.attempts
    row.retryAt = failure.nextRetry
    return try note(row, at: time, in: transaction)
  }
}
