public import BothyStore

/// Comparison, repair, removal and import, and what a store reports about itself: `store.maintenance`.
///
/// ```swift
/// if try await !store.maintenance.verify() {
///   let repaired = try await store.maintenance.repair()
///   show("\(repaired.count) records were replaced.")
/// }
/// for run in try await store.maintenance.syncHistory(limit: 10) { show(run.message ?? "ended well") }
/// ```
public struct StoreMaintenance: Sendable {
  let synced: SyncedStore

  // MARK: comparing

  /// Returns true if this device and the server hold the same records. One round trip, and each side reads the scope once.
  ///
  /// ```swift
  /// let isEqual = try await store.maintenance.verify(.container("trips/oslo"))
  /// ```
  ///
  /// Pending changes count as differences. Throws `BothyError` if the server can't be reached.
  public func verify(_ scope: SyncScope = .everything) async throws -> Bool {
    let theirs = try await remoteDigest(scope)
    let ours = try await FileWork.run { try synced.digest(scope) }
    return ours.digest == theirs.digest && ours.count == theirs.count
  }

  /// Returns the server's digest of a scope, which the server reads whole. One round trip. Throws `BothyError`.
  package func remoteDigest(_ scope: SyncScope = .everything) async throws -> ScopeDigest {
    do { return try await synced.remote.digest(scope) } catch { throw BothyError(error) }
  }

  /// The quarantined files of this store, the oldest first. They may contain changes that were never sent,
  /// which `StoreMaintenance.salvage` recovers.
  ///
  /// Lists the folder of the file on the calling thread. Empty without any. `StoreMaintenance.dismiss` takes a
  /// file off the list.
  public var damagedFiles: [String] { synced.store.damagedFiles }

  // MARK: removing

  /// Evicts the records a query selects from this device; the server keeps them. One transaction.
  ///
  /// ```swift
  /// let removed = try await store.maintenance.remove(Todo.where { $0.done })
  /// ```
  ///
  /// Returns their number. Records with pending changes stay as they are. The content of the others is removed from the
  /// journal too. The next sync downloads them again where a subscription covers them: one more round trip for each
  /// five hundred records of a type.
  ///
  /// - Parameter includingPending: true to give up their pending changes, which are never sent then.
  @discardableResult
  public func remove<E: Entity>(_ query: RecordQuery<E>, includingPending: Bool = false) async throws -> Int {
    let ids = try await synced.store.read { try $0.ids(query.recordQuery) }
    return try await remove(ids.map { RecordID(E.self, id: $0) }, includingPending: includingPending).removed
  }

  /// Evicts records from this device, like `remove(_:includingPending:)` with a query.
  ///
  /// - Parameter includingPending: true to give up their pending changes, which are never sent then.
  @discardableResult
  package func remove(_ records: [RecordID], includingPending: Bool = false) async throws
    -> Removal
  {
    try await FileWork.run { try synced.purge(records, includingPending: includingPending) }
  }

  /// Evicts every local record, and deletes the sync history and the journal. Waits for a running sync.
  ///
  /// The next sync downloads all that is subscribed to. Records of types that aren't synced stay. One
  /// transaction, and no request.
  ///
  /// - Throws: `BothyError` `.pendingChanges`, with nothing changed, if anything is pending, unless
  ///   `discardingPending`.
  public func reset(discardingPending: Bool = false) async throws {
    try await synced.engine.exclusively {
      _ = try synced.purge(includingPending: true) { transaction in
        let count = try OutboxQueue.counts(in: transaction).total
        guard count == 0 || discardingPending else {
          throw BothyError(
            .pendingChanges,
            "\(count) changes are not on the server; a reset loses them. Release drafts and sync first, or pass "
              + "discardingPending: true.",
            pendingCount: count)
        }
      }
    }
  }

  // MARK: importing

  /// Inserts many records, or updates the given fields of those that exist, in one transaction a batch. The
  /// changes are sent like others, by the next sync.
  ///
  /// ```swift
  /// let rows = ["Corrour", "Staoineag"].map { AnyRecord("Hut", ["name": .text($0)]) }
  /// let imported = try await store.maintenance.importRecords(rows) { show("\($0.inserted) so far") }
  /// ```
  ///
  /// A failing batch is rolled back, and its error is thrown. Earlier batches stay. A cancelled task stops
  /// between batches with `BothyError` `.cancelled`. Memory is bounded by one batch. Returns the numbers of
  /// both.
  ///
  /// - Parameters:
  ///   - size: the number of records in a batch. Numbers below 1 count as 1.
  ///   - progress: called after each batch, on an arbitrary thread.
  @discardableResult
  public func importRecords(
    _ records: some Sequence<AnyRecord>, batch size: Int = 1000,
    progress: @Sendable (LocalStore.ImportProgress) -> Void = { _ in }
  ) async throws -> LocalStore.ImportProgress {
    try await synced.store.importRecords(records, batch: size, progress: progress)
  }

