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
    /// No answer came; whether the server has made the change is unknown if there is a draft.
    case unreachable(RemoteError, OnlineDraft?)
    /// The record has pending work: nothing was sent.
    case pending
  }

  /// Thrown to end the rehearsal on a record with pending work.
  struct HasPendingWork: Error {}

  /// Throws `RemoteError`, `SyncError` for a refusal or a conflict that the policy did not decide, `StoreError` for
  /// a change that does not fit the schema.
  func run() async throws -> Result {
    var draft: OnlineDraft
    do { draft = keeping == .nowhere ? try bareDraft() : try await self.draft() } catch is HasPendingWork {
      return .pending
    }
    for _ in 0..<5 {
      guard let made = try draft.operation(pass.configuration.makeOperationID()) else {
        return try await settled(without: draft)
      }
      let operation = pass.unanswered.again(made)
      draft.sent = operation
      let sent = try SecretWork(store: pass.store).attached(
        to: [operation], and: draft.secrets, isConfidential: pass.remote.isConfidential)
      let request = SyncRequest(
        device: pass.device, schemaVersion: pass.store.schema.version, operations: sent,
        principal: pass.owner?.principal)
      // Nothing was sent: what is queued is a change like any other.
      if let error = try await uploadBlobs(of: operation) { return .unreachable(error, nil) }
      let response: SyncResponse
      do { response = try await pass.remote.exchange(request) } catch {
        guard error.errorClass == .unreachable else { throw error }
        pass.unanswered.note(operation)
        return .unreachable(error, draft)
      }
      pass.unanswered.forget(change.id)
      switch response.outcomes.first?.verdict {
      case .applied(let version, let modified, let record), .duplicate(let version, let modified, let record):
        let now = try draft.result(of: operation, version, modified, record)
        let verdict: Journal.Verdict = draft.isMerged ? .merged : .accepted
        return try await settled(
          verdict, now, version, draft, sending: operation, hasSecrets: sent.contains { !$0.secrets.isEmpty })
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
      case nil:
        throw SyncError(.protocolViolation, "The server did not answer the operation.", record: change.id)
      }
    }
    throw SyncError(
      .conflict, "\(change.id) keeps being changed by others. Try again.", record: change.id)
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
