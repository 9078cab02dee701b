import BothyCache
import HTTPTypes

/// The fields that a proxy sends on, in both directions (RFC 9110 §7.6).
enum ProxyFields {
  /// The method as it stood in the request: the parser writes `M-SEARCH` without its dash.
  static func method(_ parsed: HTTPRequest.Method) -> HTTPRequest.Method {
    parsed.rawValue == "MSEARCH" ? HTTPRequest.Method("M-SEARCH") ?? parsed : parsed
  }

  /// What of a request goes to the origin: not what concerns this connection, nor the codings that the way to the origin
  /// undoes by itself.
  static func request(_ fields: HTTPFields) -> HTTPFields {
    var sent = Storability.storable(fields, decodes: false)
    for name in [HTTPField.Name.acceptEncoding, .contentLength, .expect] { sent[name] = nil }
    sent.append(HTTPField(name: .via, value: "1.1 bothy"))
    return sent
  }

  /// What the cache asks the origin with: conditions are the cache's own, and so is the choice of a part.
  static func cached(_ fields: HTTPFields) -> HTTPFields {
    var sent = request(fields)
    for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range] { sent[name] = nil }
    return sent
  }

  /// What of an answer goes to who asked, and what the cache had to do with it (RFC 9211).
  static func answer(_ fields: HTTPFields, status: String) -> HTTPFields {
    var sent = Storability.storable(fields, decodes: false)
    sent.append(HTTPField(name: .via, value: "1.1 bothy"))
    sent.append(HTTPField(name: .cacheStatus, value: "bothy; " + status))
    return sent
  }
}

extension HTTPField.Name {
  static let via = HTTPField.Name("Via") ?? .server
  static let cacheStatus = HTTPField.Name("Cache-Status") ?? .server
}
