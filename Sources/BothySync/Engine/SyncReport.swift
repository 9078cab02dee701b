public import BothyStore

public import struct Foundation.Date

/// The results of one sync, record by record.
///
/// `reports` has that of each sync and of each save that is sent first. The journal in the file has their
/// decisions too. A report is a value: it has no connection to the store, and apps can encode it.
///
/// ```swift
/// let report = await store.sync()
/// show(report.message ?? "sent \(report.pushed), received \(report.pulled)")
/// for change in report.rejected { show("\(change.record): \(change.rejection.message)") }
/// ```
public struct SyncReport: Sendable, Hashable, Codable {
  /// The time at which a sync of the history began, by the device's clock; `nil` in the report that a sync
  /// returns.
  ///
  /// `StoreMaintenance.syncHistory` sets it. For several equal syncs in a row it is the time of the first.
  public package(set) var began: Date?
  /// The records that agree with the server now because of local changes, in order.
  package var synced: [Record] = []
  /// The changes that the server rejected or that could not be merged.
  ///
  /// They are still pending unless the rejection policy discards them. A rejection doesn't end a sync, so
  /// `obstacle` may be `nil` all the same. Empty in the reports of the history.
  public var rejected: [RejectedChange] = []
  /// The local content that a conflict or a rejection policy replaced.
  package var overwritten: [ReplacedContent] = []
  /// The changes that were not sent because of another record. They refer to a record that isn't on the server, or were
  /// written in one transaction with a record that cannot be sent now.
  package var blocked: [Blocked] = []
  /// The records that left this device's subscriptions or that the user may no longer see. They stay until their
  /// pending changes are settled.
  package var leaving: [RecordID] = []
  /// The server's records that can't be read here. They were quarantined, and all others were stored.
  /// `StoreMaintenance.unreadableRecords` has them until a version of the app can read them.
  package var unreadable: [UnreadableRecord] = []
  /// The number of operations that the server acknowledged in this sync. An operation is the change of one
  /// record, so several writes of a record may count as one.
  public var pushed = 0
  /// The number of changes of others that were applied here. The first pull counts each downloaded record.
  public var pulled = 0
  /// The number of blobs that the server has now because of this sync.
  package var uploadedBlobs = 0
  /// The number of round trips, those for blobs included.
  package var requests = 0
  /// The number of repairs. It counts records restored to the server's version without a reported change, and values
  /// filled in or left out because they didn't fit the schema.
  package var repaired = 0
  /// The scopes that were downloaded again as a whole. The server's history differs from the known one, or doesn't
  /// reach back far enough.
  package var rebased: [SyncScope] = []
  /// The records that the server had acknowledged and lacks, now that its history was adopted.
  ///
  /// Pending changes of them are sent as new records, and the others were deleted here. Empty unless a server's
  /// history was adopted, as by `StoreMaintenance.adoptServer`.
  public package(set) var lost: [RecordID] = []
  /// The records that this file sends to a server that lost them or never had them. They are pending since, and this
  /// sync has sent as many as it could.
  package var givenBack: [RecordID] = []
  /// The reason why the sync did not run, or not to its end, with the server's words; `nil` if it did.
  package var stop: SyncStop?
  /// The number of earlier reports that were left out because the reader lagged too far behind. The journal has their
  /// decisions about local writes.
  package var missed = 0
  /// The time the server asked to wait, in seconds.
  package var retryAfter: Double?
  /// True if the server may have carried out the request that it was too busy to answer. `nil` otherwise.
  var mayBeMade: Bool?

  /// The reason why the sync did not run, or not to its end; `nil` if it did.
  ///
  /// Completed work stays done, and the rest stays pending. A sync with rejected changes has run to its end.
  public var obstacle: SyncObstacle? { stop?.obstacle }
  /// The obstacle as a sentence for people, with the server's words; `nil` if the sync ran to its end.
  ///
  /// The words of the server are in its language. Branch on `obstacle`.
  public var message: String? { stop?.sentence }

