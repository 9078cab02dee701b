package import BothyProtocol
package import BothyStore

/// A write that is durable on this device, and what became of it.
///
/// ```swift
/// let receipt = try await store.save(booking)
/// let result = try await receipt.result(within: .seconds(10))
/// switch result.verdict {
/// case .accepted: show("Booked.")
/// case .merged: show("Booked, with changes of others: \(result.record?.beds ?? 0) beds")
/// case .replaced: show("Another booking was first. Yours had \(result.overwritten?.beds ?? 0) beds.")
/// case .rejected(let rejection): show(rejection.message)
/// }
/// ```
public struct SaveReceipt<Value: Sendable>: Sendable {
  /// The record that was saved, moved, shared or deleted.
  public let record: RecordID
  /// The state of the record when the receipt was made. It doesn't change: `store.outbox.state(of:)` has the
  /// present one, and `result(within:)` waits for the verdict.
  public let state: RecordState
  /// True if the local file has the write; false if it failed and the server alone took the write.
  package let isStoredHere: Bool
  /// The outcome of the write, as far as it was known when the receipt was made.
  package let known: SaveOutcome
  let store: SyncedStore
  /// The entry's revision that the receipt is for, or `nil` if nothing is pending.
  let revision: Int64?
  /// The written value, if it isn't stored here.
  private let sent: Value?
  /// The record that the server made of a write whose result the local file doesn't have.
  let answer: ServerAnswer?
  private let decode: @Sendable (AnyRecord) throws -> Value

  private init(
    _ record: RecordID, _ state: RecordState, _ known: SaveOutcome, _ store: SyncedStore, _ revision: Int64?,
    _ isStoredHere: Bool, sent: Value?, _ answer: ServerAnswer?,
    _ decode: @escaping @Sendable (AnyRecord) throws -> Value
  ) {
    (self.record, self.state, self.known) = (record, state, known)
    (self.store, self.revision, self.isStoredHere) = (store, revision, isStoredHere)
    (self.sent, self.answer, self.decode) = (sent, answer, decode)
  }

  /// Waits for the server's verdict, and returns it with the record as it is now. Sends the write at once, ahead of a
  /// running sync. Other pending changes fill the request, unless a sync sends them or may not run now. So waiting for
  /// many receipts in turn costs one round trip for each batch of them.
  ///
  /// The verdict is read from the journal, so a later call returns the same. Throws `BothyError`: `.unreachable` and the
  /// other network codes if the server can't be reached, `.pendingChanges` for a draft or a write that waits for one,
  /// `.withdrawn` if the write was undone here before the server decided, and `.expired` if the journal no longer has the
  /// verdict. The write stays pending after the first two; ask again later. After a relaunch the journal has the verdict.
  ///
  /// - Parameter limit: the longest wait; `nil` waits for as long as a sync takes. A cancelled task waits no longer; then
  ///   it throws `.cancelled`.
  public func result(within limit: Duration? = nil) async throws -> SaveResult<Value> {
    let (outcome, problem) = try await store.settle(self, within: limit)
    if let problem { throw problem }
    guard let verdict = Verdict(outcome) else { throw BothyError(undecided: outcome, record) }
    // The write is durable: its result is read for a cancelled task too.
    let found = try await Task { [store, record, revision] in
      try await store.store.read { transaction in
        let current = try transaction.record(record)
        let overwritten = try revision.flatMap { try Journal.lost(of: record, at: $0, in: transaction) }
        return (current, overwritten, isPending: try OutboxQueue.mark(record, in: transaction) != nil)
      }
    }
    .value
    // A newer row, or a later change here, is what the record is now.
    let isPast =
      found.isPending
      || found.0?.version?.isNewer(than: answer?.record?.version ?? String(Int64.max)) ?? false
    let now = isPast ? found.0 : answer.map(\.record) ?? found.0
    return SaveResult(
      record: try sent ?? now.map(decode), origin: verdict.origin(isPending: found.isPending),
      verdict: verdict, overwritten: try found.1.map(decode))
  }
}

extension SaveReceipt where Value == AnyRecord {
  init(
    record: RecordID, state known: SaveOutcome, kind: ChangeKind = .update, store: SyncedStore,
    revision: Int64?,
    isStoredHere: Bool = true, answer: ServerAnswer? = nil
  ) {
    self.init(record, RecordState(known, kind), known, store, revision, isStoredHere, sent: nil, answer) {
      $0
    }
  }

  /// Returns the receipt with results as values of a type.
  func typed<E: Entity>(_ type: E.Type, sent: E? = nil) -> SaveReceipt<E> {
    SaveReceipt<E>(
      record, state, known, store, revision, isStoredHere, sent: isStoredHere ? nil : sent, answer,
      { try $0.entity() })
  }
}

extension SaveReceipt {
  /// The receipt with results as records of any type.
  package var untyped: SaveReceipt<AnyRecord> {
    SaveReceipt<AnyRecord>(record, state, known, store, revision, isStoredHere, sent: nil, answer) { $0 }
  }

  /// Returns the outcome, or `.pending` if the limit is over or the server can't be reached.
  package func outcome(within limit: Duration) async throws -> SaveOutcome {
    try await store.settle(self, within: limit).0
  }

  /// Waits without a limit. Throws `BothyError` if the outcome isn't known then.
  package func outcome() async throws -> SaveOutcome {
    let (outcome, problem) = try await store.settle(self, within: nil)
    if let problem { throw problem }
    return outcome
  }
}

