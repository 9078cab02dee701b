public import BothyStore

/// The changes that the server does not have yet: `store.outbox`.
///
/// Reads make no request. Decisions make none either, and a running `run()` then sends the changes at once.
///
/// ```swift
/// for entry in try await store.outbox.rejected() {
///   if case .quarantined(let rejection) = entry.state { print(rejection.message, rejection.fields) }
///   try await store.outbox.resolve(entry, .revert)
/// }
/// ```
public struct Outbox: Sendable {
  let synced: SyncedStore

  /// Returns the pending changes, by type and id, drafts and rejected changes included. Reads each with its
  /// base.
  ///
  /// Of a record that several transactions changed it has the first, which is sent first. Empty if the server
  /// has everything.
  ///
  /// - Parameter limit: the largest number of entries; `nil` for all.
  /// - Throws: `BothyError` for a file that can't be read.
  public func pending(limit: Int? = nil) async throws -> [Entry] {
    try await synced.store.read { try OutboxQueue.entries(limit: limit ?? -1, in: $0).described(in: $0) }
  }

  /// Returns the pending changes of a container and those below it, in the order of sending. Reads the whole outbox.
  package func pending(in container: String, includingQuarantined: Bool = false) async throws -> [Entry] {
    let scope = SyncScope(container: container, includesChildren: true)
    return try await synced.store.read {
      try OutboxQueue.entries(in: scope, includingQuarantined: includingQuarantined, in: $0).described(in: $0)
    }
  }

  /// Returns the changes that the server rejected, with the reasons, and those written together with them,
  /// which wait.
  ///
  /// By type and id. One scan of the outbox. Most of them are sent again by themselves; those in the state
  /// `quarantined` wait for `resolve(_:_:)`.
  public func rejected() async throws -> [Entry] {
    try await synced.store.read {
      try OutboxQueue.entries(where: OutboxQueue.isRefused, in: $0).described(in: $0)
    }
  }

  /// Returns the drafts, which are not sent before `release`. One scan of the outbox, with a look-up for each
  /// entry.
  ///
  /// ```swift
  /// for entry in try await store.outbox.drafts() { try await store.outbox.release(entry.id) }
  /// ```
  public func drafts() async throws -> [Entry] {
    try await synced.store.read { transaction in
      try OutboxQueue.entries(in: transaction).filter { try OutboxQueue.isHeld($0.id, in: transaction) }
        .described(in: transaction)
    }
  }

  /// Returns the sync state of a value's record. One look-up, and another for the changes written together with it.
  ///
  /// ```swift
  /// switch try await store.outbox.state(of: booking) {
  /// case .synced: show("On the server")
  /// case .pending, .draft: show("On this device")
  /// case .rejected(let rejection), .quarantined(let rejection): show(rejection.message)
  /// case .blocked(by: let other): show("Waits for \(other)")
  /// }
  /// ```
  public func state<E: Entity>(of value: E) async throws -> RecordState {
    let record = RecordID(value)
    return try await synced.store.read { try OutboxQueue.state(of: record, in: $0) }
  }

  /// Returns the receipt for the last write of a value's record, also after a relaunch. If nothing of it is pending, the
  /// receipt has the last decision of the journal. Two look-ups. Throws `BothyError` for a file that can't be read.
  ///
  /// ```swift
  /// let result = try await store.outbox.receipt(for: booking).result(within: .seconds(10))
  /// ```
  public func receipt<E: Entity>(for value: E) async throws -> SaveReceipt<E> {
    let record = RecordID(value)
    return try await FileWork.run { try synced.receipt(for: record) }.typed(E.self)
  }

  /// Decides about an entry, and about the changes written together with it. One transaction, and no request.
  ///
  /// Returns the record, or nothing if it was edited since the entry was read; then nothing is changed. Read
  /// the entry again in that case. The journal has the content that a decision takes.
  ///
  /// - Throws: `BothyError` `.notPending` if the record has no pending change, because a sync has sent it.
  @discardableResult
  public func resolve(_ entry: Entry, _ decision: Decision) async throws -> [RecordID] {
    let isDone = try await FileWork.run {
      try synced.resolve(entry.id, decision, revision: entry.revision)
    }
    return isDone ? [entry.id] : []
  }

