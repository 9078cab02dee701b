/// The meaning of a response's status for the cache.
package enum AnswerKind: Sendable, Hashable {
  /// The requested bytes (200, 203).
  case body
  /// The resource does not exist (204, 404, 410). Stored without a body.
  case negative
  /// The stored entry is current (304).
  ///
  /// Without a stored entry the request is repeated without a condition.
  case notModified
  /// A part of the bytes (206), used to resume a download and never stored as an entry.
  case partial
  case redirect
  /// A temporary failure of the server (408, 425, 429, 500, 502 to 504). The request may be repeated.
  case retry
  /// Any other error, which another request does not change. The stored entry stays.
  case error
  /// An interim response (1xx), which another response follows.
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

  /// True for the errors that a stale entry may replace (RFC 5861 §4).
  package static func isServerError(_ status: Int) -> Bool {
    status == 500 || status == 502 || status == 503 || status == 504
  }

  /// True for the statuses that may be stored without an explicit lifetime (RFC 9110 §15.1).
  package static func allowsGuess(_ status: Int) -> Bool {
    switch status {
    case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
    default: false
    }
  }

  /// True for the statuses whose caching rules this cache implements, as `must-understand` requires (RFC 9111
  /// §5.2.2.3).
  package static func isUnderstood(_ status: Int) -> Bool {
    switch status {
    case 200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 500, 501, 502, 503, 504:
      true
    default: false
    }
  }
}
