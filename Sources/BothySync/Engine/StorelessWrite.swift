import BothyStore

/// A change that is sent to the server alone while the local store fails, if the app allows that.
///
/// It sends the fields that the caller changed since the value was read, as every save does, and leaves all other fields
/// on the server. It calls no merge policy. If others changed the same fields, it throws a conflict.
///
/// After a lost answer, the same save is sent again under its id as long as the process runs, so that it is made once. The
/// file keeps it as a doubt as soon as it can be written again.
struct StorelessWrite: Sendable {
  let runner: SyncRunner
  let change: LocalChange

  /// An operation, the fields that it was made on as far as they are known, and its secrets.
  private struct Attempt {
    var operation: SyncOperation
    var known: [String: JSONValue]?
    var secrets: [SecretKey: String]
    /// True if the store can't be read either, and the value was created now. The server's version is used then.
    var isBlind = false
  }

  /// Sends the change with at most three round trips. Throws `CancellationError`, with nothing done, and `BothyError` if
  /// the server can't be reached, rejects the change, or has other changes of the same fields.
  func run() async throws -> SaveOutcome {
    try Task.checkCancellation()
    do { return try await Task { try await attempt() }.value } catch let error as RemoteError {
      throw BothyError(error)
    }
  }

  private func attempt() async throws -> SaveOutcome {
    let schema = try runner.store.catalog.table(change.id.type).schema
    do {
      if let made = try await OnlineChange.rehearsed(change.readNow, .thereAlone, runner) {
        // A doubt is sent first, which needs the file.
        if made.isAfterDoubt { throw BothyError.pendingChanges(change.id) }
        return try await send(attempt(made), made, schema)
      }
      // The row has the value already.
      return .accepted(version: try runner.store.record(change.id)?.version ?? "")
    } catch is OnlineChange.HasPendingWork {
      throw BothyError.pendingChanges(change.id)
    } catch let error as BothyError where error.isLocalFailure {
      guard let attempt = try blindAttempt(schema) else { throw error }
      return try await send(attempt, nil, schema)
    }
  }

  private func attempt(_ made: OnlineChange) throws -> Attempt {
    let (entry, awaited) = (made.entry, made.entry.awaited)
    var operation = SyncOperation(id: "", kind: entry.change, record: entry.id, base: entry.base?.version)
    if entry.change != .delete {
      operation.container =
        entry.change == .insert ? awaited?.container : entry.destination(awaited?.container)
      operation.fields = try PushBatchBuilder.changedFields(awaited?.fields ?? .empty, since: entry.base)
      operation.sharing = entry.sharing
    }
    return Attempt(operation: operation, known: try entry.base?.fields.members(), secrets: made.secrets)
  }

  /// Returns a save or deletion that can't be compared with the row, or `nil` for another change. A value that was read
  /// is sent whole against the version read.
  private func blindAttempt(_ schema: TypeSchema) throws -> Attempt? {
    guard change.isDeletion || change.saved != nil else { return nil }
    let (given, secrets) = try change.given(schema)
    let version = change.saved?.origin.mark.number ?? 0
    let kind: ChangeKind = change.isDeletion ? .delete : version > 0 ? .update : .insert
    let container = change.saved.flatMap { $0.container == $0.type ? nil : $0.container }
    let operation = SyncOperation(
      id: "", kind: kind, record: change.id, container: container, base: version > 0 ? String(version) : nil,
      fields: kind == .insert ? given.filter { !$0.value.isNull } : given)
    return Attempt(operation: operation, secrets: secrets, isBlind: version <= 0)
  }

  private func send(
    _ attempt: Attempt, _ made: OnlineChange?, _ schema: TypeSchema
  ) async throws -> SaveOutcome {
    var (operation, known) = (attempt.operation, attempt.known)
    // The change as the operation has it.
    var sent = made
    for _ in 0..<3 {
      let open = attempt.secrets.isEmpty ? runner.sent.id(of: operation) : nil
      operation.id = open ?? runner.configuration.makeOperationID()
      switch try await reply(to: operation, attempt.secrets, sent) {
      case .made(let version, let modified, let record):
        if operation.kind == .delete { return .accepted(version: "") }
        let fields = (known ?? [:]).merging(operation.fields) { $1 }.filter { !$0.value.isNull }
        let answer = ServerRecord(
          id: change.id, container: operation.container ?? made?.entry.container, version: version,
          modified: modified, fields: FieldsDocument(fields))
        if let made { remember(made, record ?? answer) }
        return .accepted(version: version)
      case .conflict(let current):
        guard let current, !current.isDeleted else {
          if change.isDeletion { return .accepted(version: "") }
          throw conflict("Others have deleted \(change.id).")
        }
        let there = try current.fields.members()
        // The answer to an earlier try was lost, or others made the same change. A number that is counted proves nothing.
        if operation.kind != .delete, operation.container == nil, operation.sharing == nil,
          operation.fields.allSatisfy({ there[$0] ?? .null == $1 && schema[$0]?.merge != .counter })
        {
          return .accepted(version: current.version)
        }
        guard
          known.map({ known in operation.fields.keys.allSatisfy { there[$0] == known[$0] } })
            ?? (attempt.isBlind || operation.kind == .delete)
        else { throw conflict("Others have changed \(change.id) where this change does.") }
        operation.base = current.version
        known = known.map { _ in there }
        if operation.kind == .insert { operation.kind = .update }
        try sent?.move(to: current)
      }
    }
    throw conflict("\(change.id) keeps being changed by others.")
  }

