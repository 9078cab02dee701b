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
  /// True if a change that the server was not reached for is pending from then on.
  let isQueued: Bool

  enum Result: Sendable {
    case settled(SaveReceipt<AnyRecord>)
    /// The record has pending work, and the change belongs on top of it: nothing of it was done.
    case pending(LocalChange)
    /// The server was not reached, and the change is not kept. The error says if the server may have made it.
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
  private var sent: SentValues { engine.runner.sent }

  /// Throws `CancellationError` and `BothyError` `insideSync`, with nothing done. Throws `BothyError` for a rejection,
  /// for a conflict that the policy did not decide and for what can't be requested from the server. Throws `BothyError`
  /// for a change that does not fit the schema.
  func run() async throws -> Result {
    guard !engine.isInside else { throw BothyError.insideSync }
    return try await engine.runner.turns.withPermit(of: change.id) {
      try Task.checkCancellation()
      return try await Task {
        let result = try await attempt()
        // A save that another process has settled was not ended by a transaction of this one.
        if case .settled = result { store.store.ownChanges.endHidden(change.id) }
        return result
      }
      .value
    }
  }

  private func attempt() async throws -> Result {
    while true {
      let found: OnlineChange?
      do {
        found = try await OnlineChange.rehearsed(change, keeping, engine.runner)
      } catch let pending as OnlineChange.HasPendingWork {
        guard pending.isHidden else { return .pending(change) }
        // Of another process, or left by a crash.
        if let result = try await settleOther() { return result }
        continue
      }
      // The server need not receive it.
      guard var made = found else {
        return .settled(try await store.keep(change, RequestOptions(writePolicy: .local)))
      }
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

  /// Sends the record's hidden change. Nil once it has none.
  private func settleOther() async throws -> Result? {
    let error = try await sendHidden().error
    let isHidden = try await store.store.read { try OutboxQueue.mark(change.id, in: $0)?.isHidden ?? false }
    guard isHidden else { return nil }
    return isQueued ? .pending(change) : .unreachable(error)
  }

  /// Sends the record. Returns why it was not decided about, if it was not, and true if the server may have made it.
  private func sendHidden() async throws -> (error: BothyError, mayBeMade: Bool) {
    let (id, report) = (change.id, await engine.push([change.id]))
    let reason = try await store.store.read { try OutboxQueue.entry(id, in: $0)?.reason }
    // A server that fails inside may have made it.
    if let reason, reason.leavesDoubt { return (BothyError(.serverError, reason.message, record: id), true) }
    let error =
      report.stop.map { BothyError($0) }
      ?? BothyError(
        .pendingChanges,
        "\(id) waits for other changes that must be sent before it. Release those that are drafts, and sync first.",
        record: id)
    // That is so too if the file couldn't take the answer.
    let isOpen = [BothyError.Code.unreachable, .serverError, .database].contains(error.code)
    return (error, isOpen || report.mayBeMade == true)
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
    let (id, schema) = (change.id, store.store.schema[change.id.type])
    let last = sent.last(of: id)
    if made.isAfterDoubt { return try await sendAgain(before: made, last) }
    guard let last else {
      if let left = made.left, let schema { try made.follow(nil, left, schema) }
      return .ready
    }
    guard let answer = last.answer else {
      // A pull has shown what became of it.
      sent.forget(id)
      return .again
    }
    // A row that shows the answer has told the change already.
    if last.isShownHere {
      if last.isReported { return .ready }
      proceed(from: last, made.goesOn(last, schema))
      sent.tell(id)
      return .again
    }
    try made.follow(last, answer, store.store.catalog.table(id.type).schema)
    return .ready
  }

  /// Sends an earlier save without an answer again.
  ///
  /// - Parameter last: the earlier save, or `nil` if this process has not sent it.
  private func sendAgain(before made: OnlineChange, _ last: SentValues.Sent?) async throws -> Step {
    let id = change.id
    let resumed = try await store.store.write(origin: .remote) { transaction -> Outbox.Entry? in
      guard try OutboxQueue.resume(id, in: transaction) != nil else { return nil }
      return try OutboxQueue.entry(id, in: transaction)
    }
    guard let resumed else { return .again }
    let last = try last ?? noted(resumed)
    let revision = resumed.revision
    let error = try await sendHidden().error
    let isOpen = try await store.store.read { try hidden(revision, in: $0) != nil }
    if isOpen && !isQueued {
      if let mayBeMade = try await undo(revision, isInDoubt: true) {
        return .ended(.unreachable(mayBeMade ? error.inDoubt(about: id) : error))
      }
    } else if isOpen || sent.last(of: id)?.answer != nil {
      proceed(from: last, made.goesOn(last, store.store.schema[id.type]))
    }
    // Both changes are pending from then on.
    if isOpen && isQueued { return .ended(.pending(change)) }
    // It was made, or not: then the change has all of it. The app hasn't seen what others have in the answer.
    if sent.last(of: id)?.answer == nil { sent.forget(id) } else if last.isShownHere { sent.tell(id) }
    return .again
  }

  /// Notes a save of an earlier process like one of this process.
  private func noted(_ entry: Outbox.Entry) throws -> SentValues.Sent {
    var change = OnlineChange(entry: entry)
    change.value = try SavedValue(sent: entry)
    let last = SentValues.Sent(change: change)
    sent.note(entry.id, last)
    return last
  }

  /// Sends the hidden entry and says what became of it.
  private func settle(_ revision: Int64) async throws -> Result {
    let (error, isInDoubt) = try await sendHidden()
    if let outcome = try await decided(revision) { return try ended(outcome, revision) }
    guard isQueued, error.code == .unreachable || error.code == .pendingChanges else {
      guard let mayBeMade = try await undo(revision, isInDoubt: isInDoubt) else {
        return try await pending(revision)
      }
      let reported = mayBeMade ? error.inDoubt(about: change.id) : error
      if error.code == .unreachable { return .unreachable(reported) }
      throw reported
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
      sent.decide(id, SentValues.Decided(revision: revision, outcome: outcome), answer)
    }
    return outcome
  }

  private func ended(_ outcome: SaveOutcome, _ revision: Int64) throws -> Result {
    if case .rejected(let rejection) = outcome {
      sent.forget(change.id)
      store.store.ownChanges.endHidden(change.id, isMade: false)
      throw BothyError(refused: change.id, rejection, isKept: false)
    }
    if let last = sent.last(of: change.id), case .accepted(let version) = outcome, keeping == .thereAlone {
      store.store.ownChanges.note(change.id, madeElsewhere: version, from: last.change.entry.base?.version)
    }
    let (id, table) = (change.id, try store.store.catalog.table(change.id.type))
    var made = keeping == .here ? nil : sent.last(of: id)?.answer
    if made == nil && keeping == .thereAlone {
      made = try store.store.read { try StaleRows.answer(id, over: $0.row(table, id: id.id), in: $0) }
    }
    let answer = made.flatMap { ServerAnswer($0, table) }
    sent.tell(change.id)
    return .settled(
      SaveReceipt(record: change.id, state: outcome, store: store, revision: revision, answer: answer))
  }

  /// The change is one that the row shows: no answer came, or something else was changed on top of it.
  private func pending(_ revision: Int64) async throws -> Result {
    if let outcome = try await decided(revision) { return try ended(outcome, revision) }
    sent.forget(change.id)
    return .settled(try store.sent(change.id, revision))
  }

  /// Has a value that came without a reading count as the one that was saved last.
  ///
  /// - Parameter goesOn: true if this change has the same value, changed further.
  private func proceed(from last: SentValues.Sent, _ goesOn: Bool) {
    guard goesOn, reading == 0, let own = last.change.own, let mark = change.saved?.origin.mark else {
      return
    }
    store.store.ownChanges.note(OwnChangesMade(own.read(as: mark), of: change.id))
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

  /// Undoes the change here. Returns true if the server may have made it, which is remembered for the next change of the
  /// record. Returns `nil` where it is hidden no more.
  ///
  /// - Parameter isInDoubt: false if the server has refused the last request with it.
  func undo(_ revision: Int64, isInDoubt: Bool) async throws -> Bool? {
    let last = sent.last(of: change.id)
    let undone = try await store.store.write(origin: .remote) { transaction -> (Outbox.Entry, Bool)? in
      guard let entry = try hidden(revision, in: transaction) else { return nil }
      let mayBeMade =
        try entry.operationID != nil && (isInDoubt || OutboxQueue.isSentAgain(entry.id, in: transaction))
      let noted = try Journal.note(
        entry, mayBeMade ? .unanswered : .withdrawn, .online, at: store.clock.now(), in: transaction)
      try OutboxQueue.undo(entry, noted, isInDoubt: mayBeMade, in: transaction)
      return (entry, mayBeMade)
    }
    guard let (entry, mayBeMade) = undone else { return nil }
    if mayBeMade, var last {
      // As it was sent: it may have been laid on what the server has.
      last.change.entry = entry
      sent.note(change.id, SentValues.Sent(change: last.change))
    } else {
      sent.forget(change.id)
    }
    return mayBeMade
  }
}

extension SyncedStore {
  /// Makes a change on the server before readers see it, by a policy that sends first.
  func networkFirst(
    _ change: LocalChange, keepsLocally: Bool, _ options: RequestOptions
  ) async throws -> SaveReceipt<AnyRecord> {
    let isRemoteOnly = store.schema[change.id.type]?.writeMode == .remoteOnly
    let isKept = keepsLocally && (options.cacheResults ?? true)
    let save = OnlineSave(
      change, in: self,
      keeping: configuration.cache == .disabled ? .uncached : isKept ? .here : .thereAlone,
      isQueued: keepsLocally && !isRemoteOnly)
    try await keepOpen()
    switch try await engine.locks.withWrite(container(of: change), { try await save.run() }) {
    case .settled(let receipt):
      if receipt.known == .pending { requestAfterSave(options) }
      return receipt
    case .pending(let change):
      guard keepsLocally else {
        throw try state(of: change.id) == .draft
          ? BothyError(undecided: .draft, change.id) : BothyError.pendingChanges(change.id)
      }
      return try await overPending(change, options)
    case .unreachable(let error):
      guard isRemoteOnly else { throw error }
      throw BothyError(
        .requiresNetwork,
        "\(change.id.type) is written on the server only, and it can't be reached. \(error.message)",
        record: change.id, underlying: error)
    }
  }

  /// Makes a change on top of the pending ones of the record, durable here, and sends all of them at once, with what
  /// was written together with it. What does not reach the server stays pending, and a draft stays a draft.
  private func overPending(
    _ change: LocalChange, _ options: RequestOptions
  ) async throws -> SaveReceipt<AnyRecord> {
    let receipt = try await keep(change, options)
    guard let revision = receipt.revision, receipt.known != .draft else { return receipt }
    _ = try await settle(receipt, within: nil)
    return try sent(change.id, revision)
  }

  /// Returns the receipt for a pending change that was sent, as far as it is decided. Throws `BothyError` if it was
  /// rejected.
  fileprivate func sent(_ id: RecordID, _ revision: Int64) throws -> SaveReceipt<AnyRecord> {
    let outcome = try outcome(of: id, revision)
    if case .rejected(let rejection)? = outcome { throw BothyError(refused: id, rejection, isKept: true) }
    let kind = try store.read { try OutboxQueue.top(of: id, in: $0)?.change }
    return SaveReceipt(
      record: id, state: outcome ?? .pending, kind: kind ?? .update, store: self, revision: revision)
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
  /// Returns the error of a save that was undone here, and that the server may have made.
  fileprivate func inDoubt(about id: RecordID) -> BothyError {
    var error = self
    error.message +=
      " The server may have made the change of \(id) all the same. The journal says so, and "
      + "what became of it once a sync or the next change of the record has shown it."
    return error
  }

  static func pendingChanges(_ id: RecordID) -> BothyError {
    BothyError(
      .pendingChanges, "\(id) has changes that the server does not have yet. Sync first.", record: id)
  }

  /// A refusal.
  ///
  /// - Parameter isKept: true if the change stays pending as a rejected one, with what else is; else it was undone.
  fileprivate init(refused id: RecordID, _ rejection: Rejection, isKept: Bool) {
    let isConflict =
      [Rejection.mergeFailed, BothyError.Code.unreadable.rawValue].contains(rejection.code)
    let end =
      isKept
      ? " The change waits with the rejected ones." : isConflict ? " Nothing was changed; try again." : ""
    self.init(
      isConflict ? .conflict : .rejected, rejection.message + end, record: id,
      rejection: isConflict && !isKept ? nil : rejection)
  }
}
