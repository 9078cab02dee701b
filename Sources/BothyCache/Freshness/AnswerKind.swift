/// What an answer with this status means to the cache.
package enum AnswerKind: Sendable, Hashable {
  /// The bytes that were asked for.
  case body
  /// The server knows that there is nothing.
  case negative
  /// What is stored is still right (304).
  case notModified
  /// A part of the bytes (206): for resuming a download, never an entry.
  case partial
  case redirect
  /// The server could not, this time.
  case retry
  /// Anything else: asking again brings the same.
  case error
  /// Not the answer yet (1xx).
  case interim

  package init(status: Int) {
    self =
      switch status {
      case 100..<200: .interim
      case 200, 203: .body
      case 204, 404, 410: .negative
      case 206: .partial
      case 304: .notModified
      case 301, 302, 303, 307, 308: .redirect
      case 408, 425, 429, 500, 502, 503, 504: .retry
      default: .error
      }
  }

  package static func isNegative(_ status: Int) -> Bool { status == 204 || status == 404 || status == 410 }

  /// The errors that a stale entry may stand in for (RFC 5861 §4).
  package static func isServerError(_ status: Int) -> Bool {
    status == 500 || status == 502 || status == 503 || status == 504
  }

  /// The statuses that may be kept without saying for how long (RFC 9110 §15.1).
  package static func allowsGuess(_ status: Int) -> Bool {
    switch status {
    case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
    default: false
    }
  }

  /// The statuses whose rules of caching this cache follows, as `must-understand` wants (RFC 9111 §5.2.2.3).
  package static func isUnderstood(_ status: Int) -> Bool {
    switch status {
    case 200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 500, 501, 502, 503, 504:
      true
    default: false
    }
  }
}
