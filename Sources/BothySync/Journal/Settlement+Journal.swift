import BothyStore

/// What a settlement leaves in the journal.
extension Settlement {
  /// Notes what became of an entry as it is here.
  func journal(
    _ entry: OutboxEntry, _ verdict: Journal.Verdict, version: String? = nil, reason: Rejection? = nil,
    lost: FieldsDocument? = nil
  ) throws {
    try Journal.note(
      Journal.Row(
        record: entry.record, revision: entry.revision, verdict: verdict, version: version, reason: reason,
        lost: lost),
      at: clock.now(), in: transaction)
  }

  /// Notes that the server has what was sent. Of what was sent in part the rest is still to come.
  func journal(accepted item: PushBatch.Item, version: String) throws {
    try Journal.note(
      Journal.Row(
        record: item.operation.record, revision: item.isPartial ? item.revision - 1 : item.revision,
        verdict: .accepted, version: item.operation.kind == .delete ? "" : version),
      at: clock.now(), in: transaction)
  }
}
