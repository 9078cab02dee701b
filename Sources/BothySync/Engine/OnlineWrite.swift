import BothyStore

/// One change of a record without pending work, sent to the server before it is written here. Runs while no sync does.
///
/// What the change is, is found out once: it is tried on the local store in a transaction that is rolled back, so that
/// it is checked exactly as a local write would be. A conflict is for the merge policy to decide, against what the server
/// had told before the change; only the server's answer is kept.
struct OnlineWrite: Sendable {
  let pass: SyncPass
  let change: LocalChange
  let keeping: Keeping

  /// What becomes of the answer.
  enum Keeping: Sendable {
    /// It is written here.
    case here
    /// It is not.
    case thereAlone
    /// The local store has just failed: nothing is written, and of its content is used what can be read.
    case nowhere
  }

  enum Result: Sendable {
    /// The report is nil where no conflict was met.
    case settled(SaveOutcome, SyncReport?)
    /// No answer came; whether the server has made the change is unknown if the draft has an operation that was sent.
    case unreachable(RemoteError, OnlineDraft)
    /// The record has pending work: nothing was sent.
    case pending
  }

  /// Thrown to end the rehearsal on a record with pending work.
  struct HasPendingWork: Error {}

  /// Runs what must not end halfway, whatever becomes of the caller's task. Pushes leave the record out meanwhile. Throws
  /// `CancellationError`, with nothing done, where the task is cancelled already.
  func carriedThrough<Value: Sendable>(
    _ body: @escaping @Sendable (OnlineWrite) async throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    return try await Task { try await pass.online.during(change.id) { try await body(self) } }.value
  }

  /// Leaves nothing of the record here, for a store without a cache.
  func evict() async throws {
    try await pass.store.write(origin: .remote) { try Outbox.evictUncached(change.id, in: $0) }
  }

  /// Throws `RemoteError`, `SyncError` for a refusal or a conflict that the policy did not decide, `StoreError` for
  /// a change that does not fit the schema.
  func run() async throws -> Result {
    var draft: OnlineDraft
    do { draft = keeping == .nowhere ? try bareDraft() : try await self.draft() } catch is HasPendingWork {
      return .pending
    }
    if let error = try await follow(&draft) { return .unreachable(error, draft) }
    for _ in 0..<5 {
      guard let operation = try draft.operation(pass.configuration.makeOperationID()) else {
        return try await settled(without: draft)
      }
      let answer = try await send(operation, draft.secrets)
      switch answer.verdict {
      case .failure(let error):
        if answer.isInDoubt {
          draft.sent = operation
          pass.sent.note(change.id, SentValues.Sent(draft: draft))
        }
        return .unreachable(error, draft)
      case .success(let verdict):
        pass.sent.forget(change.id)
        let hasSecrets = answer.hasSecrets
        if let result = try await settle(&draft, operation, verdict, hasSecrets: hasSecrets) { return result }
      }
    }
    throw SyncError(
      .conflict, "\(change.id) keeps being changed by others. Try again.", record: change.id)
  }

  /// What was heard of an operation that was sent.
  private struct Answer {
    /// A failure where none came.
    var verdict: Swift.Result<Outcome.Verdict?, RemoteError>
    /// Whether the server may have made it all the same.
    var isInDoubt = false
    var hasSecrets = false
  }

  private func send(_ operation: Operation, _ secrets: [SecretKey: String]) async throws -> Answer {
    let sent = try SecretWork(store: pass.store).attached(
      to: [operation], and: secrets, isConfidential: pass.remote.isConfidential)
    let request = SyncRequest(
      device: pass.device, schemaVersion: pass.store.schema.version, operations: sent,
      principal: pass.owner?.principal)
    // Nothing was sent: what is queued is a change like any other.
    if let error = try await uploadBlobs(of: operation) { return Answer(verdict: .failure(error)) }
    do {
      let response = try await pass.remote.exchange(request)
      return Answer(
        verdict: .success(response.outcomes.first?.verdict), hasSecrets: sent.contains { !$0.secrets.isEmpty }
      )
    } catch {
      guard error.errorClass == .unreachable else { throw error }
      return Answer(verdict: .failure(error), isInDoubt: true)
    }
  }

  /// Nil where the change is to be sent again, laid on what the server has.
  private func settle(
    _ draft: inout OnlineDraft, _ operation: Operation, _ verdict: Outcome.Verdict?, hasSecrets: Bool
  ) async throws -> Result? {
    switch verdict {
    case .applied(let version, let modified, let record), .duplicate(let version, let modified, let record):
      let now = try draft.result(of: operation, version, modified, record)
      return try await settled(
        draft.isMerged ? .merged : .accepted, now, version, draft, sending: operation, hasSecrets: hasSecrets)
    case .rejected(let rejection): throw refusal(rejection)
    case .waiting(let other):
      throw SyncError(.rejected, "The change waits for the operation \(other).", record: change.id)
    case .conflict(let current):
      if operation.kind == .delete, current?.isDeleted ?? true {
        return try await settled(.accepted, nil, current?.version ?? "", draft, sending: operation)
      }
      if draft.given != nil, change.saved == nil, current?.isDeleted ?? true {
        throw SyncError(.conflict, "The server has no \(change.id) to change.", record: change.id)
      }
      try draft.meet(current)
      try draft.rebase(try await decision(on: draft))
      return nil
    case nil:
      throw SyncError(.protocolViolation, "The server did not answer the operation.", record: change.id)
    }
  }

  /// Lays the change on what the server has made of the last one of this record that went there first. One without an
  /// answer is sent again before it, as it was (rule R8). Returns why the server can't be reached for that.
  private func follow(_ draft: inout OnlineDraft) async throws -> RemoteError? {
    guard draft.isNeeded, let last = pass.sent.last(of: change.id) else { return nil }
    if let answer = last.answer {
      try draft.follow(last, answer)
      return nil
    }
    guard let operation = last.draft.sent else { return nil }
    switch try await send(operation, last.draft.secrets).verdict {
    case .failure(let error):
      if draft.goesOn(last), last.draft.base == draft.base { draft.earlier = operation }
      return error
    case .success(.applied(let version, let modified, let record)?),
      .success(.duplicate(let version, let modified, let record)?):
      pass.sent.forget(change.id)
      let now = try last.draft.result(of: operation, version, modified, record)
      if let now { try draft.follow(last, now) }
    case .success:
      // It was not made: the change has all of it.
      pass.sent.forget(change.id)
    }
    return nil
  }

  /// A policy of the app's is asked whenever the record has changed there; the others where both changed one field.
  private func decision(on draft: OnlineDraft) async throws -> MergeDecision {
    let context = draft.context
    let policies = pass.configuration.mergePolicies
    if case .pure = policies.policy(for: context.operation, type: context.record.type).decide,
      let merged = draft.disjoint()
    {
      return .merged(merged)
    }
    let conflicts = Conflicts(store: pass.store, configuration: pass.configuration, clock: pass.clock)
    do { return try await conflicts.decide(context).get() } catch {
      throw SyncError(
        .conflict, Rejection(mergeError: error).message + " Nothing was changed; try again.",
        record: change.id)
    }
  }

  /// Brings the blobs that the operation names to the server first. Returns why the server can't be reached.
  private func uploadBlobs(of operation: Operation) async throws -> RemoteError? {
    let table = try pass.store.catalog.table(operation.record.type)
    guard !table.blobFields.isEmpty, keeping != .nowhere else { return nil }
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
}
