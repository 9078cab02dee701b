public import BothyCore
public import BothyProtocol

/// The parts of an error that syncing adds.
private struct SyncDetails: ErrorDetails {
  var record: RecordID?
  var rejection: Rejection?
  var pendingCount: Int?
}

extension BothyError {
  /// The record that a sync's error concerns, or `nil`.
  public var record: RecordID? {
    get { self[SyncDetails.self].record }
    set { self[SyncDetails.self].record = newValue }
  }
  /// The server's rejection, with the invalid fields, or `nil`.
  public var rejection: Rejection? {
    get { self[SyncDetails.self].rejection }
    set { self[SyncDetails.self].rejection = newValue }
  }
  /// The number of pending changes, for an error about them.
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

  static let cacheDisabled = BothyError(
    .cacheDisabled,
    "The cache is off, so nothing can be read from it or saved in it alone. Enable SyncOptions.cache, or use "
      + "a network policy.")

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

  /// Makes an error of another server whose message lists the ways out.
  init(otherServer message: String, underlying: RemoteError? = nil) {
    self.init(
      .otherServer,
      message
        + " Sync with the first server again. Or call `adoptServer()`, which drops what came from the first one "
        + "and sends pending changes. Or call `uploadMine()`, which gives this one what it lacks. Or call "
        + "`keepApart()` and open another file for it.",
      underlying: underlying)
  }

  /// Makes the sync error for an error of a remote.
  init(_ error: RemoteError) {
    switch SyncStop(error) {
    case .otherServer(let message):
      self.init(otherServer: message, underlying: error)
      return
    case .signedOut:
      self.init(.signedOut, error.message, underlying: error)
      return
    default: break
    }
    let code: Code =
      switch error.errorClass {
      case .unreachable: .unreachable
      case .unauthenticated: .signInRequired
      case .forbidden, .notFound, .rejected: .rejected
      case .conflict: .conflict
      case .throttled: .throttled
      case .serverError: .serverError
      }
    self.init(code, error.message, underlying: error)
  }
}
