public import BothyStore

/// What one sync did, record by record.
public struct SyncReport: Sendable, Hashable, Codable {
  /// Records brought into agreement because of local changes, in the order it happened.
  public var synced: [SyncedRecord] = []
  /// Changes that the server refused or that could not be merged; they are still pending unless the rejection
  /// policy says otherwise.
  public var failures: [SyncFailure] = []
  /// Local content that a conflict or a rejection policy replaced.
  public var overwritten: [Overwritten] = []
  /// Changes not sent because what they refer to is not on the server, or what was written together with them
  /// cannot be sent now.
  public var blocked: [Blocked] = []
  /// Records that left what this device follows, or that may not be seen any more, and that stay until what is
  /// pending of them is settled.
  public var leaving: [RecordID] = []
  /// Records of the server that can't be read here. They were set aside, and all others were taken in;
  /// `SyncedStore.unreadableRecords` has them until a version comes that can be read.
  public var unreadable: [UnreadableRecord] = []
  /// Operations acknowledged.
  public var pushed = 0
  /// Changes of others applied here.
  public var pulled = 0
  /// Blobs that the server has now because of this sync.
  public var uploadedBlobs = 0
  /// Round trips, those for blobs included.
  public var requests = 0
  /// Records that were brought back to what the server has although no change of it was told, and values that had to
  /// be filled in or left aside because they did not fit the schema.
  public var repaired = 0
  /// Scopes that were brought anew as a whole, because the server's history is another than the one known here, or
  /// goes back less far.
  public var rebased: [PullScope] = []
  /// Records that the server had acknowledged and does not have any more, now that its history was adopted. What was
  /// pending of them is sent as new; the others went from here.
  public var lost: [RecordID] = []
  /// Records that the server had acknowledged, or another server never had, and that it is given (back) by this file:
  /// pending work since, which this sync has sent as far as it could.
  public var givenBack: [RecordID] = []
  /// Why the sync did not run, or not to its end; nil when it did.
  public var skipped: SkipReason?
  /// How many reports before this one were left out, because whoever reads them lagged too far behind. What they said
  /// of local writes is in the journal.
  public var missed = 0
  /// How long the server asked to wait, in seconds.
  public var retryAfter: Double?

  /// Nothing done: what a sync begins with, and a test of what an app makes of reports.
  public init() {}

  /// A sync that did not run.
  init(skipped reason: SkipReason?) { skipped = reason }

  mutating func note(_ record: RecordID, _ action: SyncedRecord.Action) {
    synced.append(SyncedRecord(record: record, action: action))
  }
}

/// One record that a sync brought into agreement, and how.
public struct SyncedRecord: Sendable, Hashable, Codable {
  /// What was done; the raw values of the first four are those of the older SDK this replaces.
  public enum Action: Int, Sendable, Hashable, Codable, CaseIterable {
    /// The server has the record that was made here.
    case insertedOnServer = 0
    /// The server has the change that was made here.
    case updatedOnServer = 1
    /// The server has deleted the record, as was done here.
    case deletedFromServer = 2
    /// What the server has, or a merge that came to the same, took the place of what was here.
    case updatedCache = 3
    /// The record went from here: the server has none, and its side won.
    case removedFromCache = 4
    /// Both sides had deleted the record; nothing was left to do.
    case alreadyDeleted = 5
  }

  /// The record that is in agreement now.
  public var record: RecordID
  /// What was done to it.
  public var action: Action

  /// What syncs put into their reports, and tests into theirs.
  public init(record: RecordID, action: Action) {
    self.record = record
    self.action = action
  }
}

/// A change that the server refused, or on which the merge policy failed. Can be kept, encoded, and decided about
/// after a relaunch: `SyncedStore.resolve`.
public struct SyncFailure: Sendable, Hashable, Codable {
  /// Whose change it is.
  public var record: RecordID
  /// What was asked of the server.
  public var operation: SyncOperation.Kind
  /// Why, with what is wrong with which field.
  public var rejection: Rejection
  /// The number of times it was refused, this one included.
  public var attempts: Int
  /// Not sent again before this time, in milliseconds since 1970; nil when it is not sent again by itself.
  public var nextRetry: Int64?
  /// Which state of the record was refused: a decision on it leaves a newer one alone.
  public var revision: Int64
  /// The record as it was here; nil for a deletion.
  public var local: FieldsDocument?

  /// What syncs put into their reports, and tests into theirs.
  public init(
    record: RecordID, operation: SyncOperation.Kind, rejection: Rejection, attempts: Int,
    nextRetry: Int64? = nil,
    revision: Int64, local: FieldsDocument? = nil
  ) {
    self.record = record
    self.operation = operation
    self.rejection = rejection
    self.attempts = attempts
    self.nextRetry = nextRetry
    self.revision = revision
    self.local = local
  }

