import BothyCache
import HTTPTypes
import NIOHTTP1

/// The fields that a proxy sends on, in both directions (RFC 9110 §7.6).
enum ProxyFields {
  /// Returns the method of the request, or `nil` if it isn't valid. The parser writes `M-SEARCH` without its dash.
  static func method(_ parsed: HTTPMethod) -> HTTPRequest.Method? {
    HTTPRequest.Method(parsed == .MSEARCH ? "M-SEARCH" : parsed.rawValue)
  }

  /// Returns the fields of a request without `Host`, which names the proxy.
  static func fields(_ headers: HTTPHeaders) -> HTTPFields {
    var fields = HTTPFields()
    for header in headers {
      guard let name = HTTPField.Name(header.name), name != .host else { continue }
      fields.append(HTTPField(name: name, value: header.value))
    }
    return fields
  }

  /// Returns the fields of a request for the origin. Omits the fields of this connection, and the codings that the
  /// loader decodes itself. A part of coded bytes can't be decoded, so parts are requested without a coding.
  static func request(_ fields: HTTPFields) -> HTTPFields {
    var sent = Storability.storable(fields)
    for name in [HTTPField.Name.acceptEncoding, .contentLength, .expect] { sent[name] = nil }
    if fields.contains(.range) { sent[.acceptEncoding] = "identity" }
    sent.append(HTTPField(name: .via, value: via))
    return sent
  }

  /// Returns the fields of a request of the cache to the origin. The cache sets its own conditions and requests whole
  /// resources.
  static func cached(_ fields: HTTPFields) -> HTTPFields {
    var sent = request(fields)
    for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range, .acceptEncoding] { sent[name] = nil }
    return sent
  }

  /// Returns the fields of a response for the client.
  static func answer(_ fields: HTTPFields) -> HTTPHeaders {
    var sent = HTTPHeaders(Storability.storable(fields).map { ($0.name.rawName, $0.value) })
    sent.add(name: "Via", value: via)
    return sent
  }

  /// The fields of a stored response, without its age and the length of its body.
  struct Stored {
    var fields = HTTPHeaders()
    /// True if the origin's response had an age.
    var hadAge = false

    init() {}

    /// - Parameter isShared: true for a proxy with several users. Cookies and other credentials are meant only for the
    ///   client that received them from the origin.
    init(_ metadata: EntryMetadata, isShared: Bool) {
      var stored = metadata.fields
      hadAge = stored.contains(.age)
      stored[.age] = nil
      stored[.contentLength] = nil
      if isShared { stored = HTTPFields(stored.filter { !CredentialFields.contains($0.name) }) }
      fields = ProxyFields.answer(stored)
    }
  }

  private static let via = "1.1 bothy"
}

extension HTTPField.Name {
  static let via = HTTPField.Name("Via") ?? .server
  static let host = HTTPField.Name("Host") ?? .server
}
