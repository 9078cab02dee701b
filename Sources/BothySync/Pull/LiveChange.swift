import BothyStore

/// A single change of one record that reached the app by a road of its own: a socket, a push message.
public struct LiveChange: Sendable, Hashable {
  /// The record as the server has it since; a tombstone for a deletion.
  public var record: ServerRecord
  /// The id of the operation that made it, where the road tells: a device knows its own by it.
  public var operation: String?

  /// - Parameter operation: nil where the road does not tell; an echo of own work is then noted beside that work.
  public init(_ record: ServerRecord, operation: String? = nil) {
    self.record = record
    self.operation = operation
  }
}

/// What was done with a live change.
public enum LiveChangeOutcome: String, Sendable, Hashable, CaseIterable {
  /// The store holds it now, or the record is gone.
  case applied
  /// The record has pending work: the change is noted beside it, and the next sync settles both.
  case noted
  /// No newer than what is here.
  case outdated
  /// This device's own, still waiting for its answer.
  case ownEcho
  /// In no container that is followed.
  case ignored
}

extension SyncedStore {
  /// Takes in a change that arrived on a live stream: at once visible here, before any sync.
  ///
  /// Duplicates, changes out of order and echoes of own work do no harm: what is not newer than what the server last
  /// told is left alone, a record with pending work is not touched. Waits for a sync of the container that is running;
  /// one transaction, no request. Validators stay as they are, so the next pull brings the change again, and what a
  /// stream has lost. Throws `StoreError`, `CancellationError`.
  @discardableResult
  public func apply(_ change: LiveChange) async throws -> LiveChangeOutcome {
    let now = clock.now()
    let scopes = followed.current
    let storesAll = configuration.storesUnfollowedChanges
    let record = store.catalog.wireNames.local(change.record)
    return try await withSyncLock(record.container) {
      try await store.write(origin: .remote) { transaction in
        let entry = try Outbox.entry(record.id, in: transaction)
        if let operation = change.operation, entry?.operationID == operation { return .ownEcho }
        let row = try transaction.catalog.tableIfKnown(record.id.type)
          .flatMap { try transaction.row($0, id: record.id.id) }
        if let known = entry?.told?.version ?? row?.version,
          !record.version.isNewer(than: known)
        {
          return .outdated
        }
        if row == nil && entry == nil, try record.isDeleted || PullState.knows(record, in: transaction) {
          return .outdated
        }
        let isFollowed = scopes.contains { $0.contains(record.container) }
        guard isFollowed || storesAll || entry != nil || row != nil else { return .ignored }
        var pull = try PullApplication(transaction, now: now)
        if !isFollowed && !storesAll {
          // It was here and has left what is followed.
          try pull.leave(record.id, from: .space)
        } else {
          try pull.apply(record)
        }
        return entry == nil ? .applied : .noted
      }
    }
  }
}
