import BothyStore
import BothySyncService
import HTTPTypes
import Hummingbird
import NIOCore

/// One authenticated request for a route's handler. Its names are decoded, and its body is complete and uncompressed.
struct ServerRequest: Sendable {
  var method: HTTPRequest.Method
  /// The decoded names in the path.
  var names: [String: String]
  var query: QueryParameters
  var headers: HTTPFields
  var body: ByteBuffer
  var principal: Principal
  /// The host and port, as the caller wrote them.
  var authority: String?
  /// The facts about the caller for the audit log.
  var subject = AuditLog.Subject(requestID: "")
  /// The slot in which the request runs, or `nil` for a route without a line.
  var turn: RequestTurns.Turn?
  /// The caller's admission to the space, or `nil` if the server requires no token.
  var admission: AuthenticatedSession?

  /// The spaces that the caller's token opens, or `nil` if the server requires no token.
  var spaces: Set<String>?

  /// The space of the path, or an empty text for routes outside of any space.
  var space: String { names["space"] ?? "" }

  /// Parses the body. Throws `JSONError`.
  func parseBody<Value>(_ parse: (UnsafeRawBufferPointer) throws -> Value) throws -> Value {
    try body.withUnsafeReadableBytes(parse)
  }
}

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