  /// The word to branch on.
  public var code: String { rejection.code }
  /// A sentence for people.
  public var message: String { rejection.message }
}

/// Local content that gave way: to the other side of a conflict, or because a refused change was undone.
public struct Overwritten: Sendable, Hashable, Codable {
  /// The record that it was the content of.
  public var record: RecordID
  /// The local content that was replaced, also where it was the container alone that gave way; nil for a deletion that
  /// was undone.
  public var fields: FieldsDocument?

  /// What syncs put into their reports, and tests into theirs.
  public init(record: RecordID, fields: FieldsDocument?) {
    self.record = record
    self.fields = fields
  }
}

/// A change that could not be sent because of another one.
public struct Blocked: Sendable, Hashable, Codable {
  /// The record whose change waits.
  public var record: RecordID
  /// What it waits for: a record that it refers to or was written together with, and that the server has not taken.
  public var by: RecordID

  /// What syncs put into their reports, and tests into theirs.
  public init(record: RecordID, by: RecordID) {
    self.record = record
    self.by = by
  }
}

/// Why a sync did not run to its end.
public enum SkipReason: Sendable, Hashable, Codable {
  /// No answer came: no network, or nothing at its end. The text is for people, as in the other cases.
  case unreachable(String)
  /// The server takes the token no longer: sign in again, then sync. What is pending stays so.
  case authenticationRequired(String)
  /// The server is too busy; `SyncReport.retryAfter` says for how long, where it told.
  case throttled(String)
  /// The server failed. Whether it carried out the request is unknown; sent again, nothing is done twice.
  case serverError(String)
  /// The server refused the request as a whole.
  case refused(code: String, String)
  /// Another sync is running, and this one was to be left out then (`IfRunning.ignore`).
  case alreadyRunning
  /// The app paused syncing.
  case paused
  /// The sync policy does not allow a network on which each byte may cost money.
  case expensiveNetwork
  /// The sync policy does not allow a network that the user asked apps to spare.
  case constrainedNetwork
  /// The sync policy does not allow syncing while the device saves power.
  case lowPower
  /// The server takes newer versions of the app only: nothing is sent until the app's schema version rises.
  case updateRequired(String)
  /// The server is another one than the file was synced with, or lacks what it had acknowledged. Nothing was removed:
  /// sync with the first server again, adopt this one (`SyncedStore.adoptServer`), give it what it lacks
  /// (`SyncedStore.uploadMine`), or keep the file apart (`SyncedStore.keepApart`).
  case otherServer(String)
  /// The account was signed out.
  case signedOut
  /// Its task was cancelled; what it had done stays done.
  case cancelled

  init(_ error: RemoteError) {
    if error.code == "updateRequired" {
      self = .updateRequired(error.message)
      return
    }
    if error.code == BoundRemote.otherServer || error.code == BoundRemote.otherHistory {
      self = .otherServer(error.message)
      return
    }
    if error.code == BoundRemote.signedOutCode {
      self = .signedOut
      return
    }
    switch error.errorClass {
    case .unreachable: self = .unreachable(error.message)
    case .unauthenticated: self = .authenticationRequired(error.message)
    case .throttled: self = .throttled(error.message)
    case .serverError: self = .serverError(error.message)
    case .forbidden, .notFound, .conflict, .rejected:
      self = .refused(code: error.code ?? error.errorClass.rawValue, error.message)
    }
  }

  /// The word for reports.
  public var name: String {
    switch self {
    case .unreachable: "unreachable"
    case .authenticationRequired: "authenticationRequired"
    case .throttled: "throttled"
    case .serverError: "serverError"
    case .refused(let code, _): code
    case .alreadyRunning: "alreadyRunning"
    case .paused: "paused"
    case .expensiveNetwork: "expensiveNetwork"
    case .constrainedNetwork: "constrainedNetwork"
    case .lowPower: "lowPower"
    case .updateRequired: "updateRequired"
    case .otherServer: "otherServer"
    case .signedOut: "signedOut"
    case .cancelled: "cancelled"
    }
  }

  /// Whether trying again later can help by itself.
  var isTransient: Bool {
    switch self {
    case .unreachable, .throttled, .serverError: true
    case .authenticationRequired, .refused, .alreadyRunning, .paused, .cancelled, .expensiveNetwork,
      .constrainedNetwork, .lowPower, .updateRequired, .otherServer, .signedOut:
      false
    }
  }
}
