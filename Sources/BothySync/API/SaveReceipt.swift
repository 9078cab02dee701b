public import BothyStore

/// A write that is durable on this device, and what became of it.
///
/// ```swift
/// let receipt = try await store.save(booking)
/// let result = try await receipt.result(within: .seconds(10))
/// switch result.verdict {
/// case .accepted, .merged: show(result.record)
/// case .replaced: print("Another booking was first. Yours was:", result.overwritten as Any)
/// case .rejected(let rejection): print(rejection.message)
/// }
/// ```
public struct SaveReceipt<Value: Sendable>: Sendable {
  /// The record that was saved, moved, shared or deleted.
  public let record: RecordID
  /// The state of the record when the receipt was made.
  public let state: RecordState
  /// True if the local file has the write; false if it failed and the server alone took the write.
  package let isStoredHere: Bool
  /// What was known of the write when the receipt was made.
  package let known: SaveOutcome
  let store: SyncedStore
  /// The entry's revision that the receipt is for, or `nil` if nothing is pending.
  let revision: Int64?
  /// The written value, if it isn't stored here.
  private let sent: Value?
  private let decode: @Sendable (AnyRecord) throws -> Value

  private init(
    _ record: RecordID, _ state: RecordState, _ known: SaveOutcome, _ store: SyncedStore, _ revision: Int64?,
    _ isStoredHere: Bool, sent: Value?, _ decode: @escaping @Sendable (AnyRecord) throws -> Value
  ) {
    (self.record, self.state, self.known) = (record, state, known)
    (self.store, self.revision, self.isStoredHere) = (store, revision, isStoredHere)
    (self.sent, self.decode) = (sent, decode)
  }

  /// Waits for the server's verdict, and returns it with the record as it is now. Sends the write at once, ahead of a
  /// running sync.
  ///
  /// The verdict is read from the journal, so a later call returns the same. Throws `BothyError`: `.unreachable` and the
  /// other network codes if the server can't be reached, `.pendingChanges` for a draft or a write that waits for one,
  /// `.withdrawn` if the write was undone here before the server decided, and `.expired` if the journal no longer has the
  /// verdict. The write stays pending after the first two; ask again later, also by `SyncedStore.receipt(for:)` after a
  /// relaunch.
  ///
  /// - Parameter limit: the longest wait. A cancelled task waits no longer; then it throws `.cancelled`.
  public func result(within limit: Duration) async throws -> SaveResult<Value> {
    let (outcome, problem) = try await store.settle(self, within: limit)
    if let problem { throw problem }
    return try await result(outcome)
  }

  /// Waits for the server's verdict, like `result(within:)`, for as long as a sync takes.
  public func result() async throws -> SaveResult<Value> { try await result(outcome()) }

  private func result(_ outcome: SaveOutcome) async throws -> SaveResult<Value> {
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
    return SaveResult(
      record: try sent ?? found.0.map(decode), origin: verdict.origin(isPending: found.isPending),
      verdict: verdict, overwritten: try found.1.map(decode))
  }
}

extension SaveReceipt where Value == AnyRecord {
  init(
    record: RecordID, state known: SaveOutcome, kind: ChangeKind = .update, store: SyncedStore,
    revision: Int64?,
    isStoredHere: Bool = true
  ) {
    self.init(record, RecordState(known, kind), known, store, revision, isStoredHere, sent: nil) { $0 }
  }

  /// Returns the receipt with results as values of a type.
  func typed<E: Entity>(_ type: E.Type, sent: E? = nil) -> SaveReceipt<E> {
    SaveReceipt<E>(
      record, state, known, store, revision, isStoredHere, sent: isStoredHere ? nil : sent,
      { try $0.entity() })
  }
}

extension SaveReceipt {
  /// The receipt with results as records of any type.
  package var untyped: SaveReceipt<AnyRecord> {
    SaveReceipt<AnyRecord>(record, state, known, store, revision, isStoredHere, sent: nil) { $0 }
  }

