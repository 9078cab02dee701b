/// The reason why a response didn't come, came in part, or isn't usable. A status is never a failure of loading.
package struct LoadFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a failure.
  package enum Reason: Sendable, Hashable {
    /// The connection failed or broke. The network may come back, so the request is tried again.
    case unreachable
    /// The response did not begin or continue within the time that the source allows. The request is tried again.
    case timedOut
    /// The task was cancelled, because all readers have left.
    case cancelled
    /// The response broke off. It had fewer bytes than announced. The request is tried again, and continues the body if
    /// it can.
    case truncated
    /// The request can't be sent at all, because of a broken address or a forbidden scheme.
    case invalidRequest
    /// The body has more bytes than this resource may have. Nothing of it was kept.
    case tooLarge(limit: Int)
    /// The redirect was not followed. It was one too many, led away from https, or had no target.
    case redirectRefused
    /// The body is of an unexpected kind, such as a portal's page instead of a tile. Its media type is given.
    case unexpectedType(String)
    /// The host requested a pause longer than the caller's wait, or failed so often that it counts as down for this
    /// long.
    ///
    /// No request was sent to it. Another host of the source may have been tried.
    case notBefore(Duration)
    /// The network of the cache is suspended.
    case suspended
  }

  /// The kind of the failure, to branch on.
  package var reason: Reason
  package var description: String

  /// Creates a failure. `description` is a sentence that is shown in errors.
  package init(_ reason: Reason, _ description: String) {
    self.reason = reason
    self.description = description
  }

  static let cancelled = LoadFailure(.cancelled, "The load was cancelled.")

  static let suspended = LoadFailure(
    .suspended, "The cache's network is suspended. Stored copies are served; resume it to load the rest.")

  /// The error that loaders throw, from which `of` makes the failure again.
  package var error: BothyError {
    switch reason {
    case .cancelled: BothyError(.cancelled, description)
    case .timedOut: BothyError(.timedOut, description)
    case .invalidRequest: BothyError(.refused, description)
    default: BothyError(.unreachable, description)
    }
  }

  /// Returns the failure for an error of the network stack.
  package static func of(_ error: any Error) -> LoadFailure {
    if let failure = error as? LoadFailure { return failure }
    if error is CancellationError { return .cancelled }
    if let error = error as? BothyError {
      switch error.code {
      case .cancelled: return .cancelled
      case .timedOut: return LoadFailure(.timedOut, error.message)
      case .refused: return LoadFailure(.invalidRequest, error.message)
      default: return LoadFailure(.unreachable, error.message)
      }
    }
    return LoadFailure(.unreachable, "No answer came: \(error).")
  }
}
