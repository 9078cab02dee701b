import BothyStore
import HTTPTypes
import Hummingbird

/// The response of a handler.
struct ServerResponse: Sendable {
  enum Body: Sendable {
    case none
    case bytes([UInt8])
    /// Bytes written in pieces. `length` is their number, if it is known.
    case stream(length: Int? = nil, @Sendable (inout any ResponseBodyWriter) async throws -> Void)
  }

  var status: HTTPResponse.Status
  var headers: HTTPFields
  var body: Body

  init(_ status: HTTPResponse.Status, headers: HTTPFields = [:], body: Body = .none) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  static let jsonType = "application/json"
  static let bytesType = "application/octet-stream"

  static func json(
    _ bytes: [UInt8], status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
  ) -> ServerResponse {
    var headers = headers
    headers[.contentType] = jsonType
    return ServerResponse(status, headers: headers, body: .bytes(bytes))
  }

  /// Returns a response whose body is a JSON object. `write` writes its members.
  static func object(
    status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], _ write: (inout JSONWriter) throws -> Void
  ) rethrows -> ServerResponse {
    var writer = JSONWriter(reserving: 512)
    writer.beginObject()
    try write(&writer)
    writer.endObject()
    return json(writer.bytes, status: status, headers: headers)
  }
}
