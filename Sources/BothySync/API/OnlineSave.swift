import BothyStore

/// A save of a record without pending work that the server gets before readers see it: a hidden entry of the outbox,
/// sent at once, and settled as every other.
///
/// It runs beside syncs, ahead of them. Whatever becomes of the caller's task, it is carried through once it has begun; a
/// crash leaves an entry in doubt, which the next sync settles.
struct OnlineSave: Sendable {
  let store: SyncedStore
  /// With a mark of the call where its value has none: what the server sends meanwhile isn't a change of the caller.
  let change: LocalChange
  /// The reading that the value came with.
  private let reading: Int64?
  let keeping: Outbox.Entry.Awaited.Keeping
  /// Whether a change that the server was not reached for is pending from then on.
  let isQueued: Bool

  enum Result: Sendable {
    case settled(SaveReceipt<AnyRecord>)
    /// The record has pending work, and the change belongs on top of it: nothing of it was done.
    case pending(LocalChange)
    /// The server was not reached, and the change is not kept.
    case unreachable(BothyError)
  }

  init(
    _ change: LocalChange, in store: SyncedStore, keeping: Outbox.Entry.Awaited.Keeping, isQueued: Bool
  ) {
    self.store = store
    self.change = change.readNow
    reading = change.saved?.origin.mark.reading
    self.keeping = keeping
    self.isQueued = isQueued
  }

  private var engine: SyncEngine { store.engine }
  private var sent: SentValues { engine.pass.sent }

  /// Throws `CancellationError` and `BothyError` `.insideSync`, with nothing done. Throws `BothyError` for a rejection,
  /// for a conflict that the policy did not decide and for what can't be requested from the server. Throws `BothyError`
  /// for a change that does not fit the schema.
  func run() async throws -> Result {
    guard !engine.isInside else { throw BothyError.insideSync }
    return try await engine.pass.turns.withGate(of: change.id) {
      try Task.checkCancellation()
      return try await Task { try await attempt() }.value
    }
  }

  private func attempt() async throws -> Result {
    while true {
      let found: OnlineChange?
      do {
        found = try await OnlineChange.rehearsed(change, keeping, engine.pass)
      } catch let pending as OnlineChange.HasPendingWork {
        guard pending.isHidden else { return .pending(change) }
        // Of another process, or left by a crash.
        if let result = try await settleOther() { return result }
        continue
      }
      guard var made = found else { return try await keepHere() }
      if let reading { made.value?.reading = reading }
      switch try await follow(&made) {
      case .ready: break
      case .again: continue
      case .ended(let result): return result
      }
      made.own = made.own?.sending(isWhole: reading == 0)
      guard let revision = try await made.begin(in: store.store) else { continue }
      sent.note(change.id, SentValues.Sent(change: made))
      return try await settle(revision)
    }
  }

  /// Makes a change that the server is not to be told of.
  private func keepHere() async throws -> Result {
    let receipt = try await store.store.write { transaction in
      try change.apply(in: transaction)
      return try store.receipt(writing: change.id, in: transaction)
    }
    return .settled(receipt)
  }

  /// Sends the record's hidden change. Nil once it has none.
  private func settleOther() async throws -> Result? {
    let error = try await sendHidden()
    let isHidden = try await store.store.read { try OutboxQueue.mark(change.id, in: $0)?.isHidden ?? false }
    guard isHidden else { return nil }
    return isQueued ? .pending(change) : .unreachable(error)
  }

  /// Sends the record. Returns why it was not decided about, if it was not.
  private func sendHidden() async throws -> BothyError {
    let (id, report) = (change.id, await engine.push([change.id]))
    let reason = try await store.store.read { try OutboxQueue.entry(id, in: $0)?.reason }
    // A server that fails inside may have made it.
    if let reason, reason.leavesDoubt { return BothyError(.serverError, reason.message, record: id) }
    return report.stop.map { BothyError($0) }
      ?? BothyError(
        .pendingChanges, "\(id) waits for other changes that must be sent before it. Sync first.", record: id)
  }

  private enum Step {
    case ready
    /// The record is another by now.
    case again
    case ended(Result)
  }

  /// Bases the change on the content that the last server-first save of this record has sent. A save without an answer
  /// is sent again before it, as it was.
  private func follow(_ made: inout OnlineChange) async throws -> Step {
    guard let last = sent.last(of: change.id) else { return .ready }
    let schema = store.store.schema[change.id.type]
    if let answer = last.answer {
      // A row that shows the answer has told the change already.
      if last.change.entry.awaited?.keeping == .here {
        if last.isTold { return .ready }
        remember(last, isContinued: made.goesOn(last, schema))
        sent.tell(change.id)
        return .again
      }
      try made.follow(last, answer, store.store.catalog.table(change.id.type).schema)
      return .ready
    }
    guard let operation = last.operation,
      let revision = try await last.change.begin(in: store.store, sent: operation)
    else {
      sent.forget(change.id)
      return .again
    }
    let error = try await sendHidden()
    if isQueued && made.goesOn(last, schema) {
      if try await reveal(revision) {
        remember(last, isContinued: true)
        sent.forget(change.id)
        return .ended(.pending(change))
      }
    } else if try await undo(revision, isInDoubt: true) {
      if !isQueued { return .ended(.unreachable(error)) }
      sent.forget(change.id)
      return .again
    }
    // It was made, or not: then the change has all of it.
    if sent.last(of: change.id)?.answer == nil {
      sent.forget(change.id)
    } else {
      remember(last, isContinued: made.goesOn(last, schema))
      sent.tell(change.id)
    }
    return .again
  }

