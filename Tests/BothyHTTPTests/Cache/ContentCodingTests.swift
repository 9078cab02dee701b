import BothyCache
import BothyHTTP
import BothyStore
import BothySync
import Foundation
import HTTPTypes
import NIOCore
import NIOPosix
import Testing

/// Tests of the platform's loader with a server that sends prepared bytes.
@Suite("Coded bodies", .timeLimit(.minutes(5)))
struct ContentCodingTests {
  /// The loader, which closes its connections when it is released.
  private let loader = platformLoader()
  private let tile = Array(String(repeating: #"{"name":"hut"},"#, count: 500).utf8)

  /// Runs `use` with the address of a server whose response has these fields, its length and this body.
  private func serving<Result: Sendable>(
    _ fields: String, _ body: [UInt8], _ use: (_ url: String) async throws -> Result
  ) async throws -> Result {
    let answer =
      Array("HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(body.count)\r\n\r\n".utf8) + body
    let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Answering(answer))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let result = try await use("http://127.0.0.1:\(server.localAddress?.port ?? 0)/hut")
    try await server.close()
    return result
  }

  private func load(_ fields: String, _ body: [UInt8]) async throws -> (ResourceResponse, body: Data) {
    try await serving(fields, body) { url in
      let response = try await loader.load(ResourceRequest(url))
      var received = Data()
      for try await piece in response.body { received.append(piece) }
      return (response, received)
    }
  }

  /// Promises: E-27
  @Test("A decoded body has neither the coding nor the length of the coded one")
  func decoded() async throws {
    let packed = try Gzip.compress(tile)
    #expect(packed.count < tile.count)
    let (response, body) = try await load("Content-Encoding: gzip\r\nETag: W/\"1\"\r\n", packed)
    #expect(body == Data(tile))
    #expect(response.wasCoded)
    #expect(response.fields[.contentEncoding] == nil)
    #expect(response.fields[.contentLength] == nil)
    #expect(response.fields[.eTag] == #"W/"1""#)
    #expect(!response.endsByClosing, "the length marked the end of the coded body")
  }

  @Test("A body without a coding keeps its length")
  func plain() async throws {
    let (response, body) = try await load("", tile)
    #expect(body == Data(tile))
    #expect(!response.wasCoded)
    #expect(response.fields[.contentLength] == String(tile.count))
  }

  @Test("A small response that decodes to more than the limit is refused")
  func tooLarge() async throws {
    let packed = try Gzip.compress(tile)
    let error = try await serving("Content-Encoding: gzip\r\n", packed) { url in
      let transport = platformTransport(bodyLimit: tile.count - 1)
      return await #expect(throws: RemoteError.self) { try await transport.send(TransportRequest(.get, url)) }
    }
    #expect(error?.code == "answerTooLarge")
  }
}

/// Sends the prepared bytes when a request arrives.
private final class Answering: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer
  private let answer: [UInt8]

  init(_ answer: [UInt8]) { self.answer = answer }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: answer)), promise: nil)
  }
}
