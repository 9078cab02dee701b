public import BothyStore
public import BothySync

/// Closures that report a sync in the older SDK's form. They are called with failed inserts, failed updates and failed
/// deletions. Then the completion is called exactly once with all synced records, even without any.
///
/// Each runs in its own isolation: a `@MainActor` closure on the main actor. An empty list of failures isn't reported.
public struct SyncCallbacks: Sendable {
  /// Receives the failures of one sync. The next closure waits for it.
  ///
  /// The array isn't empty. Each failure has the record and the reason.
  public typealias FailureCallback = @Sendable ([SyncReport.RejectedChange]) async -> Void

  /// Receives records inserted here that the server rejected.
  package var failedInserts: FailureCallback?
  /// Receives changes that the server rejected.
  package var failedUpdates: FailureCallback?
  /// Receives deletions that the server rejected.
  package var failedDeletes: FailureCallback?
  /// Receives all synced records, last.
  package var completion: (@Sendable ([SyncedObject]) async -> Void)?
  /// Receives the number of earlier syncs that are reported with this one, first. It is called if the callbacks were
  /// too slow.
  package var missed: (@Sendable (Int) async -> Void)?

  /// Makes callbacks, all `nil` by default. A closure that is `nil` is skipped, without effect on the others.
  ///
  /// - Parameters:
  ///   - failedInserts: receives records inserted here that the server rejected.
  ///   - failedUpdates: receives changes that the server rejected.
  ///   - failedDeletes: receives deletions that the server rejected.
  ///   - completion: receives all synced records, last; an empty array without any.
  ///   - missed: receives the number of earlier syncs that are reported with this one, first. Called only if
  ///     the callbacks were too slow.
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

  /// Calls the closures for one report, in the order above. Returns after the last closure.
  package func deliver(_ report: SyncReport) async {
    if report.missed > 0 { await missed?(report.missed) }
    for (kind, callback) in [
      (ChangeKind.insert, failedInserts), (.update, failedUpdates), (.delete, failedDeletes),
    ] {
      let failures = report.rejected.filter { $0.operation == kind }
      if !failures.isEmpty { await callback?(failures) }
    }
    await completion?(report.syncedObjects)
  }
}

/// One synced record in the older SDK's terms: four actions and no others.
///
/// It names the record and doesn't have its fields. Fetch them from the store.
public struct SyncedObject: Sendable, Hashable {
  /// The record by type and id. It may be deleted by now.
  public var objectID: RecordID
  /// The action of the sync on the record, by the older SDK's names.
  public var actionTaken: Action

  /// A change of a record by a sync. The raw values are those of the older SDK.
  public enum Action: Int, Sendable, Hashable, CaseIterable {
    /// The server has the record since this sync. It was inserted on this device.
    case insertedOnServer = 0
    /// The server has the changes that were made on this device.
    case updatedOnServer = 1
    /// The server has deleted the record, as this device did.
    case deletedFromServer = 2
    /// The local record became the server's, or was deleted because the server has none.
    ///
    /// A merge with an equal result counts too. Records that others changed, without a change here, aren't
    /// reported.
    case updatedCache = 3
  }

  /// Makes an entry, for `SyncReport.syncedObjects`.
  package init(objectID: RecordID, actionTaken: Action) {
    self.objectID = objectID
    self.actionTaken = actionTaken
  }
}

extension SyncReport {
  /// The synced records in the older SDK's terms. A record that was deleted here because the server has none counts as
  /// an update of the cache. A record that both sides had deleted is left out.
  package var syncedObjects: [SyncedObject] {
    synced.compactMap { record in
      let action: SyncedObject.Action
      switch record.action {
      case .alreadyDeleted: return nil
      case .insertedOnServer: action = .insertedOnServer
      case .updatedOnServer: action = .updatedOnServer
      case .deletedFromServer: action = .deletedFromServer
      case .updatedCache, .removedFromCache: action = .updatedCache
      }
      return SyncedObject(objectID: record.record, actionTaken: action)
    }
  }
}

extension SyncedStore {
  /// Syncs and calls the callbacks, and returns after the last closure.
  ///
  /// A sync without a network calls the completion. While another sync runs, this one joins it, or does
  /// nothing and calls no closure, as `SyncOptions.ignoresRepeatedSyncs` says. Callbacks of
  /// `tellReports(to:as:)` receive the report too. Costs as `sync`, and throws nothing.
  ///
  /// - Parameter scope: the directions; `nil` as configured.
  /// - Returns: The report, whose `obstacle` is `nil` if the sync ran to its end.
  @discardableResult
  public func sync(_ scope: SyncDirection? = nil, telling callbacks: SyncCallbacks) async -> SyncReport {
    let report = await sync(scope)
    if report.stop != .alreadyRunning { await callbacks.deliver(report) }
    return report
  }

  /// Calls the callbacks for every sync that ends, in order, until the task is cancelled.
  ///
  /// Syncs that ended before come first, since the store was opened or the last callbacks were called. Up to
  /// 100 wait for callbacks that are slow or not set yet. Beyond that `missed` receives their number, and the
  /// next report includes their records.
  ///
  /// The file stores the position of the callbacks under `name`, and the journal has the records that were
  /// synced and rejected since. After a relaunch, or while another process synced, nothing is missed that the
  /// journal still has, and nothing is reported twice. Callbacks that were running when the app was killed
  /// are called again. Callbacks of a new name begin with the opening of the store. Two concurrent calls need
  /// two names.
  ///
  /// Costs one read of the journal for each report of changes, and one transaction after the callbacks to
  /// store the position.
  public func tellReports(to callbacks: SyncCallbacks, as name: String = "callbacks") async {
    await tellReports(as: name) { await callbacks.deliver($0) }
  }
}
