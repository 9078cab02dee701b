import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import ServiceLifecycle

/// Passes requests from the socket to the app, and its responses back.
struct RouterAdapter: HTTPResponder {
  let front: InspectorApp

  func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
    let call = InspectorCall(
      request.method, request.head.path ?? "/", headers: request.headers, host: request.head.authority
    ) {
      try await Self.body(of: request)
    }
    let answer = await front.answer(call)
    var headers = answer.headers
    let isHead = request.method == .head
    switch answer.body {
    case .bytes(let bytes):
      headers[.contentLength] = String(bytes.count)
      return Response(
        status: answer.status, headers: headers,
        body: isHead ? .init() : .init(byteBuffer: ByteBuffer(bytes: bytes)))
    case .events:
      let events = front.events()
      return Response(
        status: answer.status, headers: headers,
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

  private static func body(of request: Request) async throws -> [UInt8] {
    do {
      return Array(try await request.body.collect(upTo: 1 << 16).readableBytesView)
    } catch is NIOTooManyBytesError {
      throw HTTPFailure(.contentTooLarge, "tooLarge", "The request is larger than 64 KB. Send less at once.")
    }
  }
}
