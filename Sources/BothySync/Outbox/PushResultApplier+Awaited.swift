import BothyStore

/// Applies verdicts to changes whose callers wait for them.
extension PushResultApplier {
  /// Returns the record after an operation that the server answered without fields.
  func made(
    _ operation: SyncOperation, _ entry: Outbox.Entry, _ version: String, _ modified: Int64
  ) throws -> ServerRecord {
    let isNew = operation.kind == .insert
    let known = isNew ? .nobody : try AudienceTable.sharing(of: entry.record, in: transaction)
    return ServerRecord(
      id: entry.record,
      container: operation.container ?? (isNew ? nil : entry.base?.container ?? entry.container)
        ?? entry.record.type,
      version: version, modified: modified, created: isNew ? modified : entry.origin.createdTime,
      owner: isNew ? principal : entry.origin.owner,
      fields: try Self.result(of: operation, on: entry.base),
      sharing: operation.sharing?.applied(to: known) ?? known)
  }

  /// Lays a change of all fields on the server's record, of which nothing was kept here. Members without a field in
  /// this schema stay as the server has them.
  func lay(_ entry: Outbox.Entry, on live: ServerRecord, _ table: TypeTable) throws {
    guard let mine = try OutboxQueue.local(entry, table, in: transaction) else { return }
    var members = try live.fields.members().filter { table.schema[$0.key] == nil }
    members.merge(try table.document(mine).members()) { $1 }
    let row = try table.row(
      FieldsDocument(members), in: mine.container ?? live.container, version: live.version)
    try OutboxQueue.setLocal(entry, table, row, in: transaction)
    try know(live)
    try OutboxQueue.reopen(entry.record, base: Outbox.Entry.Base(live), kind: .update, in: transaction)
  }

  /// Makes the hidden record the server's version.
  func hide(_ live: ServerRecord, _ entry: Outbox.Entry) throws {
    let table = try transaction.catalog.table(entry.record.type)
    try OutboxQueue.setLocal(entry, table, table.row(live), in: transaction)
    try know(live)
  }

  /// Returns the outcome of a hidden change, or `nil` while it isn't decided.
  func decided(_ id: RecordID, _ revision: Int64) throws -> SentValues.Decided? {
    try Journal.outcome(of: id, at: revision, in: transaction).map { SentValues.Decided(revision, $0) }
  }
}