  // MARK: feeds

  /// The changed records of each commit of this process, with their origin: an array for each write that begins after
  /// this call. Commits of other processes are left out.
  ///
  /// A write that is running at the time of this call has none. To continue a state without a gap, take the stream first
  /// and read the state inside a `write` of its own, which waits for such a write.
  ///
  /// While a listener exists, each write costs a note, and a write from the server one more look-up. A slow listener
  /// receives all events later. Each use makes a stream of its own, which ends when the store is closed.
  public var events: AsyncStream<[RecordChange]> { synced.store.events }

  /// The report of each sync that ends from now on, and of each server-first save, in their order.
  ///
  /// A reader that lags behind gets all of them. Of one that lags by more than 100 reports, or by reports about
  /// more than 10,000 records, the oldest are left out. The journal has all decisions. Syncs of other processes
  /// aren't reported. Each use makes a stream of its own, which ends with the task of its reader.
  public var reports: AsyncStream<SyncReport> {
    let reader = synced.engine.reports.reader()
    return AsyncStream { await reader.next()?.report }
  }

  // MARK: history

  /// Returns the syncs that the file remembers, newest first, those of other processes and earlier launches
  /// included: when each began, its numbers and its obstacle.
  ///
  /// A sync that moved something, or ended in another way than the one before it, has a row. Failures in a row
  /// that are alike share one. The file keeps the newest 150 successes and the newest 150 failures. The reports
  /// name no records. One read. Throws `BothyError`.
  public func syncHistory(limit: Int = 50) async throws -> [SyncReport] {
    try await syncRuns(limit: limit).map(SyncReport.init)
  }

  /// Like `syncHistory(limit:)`, with all that the file notes.
  package func syncRuns(limit: Int = 50) async throws -> [SyncRun] {
    try await synced.store.read { try SyncHistoryTable.runs(limit: limit, in: $0) }
  }

  /// Returns the server's records that can't be read here, by type and id. Empty without any.
  ///
  /// Each keeps its earlier local version, if it has one. It leaves the list when the server has a readable
  /// version, or when a newer version of the app reads it. Includes stored records that results leave out, for
  /// which the types that can have some are read whole. Throws `BothyError`.
  public func unreadableRecords() async throws -> [UnreadableRecord] {
    try await synced.store.read { try UnreadableTable.all(in: $0) }
  }
}

extension SyncedStore {
  /// Comparison with the server, repair and removal. Making it reads nothing.
  public var maintenance: StoreMaintenance { StoreMaintenance(synced: self) }
}

extension StoreMaintenance {
  /// Compares the local records of a scope with the server's, by digests, and downloads those that differ. Keeps pending
  /// changes.
  ///
  /// Pulls first. Then makes one round trip if all is equal, else two more and one for each five hundred records that
  /// differ. Where much differs, or the remote cannot compare parts, it pulls the scope as a whole. This device reads the
  /// scope up to three times. Throws `BothyError` if the server can't be reached, and `BothyError`.
  ///
  /// Returns the records that were replaced by the server's versions, or removed because the server has none.
  ///
  /// - Parameter scope: the scope to compare, as far as it is subscribed to; `nil` for all subscriptions.
  @discardableResult
  public func repair(_ scope: SyncScope? = nil) async throws -> [RecordID] {
    try await repairs(scope).flatMap(\.repaired)
  }

  /// Like `repair(_:)`, with all that was compared, for each subscription.
  package func repairs(_ scope: SyncScope? = nil) async throws -> [Repair] {
    let followed = synced.followed.current
    var scopes = followed
    if let scope {
      scopes = followed.contains { $0.contains(scope) } ? [scope] : followed.filter { scope.contains($0) }
    }
    var reports: [Repair] = []
    for scope in scopes { reports.append(try await compare(scope)) }
    return reports
  }

  private func compare(_ scope: SyncScope) async throws -> Repair {
    let holding = synced.followed.current.filter { $0.contains(scope) }
    var requests = 0
    // Others may change something between the pull and the comparison.
    for attempt in 1...3 {
      let pulled = await synced.engine.sync(SyncRunner.Request(scope: .pull, pulls: holding))
      if let reason = pulled.stop { throw BothyError(reason) }
      requests += pulled.requests
      do {
        var found = try await synced.engine.exclusively { () -> Repair in
          let position = try await synced.store.read { transaction in
            try holding.first.flatMap { try PullState.load($0, in: transaction).cursor }
              .flatMap { Cursor(token: $0)?.position }
          }
          return try await Comparison(
            store: synced.store, remote: synced.remote, scope: scope, position: attempt < 3 ? position : nil
          ).repair()
        }
        requests += found.requests
        found.requests = requests
        if found.needsPull {
          try synced.resetValidator(of: scope.container)
          let anew = await synced.engine.sync(SyncRunner.Request(scope: .pull, pulls: holding))
          if let reason = anew.stop { throw BothyError(reason) }
          found.requests += anew.requests + 1
          found.isEqual = try await isEqual(scope)
          return found
        }
        if !found.isBehind { return found }
      } catch let error as RemoteError { throw BothyError(error) }
    }
    throw BothyError(.conflict, "Others keep changing '\(scope.container)'. Compare again.")
  }