  /// Sends an operation. It is kept for a repetition until an answer about the record says what became of it.
  private func reply(
    to operation: SyncOperation, _ secrets: [SecretKey: String], _ made: OnlineChange?
  ) async throws -> SyncRunner.Reply {
    do {
      let reply = try await runner.reply(to: operation, secrets)
      runner.sent.endOpen(operation.record)
      return reply
    } catch let error as BothyError where error.code == .rejected {
      runner.sent.endOpen(operation.record)
      throw error
    } catch let error as RemoteError {
      guard error.leavesDoubt else { throw error }
      let left = secrets.isEmpty ? made : nil
      runner.sent.keep(SentValues.Open(operation: operation, change: change, made: left.map(hidden)))
      var reported = BothyError(error)
      reported.message +=
        " The server may have made the change of \(operation.record) all the same. Repeat it before you change more."
      throw reported
    }
  }

  /// Returns the change of a save as one that was sent first, and whose answer the row is to show.
  private func hidden(_ made: OnlineChange) -> OnlineChange {
    var made = made
    let reading = change.saved?.origin.mark.reading
    if let reading { made.value?.reading = reading }
    made.own = made.own?.sending(isWhole: reading == 0)
    made.entry.awaited?.keeping = .here
    return made
  }

  private func conflict(_ reason: String) -> BothyError {
    BothyError(.conflict, reason + " Nothing was changed; try again.", record: change.id)
  }

  /// Remembers the result for later saves of the record, because its row doesn't show it.
  private func remember(_ made: OnlineChange, _ answer: ServerRecord) {
    let own = made.own?.sending(isWhole: change.saved?.origin.mark.reading == 0)
    if let own { runner.store.ownChanges.note(OwnChangesMade(own, of: change.id)) }
    runner.store.ownChanges.note(change.id, madeElsewhere: answer.version, from: made.before?.version)
    runner.sent.note(change.id, SentValues.Sent(change: made, answer: answer, isReported: true))
  }
}

extension SyncedStore {
  /// Makes a change on the server alone, because the store has failed to take it. Throws that failure if the server
  /// decides nothing.
  func send(_ change: LocalChange, after failure: BothyError) async throws -> SaveReceipt<AnyRecord> {
    do {
      let outcome = try await StorelessWrite(runner: engine.runner, change: change).run()
      return SaveReceipt(record: change.id, state: outcome, store: self, revision: nil, isStoredHere: false)
    } catch let there as BothyError where there.code != .rejected && there.code != .conflict {
      throw BothyError(
        failure.code, "\(failure.message) It was tried on the server too: \(there.message)",
        record: change.id,
        underlying: there)
    }
  }
}

extension SyncedStore {
  /// Keeps saves as doubts that were sent while the file could not be written, and that got no answer. The next change of
  /// such a record sends the doubt first, under its id. Throws the failure of a file that still can't be written.
  func keepOpen() async throws {
    while let open = engine.runner.sent.takeOpen() {
      do { try await OnlineSave(open.change, in: self, keeping: .here, isQueued: false).keep(open) } catch {
        engine.runner.sent.keep(open)
        guard (error as? BothyError)?.isLocalFailure == true else { return }
        throw error
      }
    }
  }
}

extension OnlineSave {
  fileprivate func keep(_ open: SentValues.Open) async throws {
    guard let made = open.made else { return }
    let revision = try await store.store.write(origin: .remote) {
      try OutboxQueue.begin(sent: made, by: open.operation, in: $0)
    }
    guard let revision else { return }
    store.engine.runner.sent.note(change.id, SentValues.Sent(change: made))
    _ = try await undo(revision, isInDoubt: true)
  }
}

extension SyncRunner {
  /// The server's reply to an operation that is sent alone.
  enum Reply: Sendable {
    case made(version: String, modified: Int64, ServerRecord?)
    case conflict(ServerRecord?)
  }

  /// Sends one operation alone, beside the outbox. Throws `RemoteError`, and `BothyError` for a rejection.
  func reply(
    to operation: SyncOperation, _ secrets: [SecretKey: String] = [:]
  ) async throws -> Reply {
    let isKnown = store.catalog.tableIfKnown(operation.record.type) != nil
    let sent =
      try !isKnown
      ? [operation]
      : SecretAttachment(store: store).attached(
        to: [operation], and: secrets, isConfidential: remote.isConfidential)
    let response = try await remote.exchange(
      SyncRequest(
        device: device, schemaVersion: store.schema.version, operations: sent, user: owner?.user))
    switch response.outcomes.first?.verdict {
    case .applied(let version, let modified, let record), .duplicate(let version, let modified, let record):
      return .made(version: version, modified: modified, record)
    case .conflict(let current): return .conflict(current)
    case .rejected(let rejection):
      throw BothyError(.rejected, rejection.message, record: operation.record, rejection: rejection)
    case .waiting, nil:
      throw BothyError(
        .protocolViolation, "The server did not answer the operation.", record: operation.record)
    }
  }
}

extension BothyError {
  /// True if the store itself failed, and not the change that it was given.
  package var isLocalFailure: Bool {
    [.diskFull, .readOnly, .busy, .corrupt, .cannotOpen, .database].contains(code)
  }
}
