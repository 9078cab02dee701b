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
    return try await settled(draft.lost == nil ? .merged : .overwritten, live, live?.version ?? "", draft)
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
        try keep(now, draft, noted, sending: operation, in: transaction)
        if hasSecrets { try SecretWork.sweep(in: transaction) }
      }
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
    _ now: ServerRecord?, _ draft: OnlineDraft, _ noted: Journal.Noted, sending operation: Operation?,
    in transaction: WriteTransaction
  ) throws {
    let table = try transaction.catalog.table(change.id.type)
    if let entry = try Outbox.entry(change.id, in: transaction) {
      return try rebase(entry, now, noted, sending: operation, in: transaction)
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
    _ entry: OutboxEntry, _ now: ServerRecord?, _ noted: Journal.Noted, sending operation: Operation?,
    in transaction: WriteTransaction
  ) throws {
    let isDeletion = entry.kind == .delete
    guard let now else {
      if isDeletion {
        try Outbox.end(entry, told: .unknown(entry.record), noted, in: transaction)
      } else {
        try Outbox.reopen(entry.record, base: nil, kind: .insert, in: transaction)
      }
      return
    }
    let table = try transaction.catalog.table(entry.record.type)
    if !isDeletion, let row = try transaction.row(table, id: entry.record.id) {
      // Of one person's two edits the later stands; counts, sets and the like of both.
      let members = FieldMerge.merge(
        base: try entry.base?.fields.members() ?? [:], client: try table.document(row).members(),
        server: try now.fields.members(), clientIsLater: true
      ) { table.schema[$0]?.merge.ofOnePerson ?? .client }
      var repaired = false
      try transaction.replace(
        table, id: entry.record.id,
        table.row(
          FieldsDocument(members), container: row.container ?? entry.record.type, version: now.version,
          repaired: &repaired))
    }
    try Outbox.reopen(
      entry.record, base: OutboxEntry.Base(now), kind: isDeletion ? .delete : .update, in: transaction)
    var known = try KnownSharing(transaction)
    try known.set(now.sharing, of: entry.record)
    try Outbox.reduceSharing(of: entry, by: operation?.sharing, in: transaction)
  }

  // MARK: no answer

  /// Makes the change here, to be sent by the next sync as the operation that it was sent as already, so that the
  /// server makes it once (rule R8). Returns the receipt of it.
  func queue(_ draft: OnlineDraft?) async throws {
    try await pass.store.write { transaction in
      let wasPending = try Outbox.mark(change.id, in: transaction) != nil
      if change.isDeletion, try !Outbox.knows(change.id, in: transaction) {
        try Outbox.assumeDeleted(change.id, at: pass.clock.correctedNow(), in: transaction)
      } else {
        try change.apply(in: transaction)
      }
      try transaction.flush()
      guard let draft, !wasPending, let entry = try Outbox.entry(change.id, in: transaction),
        let operation = draft.sent
      else { return }
      if draft.isRebased {
        try take(draft, entry, in: transaction)
      } else if entry.kind != operation.kind {
        return
      }
      try Outbox.setSent(operation, revision: entry.revision, in: transaction)
    }
    pass.unanswered.forget(change.id)
  }

  /// The entry is of the change as it was laid on what the server has.
  private func take(_ draft: OnlineDraft, _ entry: OutboxEntry, in transaction: WriteTransaction) throws {
    let table = try transaction.catalog.table(change.id.type)
    if let fields = draft.context.client {
      var repaired = false
      let row = try table.row(
        FieldsDocument(fields), container: draft.context.container ?? change.id.type,
        version: draft.base?.version, repaired: &repaired)
      try transaction.replace(table, id: change.id.id, row)
    } else {
      try transaction.evict(table, id: change.id.id)
    }
    try Outbox.reopen(change.id, base: draft.base, kind: draft.kind, in: transaction)
    var known = try KnownSharing(transaction)
    try known.set(draft.knownSharing, of: change.id)
    guard draft.isMerged else { return }
    try note(.merging, nil, draft.context.server, draft, revision: entry.revision, in: transaction)
  }

  @discardableResult
  private func note(
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
