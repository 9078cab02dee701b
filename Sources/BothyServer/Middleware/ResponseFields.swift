import HTTPTypes
import Hummingbird

/// The security fields of every response, for callers that show it in a browser.
enum SecurityFields {
  private static let fields: [(HTTPField.Name, String)] = [
    (.xContentTypeOptions, "nosniff"),
    (.contentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'"),
    (.cacheControl, "private, no-cache"),
    (.vary, "Accept-Encoding, Authorization"),
  ]

  private static let referrerPolicy = HTTPField.Name("Referrer-Policy")
  static let resourcePolicy: HTTPField.Name = HTTPField.Name("Cross-Origin-Resource-Policy") ?? .server

  private static let strictTransport = HTTPField.Name("Strict-Transport-Security")

  /// - Parameter isSecure: true if this server itself speaks TLS, so that browsers may be told to use only TLS.
  static func add(to headers: inout HTTPFields, isSecure: Bool) {
    if isSecure, let strictTransport { headers[strictTransport] = "max-age=31536000" }
    for (name, value) in fields where !headers.contains(name) { headers[name] = value }
    if let referrerPolicy { headers[referrerPolicy] = "no-referrer" }
    if !headers.contains(resourcePolicy) { headers[resourcePolicy] = "same-origin" }
  }
}

/// Parses `Accept-Encoding` (RFC 9110, 12.5.3).
enum AcceptedEncoding {
  static func admitsGzip(_ headers: HTTPFields) -> Bool { admits("gzip", headers) }

  static func admits(_ wanted: String, _ headers: HTTPFields) -> Bool {
    guard let field = headers[.acceptEncoding] else { return false }
    var wildcard = false
    for item in field.split(separator: ",") {
      let parts = item.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
      guard let coding = parts.first else { continue }
      let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
      if coding == wanted || coding == "x-" + wanted { return quality > 0 }
      if coding == "*" { wildcard = quality > 0 }
    }
    return wildcard
  }
}

/// The id that identifies a request in the log.
enum RequestID {
  static let field: HTTPField.Name = HTTPField.Name("X-Request-Id") ?? .server

  /// Returns the caller's own id if it has 1 to 64 letters, digits, `-`, `_` and `.`, and a new random one otherwise.
  static func make(from headers: HTTPFields) -> String {
    if let given = headers[field], (1...64).contains(given.utf8.count), given.isPlain {
      return given
    }
    return String(UInt64.random(in: 0...UInt64.max), radix: 16)
  }

  /// Returns a method's name for metrics. Unknown methods share a name, so callers can't create new series.
  static func known(_ method: HTTPRequest.Method) -> String {
    switch method {
    case .get, .head, .post, .put, .patch, .delete, .options: method.rawValue
    default: "OTHER"
    }
  }
}
