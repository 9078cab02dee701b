import BothyStore
import BothySyncService
import HTTPTypes
import Hummingbird
import NIOCore

/// One authenticated request on its way to a route's handler: names decoded, body complete and uncompressed.
struct Call: Sendable {
  var method: HTTPRequest.Method
  /// The decoded names in the path.
  var names: [String: String]
  var query: QueryParameters
  var headers: HTTPFields
  var body: ByteBuffer
  var principal: Principal
  /// Host and port as the caller named them.
  var authority: String?
  /// What the audit log says of the caller.
  var subject = AuditLog.Subject(requestID: "")
  /// That the caller was let into the space; nil where everybody is.
  var admission: Admission?

  /// The space of the path; empty for routes outside of any.
  var space: String { names["space"] ?? "" }

  /// Parses the body. Throws `JSONError`.
  func parseBody<Value>(_ parse: (UnsafeRawBufferPointer) throws -> Value) throws -> Value {
    try body.withUnsafeReadableBytes(parse)
  }
}

/// What a handler answers.
struct Answer: Sendable {
  enum Body: Sendable {
    case none
    case bytes([UInt8])
    /// Bytes written one after another; `length` says how many, where that is known.
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
  ) -> Answer {
    var headers = headers
    headers[.contentType] = jsonType
    return Answer(status, headers: headers, body: .bytes(bytes))
  }

  /// An object whose members `write` writes.
  static func object(
    status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], _ write: (inout JSONWriter) throws -> Void
  ) rethrows -> Answer {
    var writer = JSONWriter(reserving: 512)
    writer.beginObject()
    try write(&writer)
    writer.endObject()
    return json(writer.bytes, status: status, headers: headers)
  }
}
