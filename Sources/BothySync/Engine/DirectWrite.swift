import BothyStore

/// One change sent to the server before it is written here. Runs while no sync does.
///
/// The change is tried on the local store in a transaction that is rolled back, so that it is checked and merged
/// with what is pending exactly as a local write would be; only the server's answer is kept.
struct DirectWrite: Sendable {
  let pass: SyncPass
  let change: LocalChange
  let keepsLocally: Bool

  struct Draft: Error, Sendable {
    var operation: Operation?
    var version: String?
    /// What the operation was made against.
    var base: OutboxEntry.Base?
    /// The revision of what was pending before; nil when nothing was.
    var pending: Int64?
    /// The values of sensitive fields, which are not part of what is kept of an operation.
    var secrets: [SecretKey: String] = [:]
  }

  enum Result: Sendable {
    case accepted(version: String)
    /// No answer came; whether the server has made the change is unknown.
    case unreachable(RemoteError, Draft)
  }

  /// Throws `RemoteError`, `SyncError` for a refusal or a conflict that is for a sync to merge, `StoreError` for
  /// a change that does not fit the schema.
  func run() async throws -> Result {
    if let doubt = try await remainingDoubt() { return .unreachable(doubt, Draft()) }
    for _ in 0..<5 {
      let draft = try await draft()
      guard let operation = draft.operation else {
        // There is nothing to tell the server: a record that it never heard of is deleted, or nothing changes.
        try await pass.store.write { try change.apply(in: $0) }
        return .accepted(version: draft.version ?? "")
      }
      let sent = try SecretWork(store: pass.store).attached(
        to: [operation], and: draft.secrets, isConfidential: pass.remote.isConfidential)
      let request = SyncRequest(
        device: pass.device, schemaVersion: pass.store.schema.version, operations: sent,
        principal: pass.owner?.principal)
      if let error = try await uploadBlobs(of: operation) {
        // Nothing was sent: what is queued is a change like any other.
        return .unreachable(error, Draft())
      }
      let response: SyncResponse
      do { response = try await pass.remote.exchange(request) } catch {
        guard error.errorClass == .unreachable else { throw error }
        return .unreachable(error, draft)
      }
      guard let verdict = response.outcomes.first?.verdict else {
        throw SyncError(.protocolViolation, "The server did not answer the operation.", record: change.id)
      }
      switch verdict {
      case .applied(let version, _, let record), .duplicate(let version, _, let record):
        try await keep(operation, version, record, draft)
        if sent.contains(where: { !$0.secrets.isEmpty }) {
          try await pass.store.write(origin: .remote) { try SecretWork.sweep(in: $0) }
        }
        return .accepted(version: version)
      case .rejected(let rejection):
        throw SyncError(.rejected, rejection.message, record: change.id, rejection: rejection)
      case .waiting(let other):
        throw SyncError(.rejected, "The change waits for the operation \(other).", record: change.id)
      case .conflict(let current):
        if operation.kind == .delete, current?.isDeleted ?? true {
          try await keep(operation, current?.version ?? "", nil, draft)
          return .accepted(version: current?.version ?? "")
        }
        try await refresh(current)
      }
    }
    throw SyncError(
      .conflict, "\(change.id) keeps being changed by others. Try again.", record: change.id)
  }

  /// An operation of the record that is in doubt is asked for first: what is to be sent now depends on it. What was
  /// written together with others is sent with them first. Returns why that was not possible.
  private func remainingDoubt() async throws -> RemoteError? {
    let id = change.id
    func mustGoFirst() async throws -> Bool {
      try await pass.store.read { transaction in
        guard let mark = try Outbox.mark(id, in: transaction) else { return false }
        return mark.wasSent || mark.group != nil
      }
    }
    guard try await mustGoFirst() else { return nil }
    let report = await pass.run(SyncPass.Request(scope: .push, pulls: [], records: [id]))
    guard try await mustGoFirst() else { return nil }
    let reason = report.skipped.map { SyncError($0).message }
    return RemoteError(.unreachable, reason ?? "The server did not answer an earlier change of the record.")
  }

  /// Brings the blobs that the operation names to the server first. Returns why the server can't be reached.
  private func uploadBlobs(of operation: Operation) async throws -> RemoteError? {
    let table = try pass.store.catalog.table(operation.record.type)
    guard !table.blobFields.isEmpty else { return nil }
    let now = pass.clock.now()
    let needs = try await pass.store.read {
      try BlobNeed.missing(operation.fields, table, now: now, in: $0).map(\.blob)
    }
    for blob in needs {
      guard let remote = pass.remote.blobs else { throw refusal(.blobsUnsupported) }
      var upload = BlobUpload(blob, pass)
      do {
        while !upload.isDone {
          if case .refused(let rejection) = try await upload.step(remote) { throw refusal(rejection) }
        }
      } catch let error as RemoteError where error.errorClass == .unreachable { return error }
    }
    return nil
  }

  private func refusal(_ rejection: Rejection) -> SyncError {
    SyncError(.rejected, rejection.message, record: change.id, rejection: rejection)
  }

  /// The operation that the change amounts to, found by making it and rolling back.
  private func draft() async throws -> Draft {
    do {
      return try await pass.store.write { transaction -> Draft in
        transaction.isRehearsal = true
        let pending = try Outbox.entry(change.id, in: transaction)?.revision
        if change.isDeletion, try !Outbox.knows(change.id, in: transaction) {
          throw Draft(
            operation: Operation(id: pass.configuration.makeOperationID(), kind: .delete, record: change.id))
        }
        try change.apply(in: transaction)
        try transaction.flush()
        var draft = try draft(in: transaction)
        draft.pending = pending
        draft.secrets = transaction.secrets
        throw draft
      }
    } catch let draft as Draft { return draft }
  }