  /// Sends the hidden entry and says what became of it.
  private func settle(_ revision: Int64) async throws -> Result {
    let error = try await sendHidden()
    if let outcome = try await decided(revision) { return try ended(outcome, revision) }
    guard isQueued, error.code == .unreachable || error.code == .pendingChanges else {
      let isInDoubt = error.code == .unreachable || error.code == .serverError
      guard try await undo(revision, isInDoubt: isInDoubt) else { return try await pending(revision) }
      if error.code == .unreachable { return .unreachable(error) }
      throw error
    }
    do { _ = try await reveal(revision) } catch let error as BothyError {
      // The delete rules of what was written here meanwhile forbid it.
      _ = try await undo(revision, isInDoubt: true)
      throw error
    }
    return try await pending(revision)
  }

  private func decided(_ revision: Int64) async throws -> SaveOutcome? {
    let id = change.id
    if let outcome = sent.outcome(of: id, revision) { return outcome }
    let (outcome, answer) = try await store.store.read { transaction in
      (
        try Journal.outcome(of: id, at: revision, in: transaction),
        try OutboxQueue.shown(id, in: transaction)
      )
    }
    guard let outcome else { return nil }
    // Another process has sent it: what the row shows is what that heard.
    if outcome.version == answer?.version, keeping == .here {
      sent.decide(id, SentValues.Decided(revision, outcome), answer)
    }
    return outcome
  }

  private func ended(_ outcome: SaveOutcome, _ revision: Int64) throws -> Result {
    if case .rejected(let rejection) = outcome {
      sent.forget(change.id)
      throw BothyError(refused: change.id, rejection, isKept: false)
    }
    if let last = sent.last(of: change.id) {
      remember(last, isContinued: false)
      if case .accepted(let version) = outcome, keeping == .thereAlone {
        store.store.ownChanges.note(change.id, madeElsewhere: version, from: last.change.entry.base?.version)
      }
    }
    sent.tell(change.id)
    return .settled(SaveReceipt(record: change.id, state: outcome, store: store, revision: nil))
  }

  /// The change is one that the row shows: no answer came, or something else was changed on top of it.
  private func pending(_ revision: Int64) async throws -> Result {
    if let outcome = try await decided(revision) { return try ended(outcome, revision) }
    if let last = sent.last(of: change.id) { remember(last, isContinued: false) }
    sent.forget(change.id)
    let outcome = try store.outcome(of: change.id, revision)
    if case .rejected(let rejection)? = outcome {
      throw BothyError(refused: change.id, rejection, isKept: true)
    }
    return .settled(
      SaveReceipt(
        record: change.id, state: outcome ?? .pending, kind: change.isDeletion ? .delete : .update,
        store: store,
        revision: revision))
  }

  /// Remembers a save whose result a row shows, for the next save of its value and of older ones.
  ///
  /// - Parameter isContinued: true if this change has the same value, changed further.
  private func remember(_ last: SentValues.Sent, isContinued: Bool) {
    guard let own = last.change.own else { return }
    let mark = isContinued ? change.saved?.origin.mark : nil
    store.store.ownChanges.note([change.id: [mark.map { own.read(as: $0) } ?? own]])
  }

  /// Makes the entry pending as any other. False where it is hidden no more.
  private func reveal(_ revision: Int64) async throws -> Bool {
    try await store.store.write { transaction in
      guard let entry = try hidden(revision, in: transaction) else { return false }
      try OutboxQueue.reveal(entry, in: transaction)
      return true
    }
  }

  private func hidden(_ revision: Int64, in transaction: ReadTransaction) throws -> Outbox.Entry? {
    try OutboxQueue.entry(change.id, in: transaction).flatMap {
      $0.isHidden && $0.revision == revision ? $0 : nil
    }
  }

  /// Undoes the change here. False where it is hidden no more.
  ///
  /// - Parameter isInDoubt: whether it may have been made there: that is remembered for the next save of the record.
  private func undo(_ revision: Int64, isInDoubt: Bool) async throws -> Bool {
    let last = sent.last(of: change.id)
    let (undone, operation) = try await store.store.write(origin: .remote) {
      transaction -> (Outbox.Entry?, BothySync.SyncOperation?) in
      guard let entry = try hidden(revision, in: transaction) else { return (nil, nil) }
      let operation = try OutboxQueue.sentOperation(of: entry, in: transaction)
      let noted = try Journal.note(entry, .withdrawn, .online, at: store.clock.now(), in: transaction)
      try OutboxQueue.undo(entry, noted, in: transaction)
      return (entry, operation)
    }
    guard let undone else { return false }
    if isInDoubt, let operation, var last {
      // As it was sent: it may have been laid on what the server has.
      last.change.entry = undone
      sent.note(change.id, SentValues.Sent(change: last.change, operation: operation))
    } else {
      sent.forget(change.id)
    }
    return true
  }
}

extension SaveOutcome {
  /// The version that the server has by it.
  fileprivate var version: String? {
    switch self {
    case .accepted(let version), .merged(let version): version
    case .overwritten, .pending, .draft, .rejected, .withdrawn, .expired, .unknown: nil
    }
  }
}

extension BothyError {
  /// A refusal.
  ///
  /// - Parameter isKept: whether the change waits in the inbox, with what else is pending; else it was undone.
  fileprivate init(refused id: RecordID, _ rejection: Rejection, isKept: Bool) {
    let isConflict = rejection.code == Rejection.mergeFailed || rejection.code == "unreadable"
    let end =
      isKept ? " The change waits in the inbox." : isConflict ? " Nothing was changed; try again." : ""
    self.init(
      isConflict ? .conflict : .rejected, rejection.message + end, record: id,
      rejection: isConflict && !isKept ? nil : rejection)
  }
}