  /// Makes an empty report, with which syncs begin.
  package init() {}

  /// Makes the report of a sync that did not run.
  init(stop reason: SyncStop?) { stop = reason }

  /// Makes the report of a past sync, or of several in a row that changed nothing and ended alike.
  init(_ run: StoreMaintenance.SyncRun) {
    began = Timestamp(milliseconds: run.began).date
    (pushed, pulled, stop) = (run.pushed, run.pulled, run.problem)
    (uploadedBlobs, requests) = (run.uploadedBlobs, run.requests)
  }
}

extension SyncReport {
  /// A record that a sync made agree with the server, and how.
  package struct Record: Sendable, Hashable, Codable {
    /// The action of a sync on a record. The raw values of the first four match the older SDK that this one replaces.
    package enum Action: Int, Sendable, Hashable, Codable, CaseIterable {
      /// The server has the record that was inserted here.
      case insertedOnServer = 0
      /// The server has the change that was made here.
      case updatedOnServer = 1
      /// The server has deleted the record, as this device did.
      case deletedFromServer = 2
      /// The server's version, or an equal result of a merge, replaced the local one.
      case updatedCache = 3
      /// The record was deleted here because the server has none, and its side won.
      case removedFromCache = 4
      /// Both sides had deleted the record, so the sync did nothing.
      case alreadyDeleted = 5
    }

    /// The record that agrees with the server now.
    package var record: RecordID
    /// The action on the record.
    package var action: Action

    /// Makes an entry of a report, for syncs and tests.
    package init(record: RecordID, action: Action) {
      self.record = record
      self.action = action
    }
  }

  /// A change that the server rejected, or on which the merge policy failed. Apps can store and encode it.
  ///
  /// After a relaunch `Outbox.rejected` has the entry of its record, to decide about.
  public struct RejectedChange: Sendable, Hashable, Codable {
    /// The record that was changed. It still shows the change here, unless the rejection policy discards it.
    public var record: RecordID
    /// The kind of operation that was sent.
    package var operation: ChangeKind
    /// The reason of the rejection, with the invalid fields. Its `kind` is the code to branch on, and its
    /// `message` is for people.
    public var rejection: Rejection
    /// The number of times it was rejected, this one included.
    package var attempts: Int
    /// The time before which the change isn't sent again, in milliseconds since 1970; `nil` if it isn't sent again by
    /// itself.
    package var nextRetry: Int64?
    /// The state of the record that was rejected. A decision on it doesn't affect a newer state.
    package var revision: Int64
    /// The record as it was here; `nil` for a deletion.
    package var local: FieldsDocument?

    /// The code to branch on.
    package var code: String { rejection.code }
    /// A message for people.
    package var message: String { rejection.message }
  }

  /// Local content that was replaced by the other side of a conflict, or because a rejected change was undone.
  package struct ReplacedContent: Sendable, Hashable, Codable {
    /// The record of the content.
    package var record: RecordID
    /// The local content that was replaced, also if the container alone was replaced; `nil` for a deletion that was
    /// undone.
    package var fields: FieldsDocument?
  }

  /// A change that could not be sent because of another one.
  package struct Blocked: Sendable, Hashable, Codable {
    /// The record whose change waits.
    package var record: RecordID
    /// The record that the change waits for. The change refers to it or was written in one transaction with it, and the
    /// server has not accepted it.
    package var by: RecordID

    /// Makes an entry of a report, for syncs and tests.
    package init(record: RecordID, by: RecordID) {
      self.record = record
      self.by = by
    }
  }

  /// Adds the results of one exchange. The sync itself sets `blocked`, `skipped` and `retryAfter`.
  mutating func add(_ exchange: SyncReport) {
    synced += exchange.synced
    rejected += exchange.rejected
    overwritten += exchange.overwritten
    leaving += exchange.leaving
    unreadable += exchange.unreadable
    pushed += exchange.pushed
    pulled += exchange.pulled
    repaired += exchange.repaired
    rebased += exchange.rebased.filter { !rebased.contains($0) }
    lost += exchange.lost
    givenBack += exchange.givenBack
  }

