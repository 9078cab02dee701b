/// Why no answer came, or only a part of it, or none that may be used. A status is never a failure of loading.
public struct LoadFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// What came in the way.
  public enum Reason: Sendable, Hashable {
    /// No connection, or none any more: the network may come back.
    case unreachable
    /// The answer did not begin, or did not go on, within the time that the source allows.
    case timedOut
    /// The task was cancelled: nobody waits any more.
    case cancelled
    /// The answer broke off: fewer bytes than were announced.
    case truncated
    /// The request cannot be sent at all: a broken address, a forbidden scheme.
    case invalidRequest
    /// The body has more bytes than this resource may have; nothing of it was kept.
    case tooLarge(limit: Int)
    /// The redirect was not followed: too many, away from https, or to nowhere.
    case redirectRefused
    /// The body is of another kind than was expected: a portal's page in place of a tile, say.
    case unexpectedType(String)
    /// The server asked to be left alone for longer than the caller wants to wait, or failed so often that it is
    /// not asked for this long.
    case notBefore(Duration)
    /// The network is switched off for the cache.
    case suspended
  }

  /// What came in the way, to branch on.
  public var reason: Reason
  public var description: String

  /// For loaders of one's own; `description` is a sentence that is shown in errors.
  public init(_ reason: Reason, _ description: String) {
    self.reason = reason
    self.description = description
  }

  static let cancelled = LoadFailure(.cancelled, "The load was cancelled.")

  static let suspended = LoadFailure(
    .suspended, "The cache's network is suspended. What is stored is served; resume it to load the rest.")

  /// What an error of the network stack comes to.
  static func of(_ error: any Error) -> LoadFailure {
    if let failure = error as? LoadFailure { return failure }
    if error is CancellationError { return .cancelled }
    return LoadFailure(.unreachable, "No answer came: \(error).")
  }
}
