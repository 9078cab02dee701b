package import Foundation
package import HTTPTypes
import NIOCore
import NIOHTTP1

/// One complete request to the proxy.
package struct ProxyRequest: Sendable {
  package var method: HTTPRequest.Method
  /// The path and query, as written in the request.
  package var target: String
  package var fields: HTTPFields
  package var body: Data
  /// The host that the program addressed the proxy by, or `nil` if it gave none.
  package var authority: String?

  package init(
    method: HTTPRequest.Method, target: String, fields: HTTPFields, body: Data = Data(),
    authority: String? = nil
  ) {
    self.authority = authority
    self.method = method
    self.target = target
    self.fields = fields
    self.body = body
  }

  /// Returns `nil` for an invalid method, for a `Host` that is missing in HTTP/1.1, invalid or one of several, and for a
  /// target with an invalid host. What the origin or a page understands by those can't be known (RFC 9112 §3.2).
  init?(_ head: HTTPRequestHead, body: ByteBuffer?) {
    guard HostField.areValid(head.headers["host"], head.version) else { return nil }
    // A user before the host would be taken for the host (RFC 9110 §4.2.4).
    let named = Self.authority(head.uri)
    guard named.map({ HostField.isValid($0) }) ?? true else { return nil }
    guard let method = head.method == .GET ? .get : ProxyFields.method(head.method) else { return nil }
    self.init(
      method: method, target: Self.target(head.uri), fields: ProxyFields.fields(head.headers),
      body: body.map { Data($0.readableBytesView) } ?? Data(),
      authority: named ?? head.headers.first(name: "Host"))
  }

  /// Returns the authority that a target names besides its path. It takes precedence over the field `Host` (RFC 9112
  /// §3.2.2).
  static func authority(_ uri: String) -> String? {
    guard uri.utf8.first != UInt8(ascii: "/"), let scheme = uri.firstRange(of: "://") else { return nil }
    return String(uri[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" })
  }

  /// Returns the target without the scheme and host that it may begin with (RFC 9112 §3.2.2).
  private static func target(_ uri: String) -> String {
    guard uri.utf8.first != UInt8(ascii: "/"), let scheme = uri.firstRange(of: "://") else { return uri }
    let rest = uri[scheme.upperBound...]
    let path = rest.drop { $0 != "/" && $0 != "?" }
    return path.first == "/" ? String(path) : "/" + path
  }
}
