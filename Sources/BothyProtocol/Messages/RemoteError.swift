/// An error of a remote, classified by what the caller can do about it.
public struct RemoteError: Error, Sendable, Hashable {
  /// The class of an error. Only `.rejected`, `.forbidden`, `.notFound` and `.conflict` are about the data.
  public enum Class: String, Sendable, Hashable {
    /// No answer arrived: not connected, name not found, refused, lost, timed out, or TLS aborted. If the request was
    /// sent, the server may have carried it out or not.
    case unreachable
    /// 401: the user must sign in again. The data is valid.
    case unauthenticated
    /// 403: the user may not do this.
    case forbidden
    /// 404 or 410: the record doesn't exist, or the user may not see it.
    case notFound
    /// 409 or 412: the record has changed since.
    case conflict
    /// Another 4xx: the server never accepts the request unchanged.
    case rejected
    /// 429, or 503 with Retry-After.
    case throttled
    /// Another 5xx. The server may have carried out the request or not.
    case serverError
  }

  /// The class, which decides what the caller can do.
  public var errorClass: Class
  /// A message for people.
  public var message: String
  /// The HTTP status, if the error has one.
  package var status: Int?
  /// The time the server asked to wait, in seconds, an hour at most.
  package var retryAfter: Double?
  /// The server's own code of the problem.
  package var code: String?

  /// The longest time a server may ask its clients to wait, in seconds: an hour. Intermediaries may ask for years.
  package static let longestWait = 3600.0

  /// Makes an error, for remotes of other protocols. `init(status:…)` finds the class of an HTTP status.
  public init(
    _ errorClass: Class, _ message: String, status: Int? = nil, retryAfter: Double? = nil, code: String? = nil
  ) {
    self.errorClass = errorClass
    self.message = message
    self.status = status
    self.retryAfter = retryAfter.flatMap { $0.isFinite ? min(max(0, $0), Self.longestWait) : nil }
    self.code = code
  }

  /// Makes the error for an HTTP status, or `nil` for a status below 400.
  ///
  /// 407, 502, 504, 511 and 503 without Retry-After come from a gateway that did not reach the server. 408 and 425 mean
  /// that the request did not arrive properly. All count as unreachable.
  package init?(status: Int, message: String, retryAfter: Double? = nil, code: String? = nil) {
    let errorClass: Class
    switch status {
    case ..<400: return nil
    case 401: errorClass = .unauthenticated
    case 403: errorClass = .forbidden
    case 404, 410: errorClass = .notFound
    case 409, 412: errorClass = .conflict
    case 429: errorClass = .throttled
    case 503 where retryAfter != nil: errorClass = .throttled
    // The server never accepts the request, or has no room for it, so it is rejected unchanged.
    case 501, 507: errorClass = .rejected
    // No server has judged the request. It arrived late or incomplete, or a gateway's own page is the answer.
    case 407, 408, 425, 502, 503, 504, 511: errorClass = .unreachable
    case 500...: errorClass = .serverError
    default: errorClass = .rejected
    }
    self.init(errorClass, message, status: status, retryAfter: retryAfter, code: code)
  }

  /// True if trying again later, without a change, can help.
  package var isTransient: Bool {
    switch errorClass {
    case .unreachable, .throttled, .serverError: true
    case .unauthenticated, .forbidden, .notFound, .conflict, .rejected: false
    }
  }
}

extension RemoteError {
  /// True if the server may have carried out the request. One that has lost its database during it answers 503.
  package var leavesDoubt: Bool {
    errorClass == .unreachable || errorClass == .serverError || status == 503
  }
}

extension RemoteError: CustomStringConvertible {
  public var description: String { message }
}
