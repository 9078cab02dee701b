import BothyStore

/// What the server's word makes of changes whose callers wait for it.
extension Settlement {
  /// The record as a hidden change has made it, which the server answered without fields.
  func made(
    _ operation: SyncOperation, _ entry: OutboxEntry, _ version: String, _ modified: Int64
  ) throws -> ServerRecord {
    let isNew = operation.kind == .insert
    let known = isNew ? .nobody : try KnownSharing.sharing(of: entry.record, in: transaction)
    return ServerRecord(
      id: entry.record,
      container: operation.container ?? (isNew ? nil : entry.base?.container ?? entry.container)
        ?? entry.record.type,
      version: version, modified: modified, created: isNew ? modified : entry.origin.createdTime,
      owner: isNew ? principal : entry.origin.owner,
      fields: try Self.result(of: operation, on: entry.base),
      sharing: operation.sharing?.applied(to: known) ?? known)
  }

  /// Lays a change of all fields on what the server has, of which nothing was kept here: what else there is of the record
  /// stays as the server has it.
  func lay(_ entry: OutboxEntry, on live: ServerRecord, _ table: TypeTable) throws {
    guard let mine = try Outbox.local(entry, table, in: transaction) else { return }
    var members = try live.fields.members().filter { table.schema[$0.key] == nil }
    members.merge(try table.document(mine).members()) { $1 }
    var repaired = false
    let row = try table.row(
      FieldsDocument(members), container: mine.container ?? live.container, version: live.version,
      repaired: &repaired)
    try Outbox.setLocal(entry, table, row, in: transaction)
    try know(live)
    try Outbox.reopen(entry.record, base: OutboxEntry.Base(live), kind: .update, in: transaction)
  }

  /// Makes the hidden record what the server has.
  func hide(_ live: ServerRecord, _ entry: OutboxEntry) throws {
    let table = try transaction.catalog.table(entry.record.type)
    var repaired = false
    let row = try table.row(live, repaired: &repaired)
    try Outbox.setLocal(entry, table, row, in: transaction)
    try know(live)
  }

  /// What became of a hidden change; nil while nothing is decided.
  func decided(_ id: RecordID, _ revision: Int64) throws -> SentValues.Decided? {
    try Journal.outcome(of: id, at: revision, in: transaction).map { SentValues.Decided(revision, $0) }
  }
}
