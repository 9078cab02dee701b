public import BothyStore

/// Comparison, repair and removal: `store.maintenance`.
public struct StoreMaintenance: Sendable {
  let synced: SyncedStore

  // MARK: comparing

  /// Returns true if this device and the server hold the same records. One round trip, and each side reads the scope once.
  ///
  /// Pending changes count as differences. Throws `BothyError` if the server can't be reached.
  public func verify(_ scope: SyncScope = .everything) async throws -> Bool {
    let theirs = try await remoteDigest(scope)
    let ours = try await digest(scope)
    return ours.digest == theirs.digest && ours.count == theirs.count
  }

  /// Returns the digest of the local records, pending changes included. Reads every record of the scope.
  package func digest(_ scope: SyncScope = .everything) async throws -> ScopeDigest {
    try await FileWork.run { try synced.digest(scope) }
  }

  /// Returns the server's digest of a scope, which the server reads whole. One round trip. Throws `BothyError`.
  package func remoteDigest(_ scope: SyncScope = .everything) async throws -> ScopeDigest {
    do { return try await synced.remote.digest(scope) } catch { throw BothyError(error) }
  }

  /// The quarantined files of this store, the oldest first. They may contain changes that were never sent, which
  /// `SyncedStore.salvage` recovers.
  public var damagedFiles: [String] { synced.store.damagedFiles }

  // MARK: removing

  /// Evicts the records a query selects from this device; the server keeps them. One transaction.
  ///
  /// Records with pending changes stay, and the result lists them. The next sync downloads the others again where a
  /// subscription covers them: one more round trip for each five hundred records of a type.
  @discardableResult
  public func remove<E: Entity>(_ query: RecordQuery<E>, includingPending: Bool = false) async throws
    -> Removal
  {
    let ids = try await synced.store.read { try $0.ids(query.recordQuery) }
    return try await remove(ids.map { RecordID(E.self, id: $0) }, includingPending: includingPending)
  }

  /// Evicts records from this device, like `remove(_:includingPending:)` with a query.
  ///
  /// - Parameter includingPending: true to give up their pending changes, which are never sent then.
  @discardableResult
  public func remove(_ records: [RecordID], includingPending: Bool = false) async throws
    -> Removal
  {
    try await FileWork.run { try synced.purge(records, includingPending: includingPending) }
  }

  /// Evicts every record of a type, like `remove(_:includingPending:)`.
  @discardableResult
  public func remove(type: String, includingPending: Bool = false) async throws -> Removal {
    try await FileWork.run { try synced.purge(type: type, includingPending: includingPending) }
  }

  /// Evicts every local record, and deletes the sync history and the journal. Waits for a running sync.
  ///
  /// Throws `BothyError` `.pendingChanges`, with nothing changed, if anything is pending, unless `discardingPending`.
  public func reset(discardingPending: Bool = false) async throws {
    try await synced.engine.exclusively {
      let count = try synced.pendingCounts().total
      guard count == 0 || discardingPending else {
        throw BothyError(
          .pendingChanges,
          "\(count) changes are not on the server; a reset loses them. Sync first, or pass discardingPending: true."
        )
      }
      try synced.purge(includingPending: true)
    }
  }

  // MARK: history

  /// Returns the syncs that the file remembers, newest first, those of other processes and earlier launches included.
  ///
  /// A sync that moved something, or ended in another way than the one before it, has a row. Failures in a row that are
  /// alike share one. The file keeps the newest 150 successes and the newest 150 failures. Throws `BothyError`.
  public func syncHistory(limit: Int = 50) async throws -> [SyncRun] {
    try await synced.store.read { try SyncLog.runs(limit: limit, in: $0) }
  }

  /// Returns the server's records that can't be read here, by type and id.
  ///
  /// Each keeps its earlier local version, if it has one. It leaves the list when the server has a readable version, or
  /// when a newer version of the app reads it. Includes stored records that results leave out, for which the types that
  /// can have some are read whole. Throws `BothyError`.
  public func unreadableRecords() async throws -> [UnreadableRecord] {
    try await synced.store.read { try UnreadableTable.all(in: $0) }
  }
}

extension SyncedStore {
  /// Comparison with the server, repair and removal.
  public var maintenance: StoreMaintenance { StoreMaintenance(synced: self) }
}
