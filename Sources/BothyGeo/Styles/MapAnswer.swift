import BothyCache
import BothyStore
package import Foundation
package import HTTPTypes

/// An answer of an endpoint: a status, a few fields and bytes.
package struct MapAnswer: Sendable {
  /// The status.
  package var status: HTTPResponse.Status
  /// The fields without those of the connection.
  package var fields: HTTPFields
  /// The bytes, unpacked.
  package var body: Data

  /// The largest body that is unpacked, in bytes.
  private static let unpackedLimit = 64 << 20

  /// Creates an answer without content.
  init(_ status: HTTPResponse.Status, reason: String = "") {
    self.status = status
    body = Data(reason.utf8)
    fields = Self.always
    fields[.contentType] = "text/plain; charset=utf-8"
    fields[.cacheControl] = "no-store"
  }

  init(_ body: Data, type: String) {
    status = .ok
    self.body = body
    fields = Self.always
    fields[.contentType] = type
    let digest = StoredDigest(of: body)
    fields[.eTag] = "\"\(String(digest.checksum, radix: 16))-\(digest.size)\""
    // A renderer's own cache must not outlive a region's generation.
    fields[.cacheControl] = "no-cache"
  }

  /// Creates the answer with a file of the app's own, which may load what is beside it and nothing else.
  init(_ page: MapEndpoint.Page) {
    self.init(page.bytes, type: page.type)
    fields[.accessControlAllowOrigin] = nil
    fields[.contentSecurityPolicy] =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
      + "form-action 'none'; frame-ancestors 'none'"
  }

  init(_ json: JSONValue) { self.init(Data(json.canonicalText.utf8), type: "application/json") }

  /// Creates the answer with a resource. Bytes that a server packed without saying so are unpacked.
  init(_ resource: CachedResource) {
    guard var body = resource.bytes else {
      // A server says by 204 that there is nothing to draw.
      self.init(resource.metadata.status == 204 ? .noContent : .notFound)
      return
    }
    if Gzip.isPacked(body) {
      // A body that can't be unpacked is given as it is. The renderer refuses it.
      body = (try? Gzip.unpack(body, limit: Self.unpackedLimit)) ?? body
    }
    let fields = resource.fields
    let type = fields[.contentType] ?? "application/octet-stream"
    // Nothing of a map is a page, whatever its server says: a page here could read the map.
    let isPage = ["html", "xml", "script"].contains { type.lowercased().contains($0) }
    self.init(body, type: isPage ? "application/octet-stream" : type)
    // Tiles of an archive may stay packed in a way that isn't undone here.
    if let coding = fields[.contentEncoding], ["br", "zstd"].contains(coding.lowercased()) {
      self.fields[.contentEncoding] = coding
    }
  }

  /// Creates the answer to a read that failed.
  init(_ error: BothyError) {
    switch error.code {
    case .absent, .zoomOutOfRange, .invalidKey: self.init(.notFound, reason: error.message)
    case .notCached, .offline, .unreachable, .timedOut: self.init(.gatewayTimeout, reason: error.message)
    default: self.init(.badGateway, reason: error.message)
    }
  }

  /// Returns the answer, or one without its bytes if the caller has them.
  func unlessHeld(_ condition: String?) -> MapAnswer {
    guard status == .ok, let condition, let tag = fields[.eTag] else { return self }
    let held = condition.split(separator: ",").map { $0.drop { $0 == " " } }
    guard held.contains("*") || held.contains(where: { $0 == tag || $0 == "W/\(tag)" }) else { return self }
    var answer = self
    (answer.status, answer.body) = (.notModified, Data())
    answer.fields[.contentType] = nil
    return answer
  }

  /// The fields as a session of Foundation takes them.
  package var headerFields: [String: String] {
    Dictionary(fields.map { ($0.name.rawName, $0.value) }) { first, _ in first }
  }

  /// Renderers in web pages of other origins may read what they have the address of. No page may frame or guess it.
  private static var always: HTTPFields {
    var fields: HTTPFields = [.accessControlAllowOrigin: "*", .xContentTypeOptions: "nosniff"]
    for (name, value) in [
      ("Cross-Origin-Resource-Policy", "cross-origin"), ("Referrer-Policy", "no-referrer"),
    ] {
      if let name = HTTPField.Name(name) { fields[name] = value }
    }
    return fields
  }
}
