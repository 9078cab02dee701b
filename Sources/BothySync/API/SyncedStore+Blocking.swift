import BothyStore
import GRDB

/// The blocking forms of what groups offer, for the module itself, the tool and tests.
extension SyncedStore {
  /// How much is waiting to be sent. One scan of the outbox.
  package func pendingCounts() throws -> Outbox.Counts { try store.read { try OutboxQueue.counts(in: $0) } }

  /// The saves that got no answer and were undone here, which the server may have made. One scan of at most a thousand.
  package func unansweredSaves() throws -> [Outbox.Entry] {
    try store.read { try OutboxQueue.doubts(in: $0) }
  }

  /// Returns the problem that a sync with the server has now, such as another server at its address. Returns `nil`
  /// without a problem, and for a file that was never synced. One round trip.
  package func serverProblem() async -> SyncStop? {
    do throws(RemoteError) { try await remote.verify() } catch { return SyncStop(error) }
    return nil
  }

  /// All pending work, by type and id, at most `limit` entries. Reads each with its base. Of a record that several
  /// transactions changed it has the first, which is sent first.
  package func outboxEntries(limit: Int? = nil) throws -> [Outbox.Entry] {
    try store.read { try OutboxQueue.entries(limit: limit ?? -1, in: $0) }
  }

  /// The pending work that comes after a record, by type and id: so a long outbox is read page by page.
  package func outboxEntries(after record: RecordID?, limit: Int) throws -> [Outbox.Entry] {
    guard let record else { return try outboxEntries(limit: limit) }
    return try store.read {
      try OutboxQueue.entries(
        where: "(type, id) > (?, ?)", [record], limit: limit, in: $0)
    }
  }

  /// The pending work of one record; nil when it has none.
  package func pendingEntry(_ id: RecordID) throws -> Outbox.Entry? {
    try store.read { try OutboxQueue.entry(id, in: $0) }
  }

  /// Returns true if the file says that syncing is paused, whichever process wrote that.
  package func isPausedInFile() throws -> Bool {
    try store.read { try SyncValues.isPaused(in: $0) }
  }

  /// The process that says it syncs this file; nil when none does. One look-up.
  package func leaseHolder() throws -> LeaseHolder? {
    let now = clock.now()
    return try store.read { try SyncLease.holder(at: now, in: $0) }
  }

  /// The pending changes that the server has rejected, with its reasons, and what was written together with it and
  /// waits therefore. One scan of the outbox.
  package func rejectedEntries() throws -> [Outbox.Entry] {
    try store.read { try OutboxQueue.entries(where: OutboxQueue.isRefused, in: $0) }
  }

  /// The first of the rejected changes, by type and id, and how many there are. Two scans of the outbox.
  package func rejectedEntries(limit: Int) throws -> (entries: [Outbox.Entry], total: Int) {
    try store.read {
      (
        try OutboxQueue.entries(where: OutboxQueue.isRefused, limit: limit, in: $0),
        try OutboxQueue.count(where: OutboxQueue.isRefused, in: $0)
      )
    }
  }

  /// How much is pending in each container. One scan of the outbox.
  package func pendingByContainer() throws -> [String: Int] {
    try store.read { try OutboxQueue.countsByContainer(in: $0) }
  }

  /// Returns the sync state of a record. One look-up, and another for the changes written together with it.
  package func state(of id: RecordID) throws -> RecordState {
    try store.read { try OutboxQueue.state(of: id, in: $0) }
  }

  /// Returns true if a record has changes that the server does not have yet. False for unknown ids. One look-up.
  package func isPending(_ id: RecordID) throws -> Bool {
    try store.read { try OutboxQueue.mark(id, in: $0) != nil }
  }

  /// Decides about a pending entry, and about what was written together with it. One transaction. False, with
  /// nothing changed, when the record was edited since `revision`. Throws `BothyError` `.notPending` when nothing is
  /// pending.
  @discardableResult
  package func resolve(_ id: RecordID, _ resolution: Outbox.Decision, revision: Int64? = nil) throws -> Bool {
    try deciding(resolution) { transaction, now in
      try OutboxDecision.apply(resolution, to: id, revision: revision, at: now, by: clock, in: transaction)
    }
  }

