public import BothyStore

/// Closures that are told of a sync the way the older SDK told: failed inserts, failed updates, failed deletions, and
/// then, exactly once and also when there is nothing to tell, the completion with all that was synced.
///
/// Each runs where it belongs: a `@MainActor` closure on the main actor. A list of failures that is empty is not told.
public struct SyncCallbacks: Sendable {
  /// Takes what failed in one sync; the next closure waits for it.
  public typealias FailureCallback = @Sendable ([SyncFailure]) async -> Void

  /// Told of records made here that the server refused.
  public var failedInserts: FailureCallback?
  /// Told of changes that it refused.
  public var failedUpdates: FailureCallback?
  /// Told of deletions that it refused.
  public var failedDeletes: FailureCallback?
  /// Told last, of all that was synced.
  public var completion: (@Sendable ([SyncedObject]) async -> Void)?
  /// Told first, where callbacks were so slow that syncs before this one are told with it: how many.
  public var missed: (@Sendable (Int) async -> Void)?

  /// All are nil unless given; a closure that is nil is left out, and changes nothing for the others.
  public init(
    failedInserts: FailureCallback? = nil, failedUpdates: FailureCallback? = nil,
    failedDeletes: FailureCallback? = nil, completion: (@Sendable ([SyncedObject]) async -> Void)? = nil,
    missed: (@Sendable (Int) async -> Void)? = nil
  ) {
    self.failedInserts = failedInserts
    self.failedUpdates = failedUpdates
    self.failedDeletes = failedDeletes
    self.completion = completion
    self.missed = missed
  }

  /// Tells of one report, in the order above; returns when the last closure has.
  public func deliver(_ report: SyncReport) async {
    if report.missed > 0 { await missed?(report.missed) }
    for (kind, callback) in [
      (SyncOperation.Kind.insert, failedInserts), (.update, failedUpdates), (.delete, failedDeletes),
    ] {
      let failures = report.failures.filter { $0.operation == kind }
      if !failures.isEmpty { await callback?(failures) }
    }
    await completion?(report.syncedObjects)
  }
}

/// One synced record in the older SDK's terms: four actions and no others.
public struct SyncedObject: Sendable, Hashable {
  /// The record by type and id.
  public var objectID: RecordID
  /// One of the first four actions.
  public var actionTaken: SyncedRecord.Action

  /// What `SyncReport.syncedObjects` makes.
  public init(objectID: RecordID, actionTaken: SyncedRecord.Action) {
    self.objectID = objectID
    self.actionTaken = actionTaken
  }
}

extension SyncReport {
  /// What was synced, in the older SDK's terms: a record removed here because the server has none counts as an update
  /// of the cache; one that both sides had deleted already is not told.
  public var syncedObjects: [SyncedObject] {
    synced.compactMap { record in
      switch record.action {
      case .alreadyDeleted: nil
      case .removedFromCache: SyncedObject(objectID: record.record, actionTaken: .updatedCache)
      case .insertedOnServer, .updatedOnServer, .deletedFromServer, .updatedCache:
        SyncedObject(objectID: record.record, actionTaken: record.action)
      }
    }
  }
}

extension SyncedStore {
  /// Syncs and tells the callbacks of it; a sync that found no network tells its completion. While another is running
  /// it joins that, or does nothing and tells nothing, as `configuration.ifRunning` says.
  @discardableResult
  public func sync(_ scope: SyncScope? = nil, telling callbacks: SyncCallbacks) async -> SyncReport {
    let report = await sync(scope)
    if report.skipped != .alreadyRunning { await callbacks.deliver(report) }
    return report
  }

  /// Tells the callbacks of every sync that ends, in order, until the task is cancelled. Syncs that ended before, since
  /// the store was opened or since the last callbacks were told, come first. Up to 100 wait for callbacks that are slow
  /// or not there yet; `missed` is told of more, and what these did is told with the next.
  ///
  /// How far the callbacks were told is kept in the file under `name`, and what was synced and refused since is read
  /// from the journal: after a relaunch, or while another process synced, nothing is missed that the journal still
  /// keeps, and nothing is told twice. Callbacks that were running when the app was killed are told again. Callbacks
  /// of a new name begin with the opening of the store. Two at a time need two names.
  public func tellReports(to callbacks: SyncCallbacks, as name: String = "callbacks") async {
    let (reader, hasWaited) = engine.reports.takeWaiting(name)
    defer { engine.reports.giveBack(reader, name) }
    var position = ReaderPosition(name: name, store: store, opened: engine.reports.decided)
    if let since = await position.catchUp(toNow: !hasWaited) { await callbacks.deliver(since) }
    await position.keep()
    while let told = await reader.next() {
      await callbacks.deliver(await position.completed(told))
      await position.keep()
    }
  }
}
