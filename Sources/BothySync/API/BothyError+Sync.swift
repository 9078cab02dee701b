public import BothyCore
public import BothyProtocol

/// The parts of an error that syncing adds.
private struct SyncDetails: ErrorDetails {
  var record: RecordID?
  var rejection: Rejection?
  var pendingCount: Int?
}

extension BothyError {
  /// The record that a sync's error concerns, or `nil` for an error about no single record.
  ///
  /// A rejected save has it, and so does a receipt without a verdict.
  public var record: RecordID? {
    get { self[SyncDetails.self].record }
    set { self[SyncDetails.self].record = newValue }
  }
  /// The server's rejection, with the invalid fields, or `nil`.
  ///
  /// Errors with the code `rejected` have it if the server judged one change. A rejected request has none.
  public var rejection: Rejection? {
    get { self[SyncDetails.self].rejection }
    set { self[SyncDetails.self].rejection = newValue }
  }
  /// The number of pending changes that kept `Account.signOut` or `StoreMaintenance.reset` from ending; `nil` for other
  /// errors.
  ///
  /// With the code `pendingSecrets` it counts only the changes that have sensitive values.
  public var pendingCount: Int? {
    get { self[SyncDetails.self].pendingCount }
    set { self[SyncDetails.self].pendingCount = newValue }
  }

  /// Creates an error of a record, for tests of an app. `message` should have what to do.
  package init(
    _ code: Code, _ message: String, record: RecordID?, rejection: Rejection? = nil,
    underlying: (any Error)? = nil
  ) {
    self.init(code, message, underlying: underlying)
    self[SyncDetails.self] = SyncDetails(record: record, rejection: rejection)
  }

  /// Creates an error of a call that so many pending changes kept from ending.
  init(_ code: Code, _ message: String, pendingCount: Int) {
    self.init(code, message)
    self.pendingCount = pendingCount
  }

  static let cacheDisabled = BothyError(
    .cacheDisabled,
    "The store keeps no records, so nothing can be read from it or saved in it alone. Set `storesRecords` of "
      + "`BothyLegacy`, or use `.remote`.")

  static let insideSync = BothyError(
    .insideSync,
    "This was called by what a running sync waits for, such as a merge policy, and can't wait for that sync. Call it "
      + "from a task of its own when the sync has ended.")

  /// Makes an error from `reason`, which names the field that this schema lacks.
  static func notLocallyEvaluable(_ reason: BothyError) -> BothyError {
    BothyError(
      .notLocallyEvaluable,
      "\(reason.message) Only a server that knows the field can answer: ask with a network policy.")
  }

  /// True if the file's server could not be used, so that a read may be answered from the file.
  var leavesTheFile: Bool { code == .unreachable || code == .otherServer }

  /// Makes the error for an error of a remote, as for a sync that ends with it.
  init(_ error: RemoteError) { self.init(SyncStop(error), underlying: error) }
}