  private func draft(in transaction: WriteTransaction) throws -> Draft {
    guard let entry = try Outbox.entry(change.id, in: transaction) else {
      let table = try transaction.catalog.table(change.id.type)
      return Draft(operation: nil, version: try transaction.row(table, id: change.id.id)?.version)
    }
    var fields: [String: JSONValue] = [:]
    var container: String?
    if entry.kind != .delete {
      let table = try transaction.catalog.table(change.id.type)
      guard let row = try transaction.row(table, id: change.id.id) else { return Draft() }
      fields = try PushBatchBuilder.changedFields(table.document(row), since: entry.base)
      container = row.container
    }
    return Draft(
      operation: Operation(
        id: pass.configuration.makeOperationID(), kind: entry.kind, record: change.id,
        container: entry.kind == .insert ? container : entry.destination(container),
        base: entry.base?.version, fields: fields,
        sharing: entry.kind == .delete ? nil : entry.sharing),
      base: entry.base)
  }

  /// Makes the change here, to be sent by the next sync as the operation that it was sent as already, so that the
  /// server makes it once (rule R8).
  func queue(_ draft: Draft) async throws {
    try await pass.store.write { transaction in
      let before = try Outbox.entry(change.id, in: transaction)
      if change.isDeletion, try !Outbox.knows(change.id, in: transaction) {
        try Outbox.assumeDeleted(change.id, at: pass.clock.correctedNow(), in: transaction)
      } else {
        try change.apply(in: transaction)
      }
      try transaction.flush()
      guard let operation = draft.operation, before?.revision == draft.pending, before?.operationID == nil,
        let entry = try Outbox.entry(change.id, in: transaction), entry.kind == operation.kind
      else { return }
      try Outbox.setSent(operation, revision: entry.revision, in: transaction)
    }
  }

  /// Writes here what the server accepted.
  private func keep(_ operation: Operation, _ version: String, _ record: ServerRecord?, _ draft: Draft)
    async throws
  {
    try await pass.store.write(origin: .remote) { transaction in
      let table = try transaction.catalog.table(change.id.type)
      if let entry = try Outbox.entry(change.id, in: transaction), entry.revision != draft.pending {
        return try rebase(entry, operation, version, record, draft, in: transaction)
      }
      let existing = try transaction.row(table, id: change.id.id)
      if operation.kind == .delete {
        try Outbox.remove(change.id, in: transaction)
        try transaction.evict(table, id: change.id.id)
        return
      }
      guard keepsLocally || draft.pending != nil else {
        if let known = existing?.version { try StaleRows.mark(change.id, version: known, in: transaction) }
        return
      }
      var members = try record?.fields.members() ?? existing.map { try table.document($0).members() } ?? [:]
      for (name, value) in operation.fields where record == nil { members[name] = value.isNull ? nil : value }
      var repaired = false
      let row = try table.row(
        FieldsDocument(members), container: operation.container ?? existing?.container ?? change.id.type,
        version: version, repaired: &repaired)
      try Outbox.remove(change.id, in: transaction)
      try transaction.put(table, id: change.id.id, row)
      var known = try KnownSharing(transaction)
      let before = try operation.base == nil ? .nobody : KnownSharing.sharing(of: change.id, in: transaction)
      try known.set(record?.sharing ?? operation.sharing?.applied(to: before) ?? before, of: change.id)
    }
  }

  /// The record was changed here while the server answered: that change stays pending, now against what the
  /// server has (rule R5).
  private func rebase(
    _ entry: OutboxEntry, _ operation: Operation, _ version: String, _ record: ServerRecord?, _ draft: Draft,
    in transaction: WriteTransaction
  ) throws {
    let isDeletion = entry.kind == .delete
    if operation.kind == .delete {
      return isDeletion
        ? try Outbox.remove(entry.record, in: transaction)
        : try Outbox.reopen(entry.record, base: nil, kind: .insert, in: transaction)
    }
    let fields = try record?.fields ?? Settlement.result(of: operation, on: draft.base)
    let table = try transaction.catalog.table(entry.record.type)
    if !isDeletion, let row = try transaction.row(table, id: entry.record.id) {
      var members = try fields.members()
      for (name, value) in try PushBatchBuilder.changedFields(table.document(row), since: entry.base) {
        members[name] = value.isNull ? nil : value
      }
      var repaired = false
      try transaction.replace(
        table, id: entry.record.id,
        table.row(
          FieldsDocument(members), container: row.container ?? entry.record.type, version: version,
          repaired: &repaired))
    }
    try Outbox.reopen(
      entry.record,
      base: OutboxEntry.Base(
        version: version, fields: fields, container: record?.container ?? operation.container),
      kind: isDeletion ? .delete : .update,
      in: transaction)
    try KnownSharing.apply(operation.sharing, to: entry.record, in: transaction)
    try Outbox.reduceSharing(of: entry, by: operation.sharing, in: transaction)
  }

  /// Takes in what the server has, so that the next try is made against it.
  private func refresh(_ current: ServerRecord?) async throws {
    let now = pass.clock.now()
    try await pass.store.write(origin: .remote) { transaction in
      guard let current else {
        if try Outbox.mark(change.id, in: transaction) == nil {
          try transaction.evict(transaction.catalog.table(change.id.type), id: change.id.id)
        }
        return
      }
      var pull = try PullApplication(transaction, now: now)
      try pull.apply(current)
    }
    let isPending = try await pass.store.read { try Outbox.mark(change.id, in: $0) != nil }
    if isPending {
      throw SyncError(
        .conflict, "\(change.id) was changed on the server and here. Sync to merge both.", record: change.id)
    }
  }
}