extension SyncedStore {
  /// Returns the receipt for a record's last write, also after a relaunch. If nothing of it is pending, the receipt has the
  /// last decision of the journal. Two look-ups.
  package func receipt(for record: RecordID) throws -> SaveReceipt<AnyRecord> {
    try store.read { transaction in
      guard let entry = try OutboxQueue.top(of: record, in: transaction) else {
        let last = try Journal.last(of: record, in: transaction)
        return SaveReceipt(
          record: record, state: last?.outcome ?? .unknown, store: self, revision: last?.revision)
      }
      return try receipt(for: entry, in: transaction)
    }
  }

  /// Returns the final decision about a write, or a rejection that waits in the outbox. Returns `nil` while it is pending.
  func outcome(of id: RecordID, _ revision: Int64) throws -> SaveOutcome? {
    try store.read { transaction in
      if let settled = try Journal.outcome(of: id, at: revision, in: transaction) { return settled }
      guard let top = try OutboxQueue.top(of: id, in: transaction), Journal.belongs(revision, to: top),
        let entry = try OutboxQueue.entry(id, in: transaction)
      else { return .expired }
      // A change on top of a rejected one waits for it.
      if revision > entry.revision { return nil }
      return SaveOutcome(refusedBy: try OutboxQueue.reason(of: entry, in: transaction))
    }
  }

  // MARK: sending one write and waiting for its verdict

  /// Sends the write of a receipt and waits for the verdict, at most for `limit`. Returns the reason if none came. All
  /// that wait for the verdict on a write that readers see wait here.
  func settle<Value>(_ receipt: SaveReceipt<Value>, within limit: Duration?) async throws -> (
    SaveOutcome, BothyError?
  ) {
    guard let revision = receipt.revision, !receipt.known.isDecided else { return (receipt.known, nil) }
    let id = receipt.record
    let (verdict, isHeld) = try await store.read { transaction in
      (
        try Journal.outcome(of: id, at: revision, in: transaction),
        try OutboxQueue.isHeld(id, upTo: revision, in: transaction)
      )
    }
    if let verdict { return (verdict, nil) }
    if isHeld { return (.draft, BothyError(undecided: .draft, id)) }
    let problem = await push(id, within: limit)
    if let outcome = try outcome(of: id, revision) { return (outcome, nil) }
    if Task.isCancelled {
      let message =
        "Waiting for the server's verdict on \(id) was cancelled. The change is kept here. The next sync sends it."
      return (.pending, BothyError(.cancelled, message, record: id))
    }
    if configuration.triggers.contains(.save) { engine.request() }
    return (.pending, problem ?? BothyError(undecided: .pending, id))
  }

  /// Sends one record. Returns the reason if that is impossible. Other pending work fills the request, so that the next
  /// receipts are decided already.
  private func push(_ id: RecordID) async -> BothyError? {
    let report = await engine.push([id], isFilled: true)
    if let reason = report.stop { return BothyError(reason) }
    guard let isLeft = try? isPending(id), isLeft, report.rejected.isEmpty else { return nil }
    // It refers to something that must be sent first.
    return await engine.push(nil).stop.map { BothyError($0) }
  }

  private func push(_ id: RecordID, within limit: Duration?) async -> BothyError? {
    guard let limit else { return await push(id) }
    let clock = configuration.clock
    let problem = await Bounded.run(within: limit, sleep: { try await clock.sleep(for: $0) }) {
      await self.push(id)
    }
    if let problem { return problem }
    if Task.isCancelled { return BothyError(SyncStop.cancelled) }
    return BothyError(.unreachable, "The server did not answer in time. The next sync sends the change.")
  }
}

/// The outcome of a write, as far as it is known.
package enum SaveOutcome: Sendable, Hashable {
  /// Durable here; the server does not have it yet.
  case pending
  /// Not sent before the app releases it.
  case draft
  /// The server has it as it was written, at this version. Empty for a deletion.
  case accepted(version: String)
  /// The server has a merge of it with what others wrote, at this version.
  case merged(version: String)
  /// The server kept its own version, which is empty if it has no such record. The journal has the replaced content.
  case overwritten(version: String)
  /// The server rejected it.
  case rejected(Rejection)
  /// It was undone here before the server decided. The journal has the cause.
  case withdrawn
  /// The journal no longer has the decision.
  case expired
  /// The file has nothing about it, or no answer came and the server may have made it.
  case unknown
}

extension SaveOutcome {
  /// True if the server has decided, and the write isn't pending.
  var isDecided: Bool {
    switch self {
    case .accepted, .merged, .overwritten: true
    case .pending, .draft, .rejected, .withdrawn, .expired, .unknown: false
    }
  }

  /// The outcome by the reason of a waiting entry. `nil` without a reason, and if the server failed, because it decided
  /// nothing then.
  init?(refusedBy reason: Rejection?) {
    guard let reason, !reason.leavesDoubt else { return nil }
    self = .rejected(reason)
  }
}

/// The server's record after a write, or `nil` in place of the record after a deletion.
struct ServerAnswer: Sendable {
  var record: AnyRecord?
  var sharing = Audience.nobody

  /// Reads the server's version. Returns `nil` if this version of the app can't read it.
  init?(_ answer: ServerRecord, _ table: TypeTable) {
    guard !answer.isDeleted else { return }
    var isRepaired = false
    guard case .success(let row) = UnreadableTable.read(answer, table, repaired: &isRepaired) else {
      return nil
    }
    record = AnyRecord(id: answer.id.id, row, table)
    sharing = answer.sharing
  }
}

extension SaveReceipt {
  /// The server's record and its audience, after a write that isn't stored here. Otherwise `nil`.
  package var made: (record: AnyRecord, sharing: Audience)? {
    answer.flatMap { answer in answer.record.map { ($0, answer.sharing) } }
  }
}
