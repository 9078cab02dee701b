public import BothyStore
import GRDB

/// What is pending, what was refused, and what can be done about it.
extension SyncedStore {
  /// How much is waiting to be sent. One scan of the outbox.
  public func pendingCounts() throws -> PendingCounts { try store.read { try Outbox.counts(in: $0) } }

  /// All pending work, by type and id, at most `limit` entries. Reads each with its base. Of a record that several
  /// transactions changed it has the first, which is sent first.
  public func outbox(limit: Int? = nil) throws -> [OutboxEntry] {
    try store.read { try Outbox.entries(limit: limit ?? -1, in: $0) }
  }

  /// The pending work that comes after a record, by type and id: so a long outbox is read page by page.
  package func outbox(after record: RecordID?, limit: Int) throws -> [OutboxEntry] {
    guard let record else { return try outbox(limit: limit) }
    return try store.read {
      try Outbox.entries(
        where: "(type, id) > (?, ?)", [.text(record.type), .text(record.id)], limit: limit, in: $0)
    }
  }

  /// The pending work of one record; nil when there is none.
  package func pendingEntry(_ id: RecordID) throws -> OutboxEntry? {
    try store.read { try Outbox.entry(id, in: $0) }
  }

  /// Whether syncing is paused by the word of the file, whichever process wrote it.
  package func isPausedInFile() throws -> Bool {
    try store.read { try SyncValues.value("paused", in: $0) != nil }
  }

  /// The process that says it syncs this file; nil when none does. One look-up.
  package func leaseHolder() throws -> LeaseHolder? {
    let now = clock.now()
    return try store.read { try SyncLease.holder(at: now, in: $0) }
  }

  /// The pending work that the server has refused, with its reasons, and what was written together with it and
  /// waits therefore. One scan of the outbox.
  public func inbox() throws -> [OutboxEntry] {
    try store.read { try Outbox.entries(where: Outbox.isRefused, in: $0) }
  }

  /// The first of the inbox, by type and id, and how many there are. Two scans of the outbox.
  package func inbox(limit: Int) throws -> (entries: [OutboxEntry], total: Int) {
    try store.read {
      (
        try Outbox.entries(where: Outbox.isRefused, limit: limit, in: $0),
        try Outbox.count(where: Outbox.isRefused, in: $0)
      )
    }
  }

  /// How much is pending in each container. One scan of the outbox.
  package func pendingByContainer() throws -> [String: Int] {
    try store.read { try Outbox.countsByContainer(in: $0) }
  }

  /// Where a record stands. One look-up, and another for what it was written together with. A record whose last change is held
  /// back is a draft.
  public func state(of id: RecordID) throws -> RecordState {
    try store.read { transaction in
      guard let entry = try Outbox.entry(id, in: transaction) else { return .clean }
      if entry.isBeneath, try Outbox.isHeld(id, in: transaction) { return .draft }
      switch (entry.state, entry.reason) {
      case (.held, _): return .draft
      case (.quarantined, let reason): return .quarantined(reason)
      case (.pending, let reason?): return .refused(reason)
      case (.pending, nil):
        if let other = try Outbox.refusedMember(with: entry, in: transaction) {
          return .blocked(by: other.record)
        }
        return .pending(entry.kind)
      }
    }
  }

  /// Whether a record has changes that the server does not have yet. False for unknown ids. One look-up.
  public func isPending(_ id: RecordID) throws -> Bool {
    try store.read { try Outbox.mark(id, in: $0) != nil }
  }

  /// Decides about a pending entry, and about what was written together with it. One transaction. False, with
  /// nothing changed, when the record was edited since `revision`. Throws `SyncError` `.notPending` when nothing is
  /// pending.
  @discardableResult
  public func resolve(_ id: RecordID, _ resolution: Resolution, revision: Int64? = nil) throws -> Bool {
    let done = try store.write(origin: .remote) { transaction in
      let now = clock.now()
      let done = try InboxDecision.apply(resolution, to: id, revision: revision, at: now, in: transaction)
      try Journal.trim(to: configuration.journal, at: now, in: transaction)
      return done
    }
    if resolution == .retry { engine.ask() }
    return done
  }

  /// Decides about failures that a report told of, also after a relaunch: each that is still as it was refused. One
  /// transaction. Returns the records decided about; one that was edited since, or that is not pending any more, is
  /// left as it is.
  @discardableResult
  public func resolve(_ failures: [SyncFailure], _ resolution: Resolution) throws -> [RecordID] {
    let decided = try store.write(origin: .remote) { transaction in
      var decided: [RecordID] = []
      for failure in failures where try Outbox.mark(failure.record, in: transaction) != nil {
        if try InboxDecision.apply(
          resolution, to: failure.record, revision: failure.revision, at: clock.now(), in: transaction)
        {
          decided.append(failure.record)
        }
      }
      try Journal.trim(to: configuration.journal, at: clock.now(), in: transaction)
      return decided
    }
    if resolution == .retry { engine.ask() }
    return decided
  }