  /// Decides about entries, and about the changes written together with them. One transaction an entry.
  ///
  /// Returns the records that were decided about, in the order given. Entries that were edited since they were
  /// read, or have no pending change, stay as they are. An error of the file ends the call, and earlier
  /// decisions stay.
  @discardableResult
  public func resolve(_ entries: [Entry], _ decision: Decision) async throws -> [RecordID] {
    var done: [RecordID] = []
    for entry in entries {
      do { done += try await resolve(entry, decision) } catch let error as BothyError
        where error.code == .notPending
      {
        continue  // decided about together with an earlier entry
      }
    }
    return done
  }

  /// Marks drafts as ready to send. Other records stay as they are. One transaction.
  package func release(_ drafts: [RecordID]) async throws {
    _ = try await FileWork.run { try synced.release(drafts) }
  }

  /// Marks a draft as ready to send. One transaction. A running `run()` sends it at once, otherwise the next
  /// sync does.
  ///
  /// A record without a draft stays as it is, and no error is thrown.
  public func release(_ draft: RecordID) async throws { try await release([draft]) }

  /// Marks the drafts of these values as ready to send. One transaction for all of them.
  ///
  /// The stored drafts are sent: changes that the values hold since are not saved.
  public func release<E: Entity>(_ drafts: [E]) async throws {
    try await release(drafts.map { RecordID(E.self, id: $0.id) })
  }
}

extension [Outbox.Entry] {
  /// Returns the entries with their states. One look-up for each that was written together with others.
  fileprivate func described(in transaction: ReadTransaction) throws -> [Outbox.Entry] {
    try map { entry in
      var entry = entry
      entry.found = try OutboxQueue.state(of: entry, in: transaction)
      return entry
    }
  }
}

extension SyncedStore {
  /// The changes that the server does not have yet, with decisions about them. Making it reads nothing.
  public var outbox: Outbox { Outbox(synced: self) }
}

extension Outbox {
  /// The number of records with pending changes.
  package struct Counts: Sendable, Hashable {
    /// The number of records created here that the server isn't known to have.
    package var insert = 0
    /// The number of records changed, moved or shared here.
    package var update = 0
    /// The number of records deleted here that the server isn't known to have deleted.
    package var delete = 0
    /// The number of these records with a draft.
    package var drafts = 0
    /// The number of these records that the server has rejected.
    package var rejected = 0

    /// The total, drafts and rejected changes included.
    package var total: Int { insert + update + delete }
  }
}

extension OutboxQueue {
  /// Returns the sync state of a record. One look-up, and another for the changes written together with it. A record
  /// whose last change is held back is a draft.
  static func state(of id: RecordID, in transaction: ReadTransaction) throws -> RecordState {
    try entry(id, in: transaction).map { try state(of: $0, in: transaction) } ?? .synced
  }

  /// Returns the sync state of an entry. One look-up if it was written together with others, or has later changes.
  static func state(of entry: Outbox.Entry, in transaction: ReadTransaction) throws -> RecordState {
    if entry.isBeneath, try isHeld(entry.id, in: transaction) { return .draft }
    let state = entry.ownState
    guard case .pending = state, let other = try refusedMember(with: entry, in: transaction) else {
      return state
    }
    return .blocked(by: other.id)
  }
}

extension Outbox.Entry {
  /// The state without a look at the other entries of the transaction.
  var ownState: RecordState {
    switch (stage, reason) {
    case (.held, _): .draft
    case (.quarantined, let reason):
      .quarantined(reason ?? Rejection(code: "unknown", message: "The reason was not noted."))
    case (.pending, let reason?): .rejected(reason)
    case (.pending, nil): .pending(change)
    }
  }
}