  /// Returns the outcome, or `.pending` if the limit is over or the server can't be reached.
  package func outcome(within limit: Duration) async throws -> SaveOutcome {
    try await store.settle(self, within: limit).0
  }

  /// Sends pending changes and returns the outcome. Throws `BothyError` if the outcome isn't known yet.
  package func outcome() async throws -> SaveOutcome {
    guard let revision else { return known }
    if let settled = try store.verdict(on: record, revision) { return settled }
    if try await store.store.read({ [record] in try OutboxQueue.isHeld(record, upTo: revision, in: $0) }) {
      throw BothyError(undecided: .draft, record)
    }
    let report = await store.sync(.push, ifRunning: .join)
    if let settled = try store.outcome(of: record, revision) { return settled }
    throw report.stop.map { BothyError($0) } ?? BothyError(undecided: .pending, record)
  }
}

extension SyncedStore {
  /// Returns the receipt for a record's last write, also after a relaunch. If nothing of it is pending, the receipt has the
  /// last decision of the journal. Two look-ups.
  public func receipt(for record: RecordID) throws -> SaveReceipt<AnyRecord> {
    try store.read { transaction in
      guard let entry = try OutboxQueue.top(of: record, in: transaction) else {
        let last = try Journal.last(of: record, in: transaction)
        return SaveReceipt(record: record, state: last ?? .unknown, store: self, revision: nil)
      }
      return try receipt(for: entry, in: transaction)
    }
  }

  /// Returns the receipt for the last write of a value's record, like `receipt(for:)` with an id.
  public func receipt<E: Entity>(for value: E) throws -> SaveReceipt<E> {
    try receipt(for: RecordID(value)).typed(E.self)
  }

  /// Returns the receipt for a write of this transaction. If nothing is left to send, the server has the record as it is,
  /// or never received it: then the insertion was taken back.
  func receipt(writing id: RecordID, in transaction: WriteTransaction) throws -> SaveReceipt<AnyRecord> {
    try transaction.flush()
    if let entry = try OutboxQueue.top(of: id, in: transaction) {
      return try receipt(for: entry, in: transaction)
    }
    let stored = try transaction.record(id)
    let isTakenBack = try stored == nil && Journal.last(of: id, in: transaction) == .withdrawn
    return SaveReceipt(
      record: id, state: isTakenBack ? .withdrawn : .accepted(version: stored?.version ?? ""), store: self,
      revision: nil)
  }

  private func receipt(for entry: Outbox.Entry, in transaction: ReadTransaction) throws -> SaveReceipt<
    AnyRecord
  > {
    let reason = try entry.reason ?? OutboxQueue.refusedMember(with: entry, in: transaction)?.reason
    let state: SaveOutcome = entry.state == .held ? .draft : SaveOutcome(refusedBy: reason) ?? .pending
    return SaveReceipt(
      record: entry.record, state: state, kind: entry.kind, store: self, revision: entry.revision)
  }

  /// Returns the final decision about a write, or `nil` while it is pending.
  func verdict(on id: RecordID, _ revision: Int64) throws -> SaveOutcome? {
    try store.read { try Journal.outcome(of: id, at: revision, in: $0) }
  }

  /// Like `verdict(on:_:)`, but also returns a rejection that waits in the outbox.
  func outcome(of id: RecordID, _ revision: Int64) throws -> SaveOutcome? {
    try store.read { transaction in
      if let settled = try Journal.outcome(of: id, at: revision, in: transaction) { return settled }
      guard let top = try OutboxQueue.top(of: id, in: transaction), Journal.belongs(revision, to: top),
        let entry = try OutboxQueue.entry(id, in: transaction)
      else { return .expired }
      // A change on top of a rejected one waits for it.
      if revision > entry.revision { return nil }
      let reason = try entry.reason ?? OutboxQueue.refusedMember(with: entry, in: transaction)?.reason
      return SaveOutcome(refusedBy: reason)
    }
  }
}
