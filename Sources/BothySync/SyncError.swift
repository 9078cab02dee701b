public import BothyStore

/// What can go wrong when syncing: a code to branch on and a sentence that says what to do.
public struct SyncError: Error, Sendable {
  /// What kind of failure it is. New codes may be added; compare, don't switch exhaustively.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String
    private init(_ name: String) { self.name = name }
    public var description: String { name }

    /// No answer from the server; what was to be read is not here, or the policy forbids the cache.
    public static let unreachable = Code("unreachable")
    /// The type is written on the server only, and there is no network.
    public static let requiresNetwork = Code("requiresNetwork")
    /// The type stays on this device.
    public static let notSynced = Code("notSynced")
    /// The server takes the token no longer: sign in again. What is pending stays so.
    public static let authenticationRequired = Code("authenticationRequired")
    /// The server refused the change; nothing was changed here.
    public static let rejected = Code("rejected")
    /// Others changed it since it was read, or keep changing it: read again, then try again.
    public static let conflict = Code("conflict")
    /// The server is too busy and asks to come again later.
    public static let throttled = Code("throttled")
    /// The server failed; whether it made the change is unknown.
    public static let serverError = Code("serverError")
    /// There are changes that the server does not have yet.
    public static let pendingChanges = Code("pendingChanges")
    /// Values of the secret store wait to be sent, and can't be exported.
    public static let pendingSecrets = Code("pendingSecrets")
    /// The file belongs to another account.
    public static let wrongAccount = Code("wrongAccount")
    /// The account was signed out; open it again.
    public static let signedOut = Code("signedOut")
    /// A document of pending work can't be read or does not fit.
    public static let badDocument = Code("badDocument")
    /// The server takes newer versions of the app only.
    public static let updateRequired = Code("updateRequired")
    /// More records than can be sent together; nothing was changed.
    public static let tooManyTogether = Code("tooManyTogether")
    /// The server is another one than the file was synced with, or lacks what it had acknowledged: see
    /// `SyncedStore.adoptServer`.
    public static let otherServer = Code("otherServer")
    /// The call waits for a sync that waits for the caller: a merge policy, say. Call it when the sync has ended.
    public static let insideSync = Code("insideSync")
    /// A lock of the container is held by the app, for longer than `SyncConfiguration.lockTimeout`.
    public static let locked = Code("locked")
    /// There is nothing to decide about: the record has no pending change.
    public static let notPending = Code("notPending")
    /// The journal keeps the entry no longer.
    public static let expired = Code("expired")
    /// What the entry of the journal lost was brought back before.
    public static let alreadyRestored = Code("alreadyRestored")
    /// The entry of the journal lost nothing, or its content does not fit the app's schema.
    public static let notRestorable = Code("notRestorable")
    /// The server answered with something that is not the protocol.
    public static let protocolViolation = Code("protocolViolation")
    /// The cache is off, and the policy wants it.
    public static let cacheDisabled = Code("cacheDisabled")
    /// The condition names fields that only the server knows, and the server was not to be asked.
    public static let notLocallyEvaluable = Code("notLocallyEvaluable")
    /// A record that another refers to is not here and could not be had.
    public static let relatedRecordUnavailable = Code("relatedRecordUnavailable")
    /// The sync was cancelled, or may not run now: paused, left out, or held back by the sync policy.
    public static let cancelled = Code("cancelled")
    /// The bytes of a blob are neither here nor on the server.
    public static let blobMissing = Code("blobMissing")
    /// The bytes of a blob do not have the checksum that names it.
    public static let blobDamaged = Code("blobDamaged")
    /// The server keeps no blobs.
    public static let blobsUnsupported = Code("blobsUnsupported")
  }

  /// What kind of failure it is.
  public var code: Code
  /// What happened and what to do about it, for people.
  public var message: String
  /// The record in question, where there is one.
  public var record: RecordID?
  /// What the server said about which field.
  public var rejection: Rejection?
  /// How many changes are pending, where that is what is wrong.
  public var pendingCount: Int?
  /// What was thrown below: a `RemoteError` where the server was asked.
  public var underlying: (any Error)?

  /// For storages and tests of an app's own; `message` should say what to do.
  public init(
    _ code: Code, _ message: String, record: RecordID? = nil, rejection: Rejection? = nil,
    underlying: (any Error)? = nil
  ) {
    self.code = code
    self.message = message
    self.record = record
    self.rejection = rejection
    self.underlying = underlying
  }

  static let cacheDisabled = SyncError(
    .cacheDisabled,
    "The cache is off, so nothing can be read from it or saved in it alone. Enable SyncConfiguration.cache, or use "
      + "a network policy.")

  static let insideSync = SyncError(
    .insideSync,
    "This was called by what a running sync waits for, such as a merge policy, and would wait for that sync. Call it from a "
      + "task of its own when the sync has ended.")

  /// `reason` says which field this schema lacks.
  static func notLocallyEvaluable(_ reason: StoreError) -> SyncError {
    SyncError(
      .notLocallyEvaluable,
      "\(reason.message) Only a server that knows the field can answer: ask with a network policy.")
  }

  /// Names the ways out.
  /// True if the server that a file is of could not be asked, so that a read may be answered from the file.
  var leavesTheFile: Bool { code == .unreachable || code == .otherServer }

  init(otherServer message: String, underlying: RemoteError? = nil) {
    self.init(
      .otherServer,
      message
        + " Sync with the first server again; or call `adoptServer()`, which drops what came from the first one "
        + "and sends what is pending; or `uploadMine()`, which gives this one what it lacks; or `keepApart()`, and open "
        + "another file for it.",
      underlying: underlying)
  }

  /// The sync error for a remote's.
  init(_ error: RemoteError) {
    switch SkipReason(error) {
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
      case .unauthenticated: .authenticationRequired
      case .forbidden, .notFound, .rejected: .rejected
      case .conflict: .conflict
      case .throttled: .throttled
      case .serverError: .serverError
      }
    self.init(code, error.message, underlying: error)
  }
}

extension SyncError: CustomStringConvertible, CustomDebugStringConvertible {
  public var description: String { message }
  public var debugDescription: String {
    "SyncError.\(code): \(message)" + (underlying.map { " (cause: \(String(reflecting: $0)))" } ?? "")
  }
}
