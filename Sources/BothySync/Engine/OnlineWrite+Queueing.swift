import BothyStore

/// What becomes of a change that the server did not answer.
extension OnlineWrite {
  /// Makes the change here, to be sent by the next sync as the operation that it was sent as already, so that the
  /// server makes it once (rule R8).
  ///
  /// What was changed here meanwhile is the later of one person's two changes, and stays on top of it. The operation is
  /// in doubt alone: its answer leaves the later change pending.
  func queue(_ draft: OnlineDraft) async throws {
    try await pass.store.write { transaction in
      if let entry = try Outbox.entry(change.id, in: transaction) {
        try join(entry, to: draft, in: transaction)
      } else {
        try begin(draft, in: transaction)
      }
    }
    pass.sent.forget(change.id)
  }

  private func begin(_ draft: OnlineDraft, in transaction: WriteTransaction) throws {
    if change.isDeletion, try !Outbox.knows(change.id, in: transaction) {
      try Outbox.assumeDeleted(change.id, at: pass.clock.correctedNow(), in: transaction)
    } else {
      try change.apply(in: transaction)
    }
    try transaction.flush()
    guard let entry = try Outbox.entry(change.id, in: transaction) else { return }
    if let earlier = draft.earlier, draft.sent == nil {
      return try Outbox.setSent(earlier, revision: entry.revision - 1, in: transaction)
    }
    if draft.isRebased || draft.isFollowing {
      try take(draft, entry, in: transaction)
    } else if entry.kind != draft.sent?.kind {
      return
    }
    guard let operation = draft.sent else { return }
    try Outbox.setSent(operation, revision: entry.revision, in: transaction)
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
    try know(draft, entry, in: transaction)
  }

  /// The record was changed here too while the operation was on its way.
  private func join(_ entry: OutboxEntry, to draft: OnlineDraft, in transaction: WriteTransaction) throws {
    let (context, base) = (draft.context, draft.base)
    // Deleted there, if at all, and changed here since: what is here stays.
    let earlier = try context.client ?? base?.fields.members() ?? entry.base?.fields.members() ?? [:]
    try lay(
      entry, on: earlier, in: context.container ?? context.baseContainer, version: base?.version,
      in: transaction)
    try keepSecrets(draft, in: transaction)
    if let sharing = draft.sharing {
      let both = entry.sharing.map { sharing.then($0) } ?? sharing
      try Outbox.setSharing(both, of: entry.record, in: transaction)
    }
    // Another process has sent what is pending: one operation of a record can be in doubt.
    if entry.operationID != nil { return }
    let isNewer = entry.base.map { $0.version.isNewer(than: base?.version ?? "") } ?? false
    try Outbox.reopen(
      entry.record, base: base, told: isNewer ? entry.told : nil,
      kind: entry.kind == .delete ? .delete : base == nil ? .insert : .update, in: transaction)
    try know(draft, entry, in: transaction)
    guard let operation = draft.sent ?? draft.earlier else { return }
    let areBothDeletions = entry.kind == .delete && operation.kind == .delete
    try Outbox.setSent(
      operation, revision: areBothDeletions ? entry.revision : entry.revision - 1, keepsGroup: true,
      in: transaction)
  }

  private func know(_ draft: OnlineDraft, _ entry: OutboxEntry, in transaction: WriteTransaction) throws {
    var known = try KnownSharing(transaction)
    try known.set(draft.knownSharing, of: change.id)
    guard draft.isMerged else { return }
    try note(.merging, nil, draft.context.server, draft, revision: entry.revision, in: transaction)
  }

  /// Keeps the values of sensitive fields, but those that were written since.
  private func keepSecrets(_ draft: OnlineDraft, in transaction: WriteTransaction) throws {
    guard let store = transaction.secretStore else { return }
    for (key, secret) in draft.secrets where try store.secret(key) == nil { try store.set(secret, for: key) }
  }
}