  /// Decides about failures that a report told of, also after a relaunch: each that is still as it was rejected. One
  /// transaction. Returns the records decided about; one that was edited since, or that is no longer pending, is left
  /// as it is.
  @discardableResult
  package func resolve(_ failures: [SyncReport.RejectedChange], _ resolution: Outbox.Decision) throws
    -> [RecordID]
  {
    try deciding(resolution) { transaction, now in
      try failures.filter { failure in
        try OutboxQueue.mark(failure.record, in: transaction) != nil
          && OutboxDecision.apply(
            resolution, to: failure.record, revision: failure.revision, at: now, by: clock, in: transaction)
      }
      .map(\.record)
    }
  }

  private func deciding<Result>(
    _ resolution: Outbox.Decision, _ body: (WriteTransaction, Int64) throws -> Result
  ) throws -> Result {
    let now = clock.now()
    let result = try store.write(origin: .remote) { transaction in
      let result = try body(transaction, now)
      try Journal.trim(to: configuration.journal, at: nil, in: transaction)
      return result
    }
    if resolution == .retry || resolution == .revert { engine.request() }
    return result
  }

  /// Lets a draft be sent; any other record stays as it is. One transaction.
  package func release(_ id: RecordID) throws { try release([id]) }

  /// Lets drafts be sent, and returns those of the records that had one. One transaction.
  @discardableResult
  package func release(_ drafts: [RecordID]) throws -> [RecordID] {
    let released = try store.write(origin: .remote) { try Self.release(drafts, in: $0) }
    engine.request()
    return released
  }

  /// Lets all drafts be sent, and returns their records. One transaction, with a scan of the outbox.
  package func releaseDrafts() throws -> [RecordID] {
    let released = try store.write(origin: .remote) { transaction in
      try Self.release(OutboxQueue.entries(in: transaction).map(\.id), in: transaction)
    }
    engine.request()
    return released
  }

  private static func release(_ drafts: [RecordID], in transaction: WriteTransaction) throws -> [RecordID] {
    let released = try drafts.filter { try OutboxQueue.release($0, in: transaction) }
    if !released.isEmpty { transaction.touchBookkeeping() }
    return released
  }

  /// Where each scope was pulled to; a scope is there once a pull of it was begun.
  package func containers() throws -> [StoreSubscriptions.ScopeStatus] {
    try store.read { transaction in
      try PullState.all(in: transaction).map {
        StoreSubscriptions.ScopeStatus(
          scope: $0.scope, cursor: $0.cursor, isComplete: $0.isComplete, isFilling: $0.staged != nil,
          pulledAt: engine.runner.heard.time(of: $0))
      }
    }
  }

  /// The digest of the local records, pending changes included. A record that can't be read here and has no row counts
  /// as it was received. Reads every record of the scope.
  package func digest(_ scope: SyncScope = .everything) throws -> ScopeDigest {
    try store.read { transaction in
      var sum = DigestSum()
      let names = transaction.catalog.wireNames
      var aside = try UnreadableTable.records(in: transaction)
      for table in transaction.catalog.tables where table.schema.isSynced {
        try transaction.forEach(table.selectSQL) { select in
          let row = try StoredRow(from: select, table)
          let id = RecordID(type: table.schema.name, id: select.text(at: 0) ?? "")
          aside[id] = nil
          guard scope.contains(row.container ?? table.schema.name) else { return }
          sum.add(names.wire(id), fields: names.wire(table.document(row).bytes, of: id.type))
        }
      }
      for record in aside.values where scope.contains(record.container) {
        sum.add(names.wire(record.id), fields: names.wire(record.fields.bytes, of: record.id.type))
      }
      try UnrecognizedRecords.forEach(in: transaction) { record in
        if scope.contains(record.container) { sum.add(names.wire(record.id), fields: record.fields.bytes) }
      }
      return sum.digest(of: scope)
    }
  }
}
