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

  /// True if the response to a POST is also the response to later reads of its address (RFC 9110 §9.3.3).
  ///
  /// Such a response states its own lifetime and names its request's address as that of the content. A response that
  /// depends on fields of the request doesn't count, as a read has other fields.
  package static func answersLaterReads(
    method: HTTPRequest.Method, url: String, status: Int, fields: HTTPFields, rule: FreshnessRule
  ) -> Bool {
    guard method == .post, status == 200, Vary(fields) == .nothing, let place = fields[.contentLocation],
      let own = URL(string: url), URL(string: place, relativeTo: own)?.absoluteString == own.absoluteString
    else { return false }
    let control = CacheControl(fields)
    return control.maxAge != nil || fields.contains(.expires)
      || rule.isShared && control.sharedMaxAge != nil
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
