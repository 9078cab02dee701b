import BothyStore
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// The bodies of the pages' responses.
extension Response {
  init(_ bytes: [UInt8], type: String, status: HTTPResponse.Status = .ok) {
    self.init(
      status: status, headers: [.contentType: type], body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  /// Returns a JSON object. `write` writes its members.
  static func object(
    status: HTTPResponse.Status = .ok, _ write: (inout JSONWriter) throws -> Void
  ) rethrows -> Response {
    var writer = JSONWriter(reserving: 1024)
    try writer.object(write)
    return Response(writer.bytes, type: "application/json", status: status)
  }

  /// Returns the stream of events, until the client leaves or they end.
  static func events(_ events: AsyncStream<InspectorEvent>) -> Response {
    Response(
      status: .ok, headers: [.contentType: "text/event-stream"],
      body: .init { writer in
        try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
        // The listener stops before the watch does, and waits for its streams. So the streams end by themselves.
        for await event in events.cancelOnGracefulShutdown() {
          try await writer.write(ByteBuffer(string: event.text))
        }
        try await writer.finish(nil)
      })
  }
}
