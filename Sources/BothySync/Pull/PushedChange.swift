import BothyStore

/// A single change of one record that reached the app outside a sync, by a socket or a push message.
package struct PushedChange: Sendable, Hashable {
  /// The record as the server has it since, or a tombstone for a deletion.
  package var record: ServerRecord
  /// The id of the operation that made the change, or `nil` if the sender doesn't report it. A device recognizes its
  /// own by it.
  package var operation: String?

  /// - Parameter operation: the id, or `nil` if it isn't known. An echo of own work is then noted beside that work.
  package init(_ record: ServerRecord, operation: String? = nil) {
    self.record = record
    self.operation = operation
  }
}

/// The result of applying a live change.
package enum LiveChangeOutcome: String, Sendable, Hashable, CaseIterable {
  /// The store has the change now, or the record is deleted.
  case applied
  /// The record has pending work. The change is noted beside it, and the next sync settles both.
  case noted
  /// The change isn't newer than the local version.
  case outdated
  /// The change is this device's own, which still waits for its answer.
  case ownEcho
  /// The record is in none of the scopes that the store pulls.
  case ignored
}

extension SyncedStore {
  /// Applies a change that arrived on a live stream. It is visible here at once, before any sync.
  ///
  /// Duplicates, changes out of order and echoes of own work do no harm. A change that isn't newer than what the server
  /// last reported is ignored, and a record with pending work isn't touched. Waits for a running sync of the container.
  /// Costs one transaction and no request. Validators stay as they are, so the next pull brings the change again, and
  /// those that a stream has lost. Throws `BothyError`, `CancellationError`.
  @discardableResult
  package func apply(_ change: PushedChange) async throws -> LiveChangeOutcome {
    let now = clock.now()
    let scopes = followed.current
    let storesAll = configuration.storesUnfollowedChanges
    let record = store.catalog.wireNames.local(change.record)
    return try await withSyncLock(record.container) {
      try await store.write(origin: .remote) { transaction in
        let entry = try OutboxQueue.entry(record.id, in: transaction)
        if let operation = change.operation, entry?.operationID == operation { return .ownEcho }
        let row = try transaction.catalog.syncedTable(record.id.type)
          .flatMap { try transaction.row($0, id: record.id.id) }
        if let known = entry?.reported?.version ?? row?.version,
          !record.version.isNewer(than: known)
        {
          return .outdated
        }
        if try UnreadableTable.has(record.id, after: record.version, in: transaction) { return .outdated }
        if row == nil && entry == nil, try record.isDeleted || PullState.knows(record, in: transaction) {
          return .outdated
        }
        let isFollowed = scopes.contains { $0.contains(record.container) }
        guard isFollowed || storesAll || entry != nil || row != nil else { return .ignored }
        var pull = try PullApplication(transaction, now: now)
        if !isFollowed && !storesAll {
          // The record was here and has left the scopes that the store pulls.
          try pull.leave(record.id, from: .everything)
        } else {
          try pull.apply(record)
        }
        return entry == nil ? .applied : .noted
      }
    }
  }
}