  private func isEqual(_ scope: SyncScope) async throws -> Bool {
    let theirs = try await remoteDigest(scope)
    let ours = try await synced.store.read { try ServerView.digest(scope, parts: 0, in: $0) }
    return ours.digest == theirs.digest && ours.count == theirs.count
  }

  // MARK: decisions after a sync that ended with `SyncObstacle.otherServer`

  /// Gives up the server or history that the file was synced with, and takes what the present one has. Records that
  /// came from the first one and that this one lacks are evicted, and are in `SyncReport.lost`. Pending changes stay,
  /// and are sent.
  ///
  /// For after `SyncObstacle.otherServer`. A sync that can't be finished now is the matter of the next one. Costs a pull of
  /// all that is followed. Throws `BothyError`.
  @discardableResult
  public func adoptServer() async throws -> SyncReport { try await decide(.adopt) }

  /// Gives up the server or history that the file was synced with, and gives the present one what it lacks: everything
  /// that the file holds and that this server has not, or has as it was before, becomes pending inserts and updates, which
  /// are sent like others.
  ///
  /// For after `SyncObstacle.otherServer`: a server that was restored gets back what it had acknowledged since its
  /// backup, and one that lost everything is rebuilt from its devices. What others deleted or changed there since
  /// counts, and a server that lost nothing gets nothing back. On a server with another identity versions can't be
  /// compared: where it has a record in another content, the merge policy decides. Any number of devices may do it, and
  /// one may do it again: nothing is made twice.
  ///
  /// The decision and what it brings about are each one transaction; a sync that can't be finished now, or a process that
  /// ends, is the matter of the next one. Costs a pull of all that is followed. Throws `BothyError`.
  ///
  /// ```swift
  /// if await store.sync().obstacle == .otherServer {
  ///   let report = try await store.maintenance.uploadMine()
  ///   print("Sent: \(report.pushed)")
  /// }
  /// ```
  @discardableResult
  public func uploadMine() async throws -> SyncReport { try await decide(.uploadMine) }

  private func decide(_ decision: ServerBinding.Decision) async throws -> SyncReport {
    try await synced.engine.exclusively {
      try await synced.store.write(origin: .remote) { try ServerBinding.decide(decision, in: $0) }
    }
    return await synced.sync(.both, forced: true)
  }

  /// Leaves the file with the server that it was synced with: it can be read and written, and pending changes wait.
  /// Syncs end with `SyncObstacle.otherServer` after requesting the server's identity, until the first server answers
  /// again. Then they continue.
  ///
  /// For the other server open another file, or sign out with `AccountFolder`; `adoptServer` and `uploadMine` may still be
  /// called later. Survives a relaunch. One transaction, no request. Throws `BothyError`.
  public func keepApart() async throws {
    try await synced.store.write(origin: .remote) { transaction in
      try ServerBinding.setApart(true, in: transaction)
      transaction.touchBookkeeping()
    }
  }

  /// Returns true if `keepApart` was called and the first server has not answered since. One read.
  package func isKeptApart() async throws -> Bool {
    try await synced.store.read { try ServerBinding.load(in: $0).isApart }
  }

  // MARK: the server's history of changes

  /// Returns the changes in a container and those below it, newest first, with the user, the time and the fields of
  /// each. Pending changes are not among them. One round trip. Throws `BothyError`.
  ///
  /// - Parameters:
  ///   - scope: the whole space by default.
  ///   - before: `ChangeHistory.next` of the previous page.
  package func history(
    of scope: SyncScope = .everything, before: Int64? = nil, limit: Int = 100
  ) async throws -> ChangeHistory {
    try await history(HistoryQuery(scope: scope, before: before, limit: limit))
  }

  /// Returns the changes of one record, like `history(of:before:limit:)` with a scope.
  package func history(
    of record: RecordID, before: Int64? = nil, limit: Int = 100
  ) async throws -> ChangeHistory {
    try await history(HistoryQuery(record: record, before: before, limit: limit))
  }

  private func history(_ query: HistoryQuery) async throws -> ChangeHistory {
    do { return try await synced.remote.history(query) } catch { throw BothyError(error) }
  }
}
