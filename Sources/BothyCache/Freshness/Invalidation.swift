internal import Foundation
package import HTTPTypes

/// The entries that become stale through a request that changes resources on the server (RFC 9111 §4.4).
package enum Invalidation {
  /// Returns the addresses whose entries must not be used after the request.
  ///
  /// They are the request's own address, and those in the response that have the same origin. Safe methods and failed
  /// responses have none.
  package static func targets(
    method: HTTPRequest.Method, url: String, status: Int, fields: HTTPFields
  ) -> [String] {
    guard !isSafe(method), (200..<400).contains(status) else { return [] }
    var targets = [url]
    guard let own = URL(string: url), let origin = Origin(own) else { return targets }
    for name in [HTTPField.Name.location, .contentLocation] {
      guard let text = fields[name], let named = URL(string: text, relativeTo: own)?.absoluteURL,
        Origin(named) == origin, !targets.contains(named.absoluteString)
      else { continue }
      targets.append(named.absoluteString)
    }
    return targets
  }

  package static func isSafe(_ method: HTTPRequest.Method) -> Bool {
    switch method {
    case .get, .head, .options, .trace: true
    default: false
    }
  }

  private struct Origin: Equatable {
    let scheme: String
    let host: String
    let port: Int

    init?(_ url: URL) {
      guard let scheme = url.scheme?.lowercased(), let host = url.host?.lowercased() else { return nil }
      self.scheme = scheme
      self.host = host
      port = url.port ?? (scheme == "https" ? 443 : 80)
    }
  }
}
