import BothyCache
import HTTPTypes
import NIOHTTP1

/// The fields that a proxy sends on, in both directions (RFC 9110 §7.6).
enum ProxyFields {
  /// The method as it stood in the request: the parser writes `M-SEARCH` without its dash. Nil when it is none.
  static func method(_ parsed: HTTPMethod) -> HTTPRequest.Method? {
    HTTPRequest.Method(parsed == .MSEARCH ? "M-SEARCH" : parsed.rawValue)
  }

  /// What stood in a request, but for the host, which is the proxy's.
  static func fields(_ headers: HTTPHeaders) -> HTTPFields {
    var fields = HTTPFields()
    for header in headers {
      guard let name = HTTPField.Name(header.name), name != .host else { continue }
      fields.append(HTTPField(name: name, value: header.value))
    }
    return fields
  }

  /// What of a request goes to the origin: not what concerns this connection, nor the codings that the way to the origin
  /// undoes by itself.
  static func request(_ fields: HTTPFields) -> HTTPFields {
    var sent = Storability.storable(fields, decodes: false)
    for name in [HTTPField.Name.acceptEncoding, .contentLength, .expect] { sent[name] = nil }
    sent.append(HTTPField(name: .via, value: via))
    return sent
  }

  /// What the cache asks the origin with: conditions are the cache's own, and so is the choice of a part.
  static func cached(_ fields: HTTPFields) -> HTTPFields {
    var sent = request(fields)
    for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range] { sent[name] = nil }
    return sent
  }

  /// What of an answer goes to who asked.
  static func answer(_ fields: HTTPFields) -> HTTPHeaders {
    var sent = HTTPHeaders(Storability.storable(fields, decodes: false).map { ($0.name.rawName, $0.value) })
    sent.add(name: "Via", value: via)
    return sent
  }

  /// What goes out of a stored answer, but for its age and the length of its body.
  struct Stored {
    var fields = HTTPHeaders()
    /// Whether the origin's answer had an age already.
    var hadAge = false

    init() {}

    init(_ metadata: EntryMetadata) {
      var stored = metadata.fields
      hadAge = stored.contains(.age)
      stored[.age] = nil
      stored[.contentLength] = nil
      // A cookie, and the like, is for the one that the origin gave it to.
      stored = HTTPFields(stored.filter { !CredentialFields.contains($0.name) })
      fields = ProxyFields.answer(stored)
    }
  }

  private static let via = "1.1 bothy"
}

extension HTTPField.Name {
  static let via = HTTPField.Name("Via") ?? .server
  static let host = HTTPField.Name("Host") ?? .server
}