  /// Adds the results of a further round of one sync.
  mutating func append(_ further: SyncReport) {
    rejected.removeAll { old in further.synced.contains { $0.record == old.record } }
    add(further)
    blocked = further.blocked
    requests += further.requests
    uploadedBlobs += further.uploadedBlobs
    stop = further.stop
    retryAfter = further.retryAfter
    mayBeMade = further.mayBeMade
  }
}

extension SyncReport {
  /// Returns a report of the journal's decisions after one number and up to another, for a reader that missed them.
  package static func decided(
    after start: Int64, upTo end: Int64, in transaction: ReadTransaction
  ) throws -> SyncReport {
    var report = SyncReport()
    var last = start
    while true {
      let entries = try Journal.entries(
        where: "number > ? AND number <= ? ORDER BY number", [last, end], limit: 500, in: transaction)
      for entry in entries { try report.add(entry, in: transaction) }
      guard let next = entries.last?.number else { return report }
      last = next
    }
  }

  /// Adds one decision of the journal: while it is written, or read for a reader that missed it.
  mutating func add(_ entry: JournalEntry, in transaction: ReadTransaction) throws {
    if let action = entry.action { synced.append(Record(record: entry.record, action: action)) }
    if entry.replacesContent {
      overwritten.append(ReplacedContent(record: entry.record, fields: entry.lost))
    }
    guard case .rejected(let reason) = entry.outcome, [.rejected, .rejectionPolicy].contains(entry.cause)
    else {
      return
    }
    let pending = try OutboxQueue.entry(entry.record, in: transaction)
    let isOpen = !entry.isFinal && pending?.revision == entry.revision
    rejected.append(
      SyncReport.RejectedChange(
        record: entry.record, operation: entry.change, rejection: reason, attempts: max(1, entry.attempts),
        nextRetry: isOpen ? entry.retryAt : nil, revision: entry.revision ?? 0,
        local: try isOpen ? OutboxQueue.localContent(of: entry.record, in: transaction) : entry.lost))
  }
}

extension JournalEntry {
  /// Makes the entry of a row that is being written.
  init(_ row: Journal.Row) {
    self.init(
      number: 0, record: row.record, change: row.kind, outcome: row.verdict.outcome(row.version, row.reason),
      cause: row.cause, isFinal: row.verdict.isFinal, decided: 0, lost: row.loss?.local)
    isGone = lost != nil && row.loss?.now == nil
    (attempts, retryAt, revision) = (row.attempts, row.retryAt, row.revision)
  }

  /// True if local content was replaced or undone, and no caller was told so by an error or decided it.
  fileprivate var replacesContent: Bool {
    switch outcome {
    case .overwritten: true
    case .rejected: cause == .rejectionPolicy
    case .merged: lost != nil
    case .accepted, .withdrawn, .pending, .draft, .expired, .unknown: false
    }
  }

  /// The action of a sync on the record, or `nil` if the decision was made outside a sync or isn't final.
  fileprivate var action: SyncReport.Record.Action? {
    guard isFinal, outcome != .withdrawn else { return nil }
    switch (cause, outcome) {
    case (.online, .rejected): return nil
    case (.online, .overwritten): return isGone ? .removedFromCache : .updatedCache
    case (.acknowledged, _), (.online, _):
      switch change {
      case .insert: return .insertedOnServer
      case .update: return .updatedOnServer
      case .delete: return .deletedFromServer
      }
    case (.agreed, _): return change == .delete ? .alreadyDeleted : .updatedCache
    case (.merge, _), (.atomic, _): return isGone ? .removedFromCache : .updatedCache
    default: return nil
    }
  }
}
