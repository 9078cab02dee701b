import BothyStore

/// One change sent to the server before it is written here. Runs while no sync does.
///
/// The change is tried on the local store in a transaction that is rolled back, so that it is checked and merged
/// with what is pending exactly as a local write would be; only the server's answer is kept.
struct DirectWrite: Sendable {
  let pass: SyncPass
  let change: LocalChange
  /// Whether the accepted record is stored here.
  let keepsLocally: Bool
  /// Whether the change is stored here, pending, when the server does not answer.
  let keepsInDoubt: Bool

  private struct Draft: Error, Sendable {
    var operation: Operation?
    var version: String?
  }

  /// The server did not answer: the change was written here, with the operation that may have reached it.
  struct KeptInDoubt: Error {}

  /// Returns the record's version on the server. Throws `KeptInDoubt`, `RemoteError`, `SyncError` for a refusal or
  /// a conflict with others, `StoreError` for a change that does not fit the schema.
  func run() async throws -> String {
    try await settleDoubts()
    for _ in 0..<5 {
      let draft = try await draft()
      guard let operation = draft.operation else { return draft.version ?? "" }
      let request = SyncRequest(
        device: pass.device, schemaVersion: pass.store.schema.version, operations: [operation])
      let response: SyncResponse
      do { response = try await pass.remote.exchange(request) } catch {
        guard error.errorClass == .unreachable, keepsInDoubt else { throw error }
        try await keepInDoubt(operation)
        throw KeptInDoubt()
      }
      guard let verdict = response.outcomes.first?.verdict else {
        throw SyncError(.protocolViolation, "The server did not answer the operation.", record: change.id)
      }
      switch verdict {
      case .applied(let version, _, let record), .duplicate(let version, _, let record):
        try await keep(operation, version, record)
        return version
      case .rejected(let rejection):
        throw SyncError(.rejected, rejection.message, record: change.id, rejection: rejection)
      case .waiting(let other):
        throw SyncError(.rejected, "The change waits for the operation \(other).", record: change.id)
      case .conflict(let current):
        if operation.kind == .delete, current?.isDeleted ?? true {
          try await keep(operation, current?.version ?? "", nil)
          return current?.version ?? ""
        }
        try await refresh(current)
      }
    }
    throw SyncError(
      .conflict, "\(change.id) keeps being changed by others. Try again.", record: change.id)
  }

  /// An operation of the record that is in doubt is asked for first: what is to be sent now depends on it.
  private func settleDoubts() async throws {
    let id = change.id
    func isInDoubt() async throws -> Bool {
      try await pass.store.read { try Outbox.mark(id, in: $0)?.wasSent ?? false }
    }
    guard try await isInDoubt() else { return }
    let report = await pass.run(SyncPass.Request(scope: .push, pulls: [], records: [id]))
    guard try await isInDoubt() else { return }
    guard keepsInDoubt else {
      throw RemoteError(.unreachable, report.skipped.map { SyncError($0).message } ?? "The server did not answer.")
    }
    try await pass.store.write { try change.apply(in: $0) }
    throw KeptInDoubt()
  }

  /// The operation that the change amounts to, found by making it and rolling back.
  private func draft() async throws -> Draft {
    do {
      return try await pass.store.write { transaction -> Draft in
        try change.apply(in: transaction)
        try transaction.flush()
        throw try draft(in: transaction)
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
        container: entry.kind == .insert ? container : nil, base: entry.base?.version, fields: fields))
  }

  /// Sent again it must be the same operation: the server may have applied it.
  private func keepInDoubt(_ operation: Operation) async throws {
    try await pass.store.write { transaction in
      try change.apply(in: transaction)
      try transaction.flush()
      try Outbox.markSent(operation, in: transaction)
    }
  }

  /// Writes here what the server accepted.
  private func keep(_ operation: Operation, _ version: String, _ record: ServerRecord?) async throws {
    try await pass.store.write(origin: .remote) { transaction in
      let table = try transaction.catalog.table(change.id.type)
      let existing = try transaction.row(table, id: change.id.id)
      if operation.kind == .delete {
        try Outbox.remove(change.id, in: transaction)
        try transaction.evict(table, id: change.id.id)
        return
      }
      guard keepsLocally else { return }
      var members = try record?.fields.members() ?? existing.map { try table.document($0).members() } ?? [:]
      for (name, value) in operation.fields where record == nil { members[name] = value.isNull ? nil : value }
      var repaired = false
      let row = try table.row(
        FieldsDocument(members), container: existing?.container ?? operation.container ?? change.id.type,
        version: version, repaired: &repaired)
      try Outbox.remove(change.id, in: transaction)
      try transaction.put(table, id: change.id.id, row)
    }
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
