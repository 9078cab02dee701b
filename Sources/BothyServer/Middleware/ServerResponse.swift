import BothyStore
import HTTPTypes
import Hummingbird
import NIOCore

/// The response of a handler.
struct ServerResponse: Sendable {
  enum Body: Sendable {
    case none
    case bytes([UInt8])
    /// Bytes written in pieces. `length` is their number, if it is known. The pieces have `pieceSize` then.
    case stream(length: Int? = nil, @Sendable (inout any ResponseBodyWriter) async throws -> Void)
  }

  var status: HTTPResponse.Status
  var headers: HTTPFields
  var body: Body
  /// The memory that the body has already, or `nil` for none.
  var room: AnswerRoom?

  init(_ status: HTTPResponse.Status, headers: HTTPFields = [:], body: Body = .none) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The bytes of a piece of a large file.
  static let pieceSize = 256 << 10
  /// The bytes of a large file that are in memory while its caller doesn't read. The end of a piece waits in the
  /// channel, and the next piece for the channel.
  static let piecesInMemory = 512 << 10

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

extension ResponseBodyWriter {
  /// Writes bytes in small pieces, and waits before each until the connection takes it.
  mutating func write(_ bytes: ByteBuffer, to channel: any Channel) async throws {
    var rest = bytes
    while let piece = rest.readSlice(length: min(BodyReader.small, rest.readableBytes)),
      piece.readableBytes > 0
    {
      try await write(piece)
      // The writer learns on the event loop that the channel is full, and waits with the next piece.
      try await channel.eventLoop.submit {}.get()
    }
  }
}
