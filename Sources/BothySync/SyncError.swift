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
    public static let authenticationRequired = Code("authenticationRequired")
    /// The server refused the change; nothing was changed here.
    public static let rejected = Code("rejected")
    public static let conflict = Code("conflict")
    public static let throttled = Code("throttled")
    public static let serverError = Code("serverError")
    /// There are changes that the server does not have yet.
    public static let pendingChanges = Code("pendingChanges")
    public static let notPending = Code("notPending")
    /// The server answered with something that is not the protocol.
    public static let protocolViolation = Code("protocolViolation")
    public static let noRemote = Code("noRemote")
    public static let cancelled = Code("cancelled")
    /// The bytes of a blob are neither here nor on the server.
    public static let blobMissing = Code("blobMissing")
    /// The bytes of a blob do not have the checksum that names it.
    public static let blobDamaged = Code("blobDamaged")
    /// The server keeps no blobs.
    public static let blobsUnsupported = Code("blobsUnsupported")
  }

  public var code: Code
  public var message: String
  /// The record in question, where there is one.
  public var record: RecordID?
  /// What the server said about which field.
  public var rejection: Rejection?
  public var underlying: (any Error)?

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

  /// The sync error for a remote's.
  init(_ error: RemoteError) {
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
