public import BothyStore

/// An error of syncing: a code to branch on and a sentence with what to do.
public struct SyncError: Error, Sendable {
  /// A kind of failure. New codes may be added, so compare them and don't switch exhaustively.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String
    private init(_ name: String) { self.name = name }
    public var description: String { name }

    /// The server did not answer. The data isn't on this device, or the policy forbids the cache.
    public static let unreachable = Code("unreachable")
    /// The type is written on the server only, and the device has no network.
    public static let requiresNetwork = Code("requiresNetwork")
    /// The type stays on this device.
    public static let notSynced = Code("notSynced")
    /// The server no longer accepts the token: sign in again. Pending changes stay pending.
    public static let authenticationRequired = Code("authenticationRequired")
    /// The server rejected the change; nothing was changed here.
    public static let rejected = Code("rejected")
    /// Others changed the record since it was read, or keep changing it: read again, then try again.
    public static let conflict = Code("conflict")
    /// The server is too busy and asked to try again later.
    public static let throttled = Code("throttled")
    /// The server failed and may have made the change or not.
    public static let serverError = Code("serverError")
    /// The store has changes that the server does not have yet.
    public static let pendingChanges = Code("pendingChanges")
    /// Values of the secret store are pending and can't be exported.
    public static let pendingSecrets = Code("pendingSecrets")
    /// The file belongs to another account.
    public static let wrongAccount = Code("wrongAccount")
    /// The account was signed out; open it again.
    public static let signedOut = Code("signedOut")
    /// A document of pending changes can't be read or doesn't fit.
    public static let badDocument = Code("badDocument")
    /// The server accepts only newer versions of the app.
    public static let updateRequired = Code("updateRequired")
    /// The transaction has more records than can be sent at once; nothing was changed.
    public static let tooManyTogether = Code("tooManyTogether")
    /// The server is another one than the file was synced with, or lacks acknowledged records. See
    /// `SyncedStore.adoptServer`.
    public static let otherServer = Code("otherServer")
    /// The call waits for a sync that waits for the caller, such as a merge policy. Call it when the sync has ended.
    public static let insideSync = Code("insideSync")
    /// The app holds a lock of the container for longer than `SyncOptions.lockTimeout`.
    public static let locked = Code("locked")
    /// The record has no pending change to decide about.
    public static let notPending = Code("notPending")
    /// The change was undone on this device before the server decided.
    public static let withdrawn = Code("withdrawn")
    /// The journal no longer has the entry.
    public static let expired = Code("expired")
    /// The replaced content of the journal's entry was restored before.
    public static let alreadyRestored = Code("alreadyRestored")
    /// The journal's entry has no replaced content, or the content doesn't fit the app's schema.
    public static let notRestorable = Code("notRestorable")
    /// The server's answer doesn't follow the protocol.
    public static let protocolViolation = Code("protocolViolation")
    /// The cache is off, and the policy requires it.
    public static let cacheDisabled = Code("cacheDisabled")
    /// The condition has fields that only the server knows, and the policy doesn't use the server.
    public static let notLocallyEvaluable = Code("notLocallyEvaluable")
    /// A record that another refers to isn't here and could not be downloaded.
    public static let relatedRecordUnavailable = Code("relatedRecordUnavailable")
    /// The sync was cancelled, or may not run now because it is paused, skipped, or excluded by the sync policy.
    public static let cancelled = Code("cancelled")
    /// Neither this device nor the server has the bytes of a blob.
    public static let blobMissing = Code("blobMissing")
    /// The bytes of a blob do not have the checksum that names it.
    public static let blobDamaged = Code("blobDamaged")
    /// The server stores no blobs.
    public static let blobsUnsupported = Code("blobsUnsupported")
  }

  /// The kind of failure.
  public var code: Code
  /// A message for people, with what happened and what to do about it.
  public var message: String
  /// The record that the error concerns, if any.
  public var record: RecordID?
  /// The server's rejection, with the invalid fields.
  public var rejection: Rejection?
  /// The number of pending changes, for an error about them.
  public var pendingCount: Int?
  /// The error below: a `RemoteError` if the server was involved.
  public var underlying: (any Error)?

  /// Makes an error, for storages and tests of an app. `message` should have what to do.
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
    "The cache is off, so nothing can be read from it or saved in it alone. Enable SyncOptions.cache, or use "
      + "a network policy.")

  static let insideSync = SyncError(
    .insideSync,
    "This was called by what a running sync waits for, such as a merge policy, and can't wait for that sync. Call it "
      + "from a task of its own when the sync has ended.")

  /// Makes an error from `reason`, which names the field that this schema lacks.
  static func notLocallyEvaluable(_ reason: StoreError) -> SyncError {
    SyncError(
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
