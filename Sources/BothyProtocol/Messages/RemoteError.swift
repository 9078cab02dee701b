/// Why a remote could not do what it was asked, by what the caller can do about it (rule R9 of the sync rules).
public struct RemoteError: Error, Sendable, Hashable {
  /// The class decides: only `.rejected`, `.forbidden`, `.notFound` and `.conflict` are about the data.
  public enum Class: String, Sendable, Hashable {
    /// No answer came: not connected, name not found, refused, lost, timed out, TLS aborted. If the request was
    /// sent, whether it was carried out is unknown.
    case unreachable
    /// 401: sign in again; nothing is wrong with the data.
    case unauthenticated
    /// 403: the principal may not do this.
    case forbidden
    /// 404 or 410: it is not there, or may not be seen.
    case notFound
    /// 409 or 412: it has changed since.
    case conflict
    /// Another 4xx: the request will never be accepted as it is.
    case rejected
    /// 429, or 503 with Retry-After.
    case throttled
    /// Another 5xx; whether the request was carried out is unknown.
    case serverError
  }

  /// What the caller can do about it.
  public var errorClass: Class
  /// A sentence for people.
  public var message: String
  /// The HTTP status, where there was one.
  public var status: Int?
  /// How long the server asks to wait, in seconds, an hour at most.
  public var retryAfter: Double?
  /// The server's own word for what is wrong.
  public var code: String?

  /// The longest that a server may have its clients wait, in seconds: an hour. What stands between may ask for years.
  package static let longestWait = 3600.0

  /// For remotes of other protocols; `init(status:…)` finds the class of an HTTP status.
  public init(
    _ errorClass: Class, _ message: String, status: Int? = nil, retryAfter: Double? = nil, code: String? = nil
  ) {
    self.errorClass = errorClass
    self.message = message
    self.status = status
    self.retryAfter = retryAfter.flatMap { $0.isFinite ? min(max(0, $0), Self.longestWait) : nil }
    self.code = code
  }

  /// The error for an HTTP status, nil for a status below 400.
  ///
  /// 407, 502, 504, 511 and 503 without Retry-After come from a gateway that did not reach the server; 408 and 425 say
  /// that the request did not come as it should. All count as unreachable.
  public init?(status: Int, message: String, retryAfter: Double? = nil, code: String? = nil) {
    let errorClass: Class
    switch status {
    case ..<400: return nil
    case 401: errorClass = .unauthenticated
    case 403: errorClass = .forbidden
    case 404, 410: errorClass = .notFound
    case 409, 412: errorClass = .conflict
    case 429: errorClass = .throttled
    case 503 where retryAfter != nil: errorClass = .throttled
    // What the server will never do, or has no room for: the request is refused as it is.
    case 501, 507: errorClass = .rejected
    // Nothing has judged the request: it did not come whole or in time, or a gateway's own page is the answer.
    case 407, 408, 425, 502, 503, 504, 511: errorClass = .unreachable
    case 500...: errorClass = .serverError
    default: errorClass = .rejected
    }
    self.init(errorClass, message, status: status, retryAfter: retryAfter, code: code)
  }

  /// Whether trying again later, with nothing changed, can help.
  public var isTransient: Bool {
    switch errorClass {
    case .unreachable, .throttled, .serverError: true
    case .unauthenticated, .forbidden, .notFound, .conflict, .rejected: false
    }
  }
}

extension RemoteError: CustomStringConvertible {
  public var description: String { message }
}