  /// Lets a draft be sent; what is no draft stays as it is. One transaction.
  public func release(_ id: RecordID) throws { try release([id]) }

  /// Lets drafts be sent. One transaction.
  public func release(_ drafts: [RecordID]) throws {
    try store.write(origin: .remote) { transaction in
      for id in drafts where try Outbox.release(id, in: transaction) { transaction.touchBookkeeping() }
    }
    engine.ask()
  }

  /// Where each scope was pulled to; a scope is there once a pull of it was begun.
  public func containers() throws -> [ContainerStatus] {
    try store.read { transaction in
      try PullState.all(in: transaction).map {
        ContainerStatus(
          scope: $0.scope, cursor: $0.cursor, isComplete: $0.isComplete, isFilling: $0.staged != nil,
          pulledAt: engine.pass.heard.time(of: $0))
      }
    }
  }

  /// The digest of what is here, pending changes included. Reads every record of the scope.
  public func digest(_ scope: PullScope = .space) throws -> ScopeDigest {
    try store.read { transaction in
      var sum = DigestSum()
      let names = transaction.catalog.wireNames
      for table in transaction.catalog.tables where table.schema.isSynced {
        let select = try PreparedStatement(table.selectSQL, in: transaction.database)
        defer { select.reset() }
        while try select.step() {
          let row = try StoredRow(from: select, table)
          guard scope.contains(row.container ?? table.schema.name) else { continue }
          let id = RecordID(type: table.schema.name, id: select.text(at: 0) ?? "")
          sum.add(names.wire(id), fields: names.wire(table.document(row).bytes, of: id.type))
        }
      }
      try UnknownTypes.forEach(in: transaction) { record in
        if scope.contains(record.container) { sum.add(names.wire(record.id), fields: record.fields.bytes) }
      }
      return sum.digest(of: scope)
    }
  }

  /// The server's digest of the same scope, which it reads whole. One round trip. Throws `SyncError`.
  public func remoteDigest(_ scope: PullScope = .space) async throws -> ScopeDigest {
    do { return try await remote.digest(scope) } catch { throw SyncError(error) }
  }

  /// Where syncing stands now. Reads memory alone.
  public var status: SyncStatus { engine.status }

  /// The present status, then each new one; a slow reader skips what came in between.
  public var statuses: AsyncStream<SyncStatus> { engine.statuses.values(startingWith: engine.status) }

  /// The report of each sync that ends from now on, and of each save that went to the server first, in their order.
  ///
  /// A reader that lags behind gets all of them. Of one that lags by more than 100 reports, or by reports about more
  /// than 10,000 records, the oldest are left out, and `SyncReport.missed` of the next says how many.
  public var reports: AsyncStream<SyncReport> {
    let reader = engine.reports.reader()
    return AsyncStream { await reader.next()?.report }
  }
}

/// Where a record stands towards the server.
public enum RecordState: Sendable, Hashable {
  /// Nothing is pending; also for an id that is not here.
  case clean
  /// The next sync sends it.
  case pending(SyncOperation.Kind)
  /// Held back until `release`.
  case draft
  /// Refused, and tried again later.
  case refused(Rejection)
  /// Refused, and waiting for a decision.
  case quarantined(Rejection?)
  /// Not sent, because another record that was written together with it is refused.
  case blocked(by: RecordID)

  /// The word for reports.
  public var name: String {
    switch self {
    case .clean: "clean"
    case .pending: "pending"
    case .draft: "draft"
    case .refused: "refused"
    case .quarantined: "quarantined"
    case .blocked: "blocked"
    }
  }
}

/// How far a scope has been pulled.
public struct ContainerStatus: Sendable, Hashable {
  /// The container, with or without those below it.
  public var scope: PullScope
  /// Where the next pull goes on, opaque; nil before the first complete one, and after a reset.
  public var cursor: String?
  /// Whether a pull was ever completed.
  public var isComplete: Bool
  /// Whether pages of a pull are waiting for the last one.
  public var isFilling: Bool
  /// When a pull was last completed, in milliseconds since 1970; nil when none was.
  public var pulledAt: Int64?
}

extension ContainerStatus {
  /// A scope of which no pull has begun.
  package init(notBegun scope: PullScope) {
    self.init(scope: scope, cursor: nil, isComplete: false, isFilling: false, pulledAt: nil)
  }
}
