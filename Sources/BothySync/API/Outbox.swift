public import BothyStore

/// The changes that the server does not have yet: `store.outbox`.
///
/// ```swift
/// for entry in try await store.outbox.rejected() {
///   print(entry.record, entry.reason?.message ?? "written together with a rejected change")
///   try await store.outbox.resolve(entry, .revert)
/// }
/// ```
public struct Outbox: Sendable {
  let synced: SyncedStore

  /// Returns the numbers of pending changes. One scan of the outbox.
  public func counts() async throws -> Counts {
    try await synced.store.read { try OutboxQueue.counts(in: $0) }
  }

  /// Returns the pending changes, by type and id, drafts and rejected changes included. Reads each with its base.
  ///
  /// Of a record that several transactions changed it has the first, which is sent first.
  ///
  /// - Parameter limit: the largest number of entries; `nil` for all.
  public func pending(limit: Int? = nil) async throws -> [Entry] {
    try await synced.store.read { try OutboxQueue.entries(limit: limit ?? -1, in: $0) }
  }

  /// Returns the pending changes of a container and those below it, in the order of sending. Reads the whole outbox.
  package func pending(in container: String, includingQuarantined: Bool = false) async throws -> [Entry] {
    let scope = SyncScope(container: container, includesChildren: true)
    return try await synced.store.read {
      try OutboxQueue.entries(in: scope, includingQuarantined: includingQuarantined, in: $0)
    }
  }

  /// Returns the changes that the server rejected, with the reasons, and those written together with them, which wait.
  /// One scan of the outbox.
  public func rejected() async throws -> [Entry] {
    try await synced.store.read { try OutboxQueue.entries(where: OutboxQueue.isRefused, in: $0) }
  }

  /// Returns the drafts, which are not sent before `release`. One scan of the outbox.
  public func drafts() async throws -> [Entry] {
    try await synced.store.read { transaction in
      try OutboxQueue.entries(in: transaction).filter { try OutboxQueue.isHeld($0.record, in: transaction) }
    }
  }

  /// Returns the sync state of a record. One look-up, and another for the changes written together with it.
  public func state(of record: RecordID) async throws -> RecordState {
    try await synced.store.read { try OutboxQueue.state(of: record, in: $0) }
  }

  /// Returns the sync state of a value's record. One look-up, like `state(of:)` with an id.
  public func state<E: Entity>(of value: E) async throws -> RecordState {
    try await state(of: RecordID(value))
  }

  /// Returns true if a record has changes that the server does not have yet. False for unknown ids. One look-up.
  public func isPending(_ record: RecordID) async throws -> Bool {
    try await synced.store.read { try OutboxQueue.mark(record, in: $0) != nil }
  }

  /// Decides about an entry, and about the changes written together with it. One transaction.
  ///
  /// Returns the record, or nothing if it was edited since the entry was read; then nothing is changed. Throws
  /// `BothyError` `.notPending` if the record has no pending change.
  @discardableResult
  public func resolve(_ entry: Entry, _ decision: Decision) async throws -> [RecordID] {
    let isDone = try await FileWork.run {
      try synced.resolve(entry.record, decision, revision: entry.revision)
    }
    return isDone ? [entry.record] : []
  }

  /// Decides about the rejections of a report, also after a relaunch. One transaction.
  ///
  /// Returns the records that were decided about. Those that were edited since, or have no pending change, stay as they
  /// are.
  @discardableResult
  public func resolve(_ failures: [SyncReport.Failure], _ decision: Decision) async throws -> [RecordID] {
    try await FileWork.run { try synced.resolve(failures, decision) }
  }

  /// Marks drafts as ready to send. Other records stay as they are. One transaction.
  public func release(_ drafts: [RecordID]) async throws {
    try await FileWork.run { try synced.release(drafts) }
  }

  /// Marks a draft as ready to send. One transaction.
  public func release(_ draft: RecordID) async throws { try await release([draft]) }

  /// Marks the drafts of these values as ready to send. One transaction.
  public func release<E: Entity>(_ drafts: [E]) async throws {
    try await release(drafts.map { RecordID(E.self, id: $0.id) })
  }
}

extension SyncedStore {
  /// The changes that the server does not have yet.
  public var outbox: Outbox { Outbox(synced: self) }
}
