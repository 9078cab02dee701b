import BothyStore

/// What of the server's answer is written here.
extension OnlineWrite {
  /// Nothing is left to tell the server: it never heard of the record, nothing differs, or its side stays.
  func settled(without draft: OnlineDraft) async throws -> Result {
    guard draft.isNeeded else {
      if keeping != .nowhere { try await pass.store.write { try change.apply(in: $0) } }
      return .settled(.accepted(version: draft.base?.version ?? ""), nil)
    }
    let live = draft.context.server.flatMap { $0.isDeleted ? nil : $0 }
    let verdict: Journal.Verdict = !draft.isRebased ? .accepted : draft.lost == nil ? .merged : .overwritten
    return try await settled(verdict, live, live?.version ?? "", draft)
  }

  /// Writes here what the server has now, and what became of the change.
  func settled(
    _ verdict: Journal.Verdict, _ now: ServerRecord?, _ version: String, _ draft: OnlineDraft,
    sending operation: Operation? = nil, hasSecrets: Bool = false
  ) async throws -> Result {
    // A part of it was sent although the rest gave way: whom the record is shared with, say.
    let isLost =
      draft.lost != nil && now.map { draft.context.serverFields == (try? $0.fields.members()) } ?? true
    let verdict = draft.isRebased && isLost ? Journal.Verdict.overwritten : verdict
    if keeping != .nowhere {
      try await pass.store.write(origin: .remote) { transaction in
        let noted = try note(verdict, version, now, draft, revision: nil, in: transaction)
        let time = pass.clock.correctedNow()
        try Journal.trim(to: pass.configuration.journal, at: time, in: transaction)
        try keep(now, version, noted, sending: operation, in: transaction)
        if hasSecrets { try SecretWork.sweep(in: transaction) }
      }
    }
    if let now, draft.value != nil, verdict != .overwritten {
      var answered = draft
      answered.secrets = [:]
      pass.sent.note(change.id, SentValues.Sent(draft: answered, answer: now))
    } else {
      pass.sent.forget(change.id)
    }
    let outcome: SaveOutcome =
      switch verdict {
      case .overwritten: .overwritten(version: version)
      case .merged, .merging: .merged(version: version)
      case .accepted, .rejected, .refused, .withdrawn: .accepted(version: version)
      }
    return .settled(outcome, draft.isRebased ? report(verdict, now, draft) : nil)
  }

  private func report(_ verdict: Journal.Verdict, _ now: ServerRecord?, _ draft: OnlineDraft) -> SyncReport {
    var report = SyncReport()
    report.overwritten = draft.lost.map { [$0] } ?? []
    if verdict == .overwritten {
      report.note(change.id, now == nil ? .removedFromCache : .updatedCache)
    } else {
      report.pushed = 1
      report.note(change.id, now == nil ? .deletedFromServer : .updatedOnServer)
    }
    return report
  }

  private func keep(
    _ now: ServerRecord?, _ version: String, _ noted: Journal.Noted, sending operation: Operation?,
    in transaction: WriteTransaction
  ) throws {
    let table = try transaction.catalog.table(change.id.type)
    if let entry = try Outbox.entry(change.id, in: transaction) {
      return try rebase(entry, now, version, noted, sending: operation, in: transaction)
    }
    guard let now else {
      try transaction.evict(table, id: change.id.id)
      return
    }
    guard keeping == .here else {
      if let known = try transaction.row(table, id: change.id.id)?.version, known != now.version {
        try StaleRows.mark(change.id, version: known, in: transaction)
      }
      return
    }
    var repaired = false
    let row = try table.row(now.fields, container: now.container, version: now.version, repaired: &repaired)
    try transaction.put(table, id: change.id.id, row)
    var known = try KnownSharing(transaction)
    try known.set(now.sharing, of: change.id)
  }

  /// The record was changed here while the server answered: that change stays pending, now against what the
  /// server has (rule R5).
  private func rebase(
    _ entry: OutboxEntry, _ now: ServerRecord?, _ version: String, _ noted: Journal.Noted,
    sending operation: Operation?, in transaction: WriteTransaction
  ) throws {
    let isDeletion = entry.kind == .delete
    guard let now else {
      if isDeletion {
        try Outbox.end(entry, told: .unknown(entry.record), noted, in: transaction)
      } else {
        // Deleted there as asked; made again here since.
        let tombstone = ServerRecord(
          id: entry.record, container: entry.container, version: version, modified: 1, isDeleted: true)
        try Outbox.reopen(
          entry.record, base: nil, told: version.isEmpty ? nil : tombstone, kind: .insert, in: transaction)
      }
      return
    }
    try lay(
      entry, on: now.fields.members(), in: now.container, version: now.version, in: transaction)
    try Outbox.reopen(
      entry.record, base: OutboxEntry.Base(now), kind: isDeletion ? .delete : .update, in: transaction)
    var known = try KnownSharing(transaction)
    try known.set(now.sharing, of: entry.record)
    try Outbox.reduceSharing(of: entry, by: operation?.sharing, in: transaction)
  }

  /// Lays what was changed here while an operation was on its way on what that makes of the record. Of one person's two
  /// edits of a field the later stands; counts, sets and the like have both. The record is where it was put meanwhile,
  /// and else where the operation leaves it.
  func lay(
    _ entry: OutboxEntry, on earlier: [String: JSONValue], in container: String, version: String?,
    in transaction: WriteTransaction
  ) throws {
    let table = try transaction.catalog.table(entry.record.type)
    guard entry.kind != .delete, let row = try transaction.row(table, id: entry.record.id) else { return }
    let members = try table.document(row).members().laid(
      on: earlier, since: entry.base?.fields.members() ?? [:], table.schema)
    let place = entry.base == nil ? row.container ?? entry.record.type : entry.destination(row.container)
    var repaired = false
    let laid = try table.row(
      FieldsDocument(members), container: place ?? container, version: version, repaired: &repaired)
    try transaction.replace(table, id: entry.record.id, laid)
  }

  @discardableResult
  func note(
    _ verdict: Journal.Verdict, _ version: String?, _ now: ServerRecord?, _ draft: OnlineDraft,
    revision: Int64?, in transaction: WriteTransaction
  ) throws -> Journal.Noted {
    var row = Journal.Row(change.id, draft.lostKind, verdict, .online, revision: revision)
    row.version = version
    if draft.lost != nil {
      let table = try transaction.catalog.table(change.id.type)
      row.loss = try draft.loss(to: now, in: table.schema)
    }
    return try Journal.note(row, at: pass.clock.correctedNow(), in: transaction)
  }
}
