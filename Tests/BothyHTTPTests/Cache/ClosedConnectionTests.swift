#if !canImport(Darwin)
  import BothyCache
  import BothyHTTP
  import HTTPTypes
  import NIOCore
  import NIOPosix
  import Synchronization
  import Testing

  /// Tests of the loader on Linux with a server that closes connections instead of responding.
  @Suite("Connections that the server closed", .timeLimit(.minutes(5)))
  struct ClosedConnectionTests {
    /// Loads from a server that closes the first `count` connections when a request arrives.
    private func load(
      _ method: HTTPRequest.Method, closing count: Int
    ) async throws -> (answer: Result<Int, LoadFailure>, requests: Int) {
      let tally = Tally(left: count)
      let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Closing(tally))
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      let url = "http://127.0.0.1:\(server.localAddress?.port ?? 0)/hut"
      let loader = HTTPLoader()
      let answer: Result<Int, LoadFailure>
      do {
        answer = .success(try await loader.load(ResourceRequest(url, method: method)).status)
      } catch { answer = .failure(LoadFailure.of(error)) }
      try await server.close()
      return (answer, tally.requests)
    }

    @Test("A request that only reads is repeated at most four times")
    func asking() async throws {
      for closed in 0...4 {
        let (answer, requests) = try await load(.get, closing: closed)
        #expect(try answer.get() == 204)
        #expect(requests == closed + 1)
      }
      let (answer, requests) = try await load(.head, closing: 5)
      #expect(throws: LoadFailure.self) { try answer.get() }
      #expect(requests == 5)
    }

    @Test("A request that may change something is sent once")
    func changing() async throws {
      let (answer, requests) = try await load(.post, closing: 1)
      #expect(throws: LoadFailure.self) { try answer.get() }
      #expect(requests == 1)
    }
  }

  /// The number of connections to close, and the number of requests that came.
  private final class Tally: Sendable {
    private let state: Mutex<(left: Int, requests: Int)>

    init(left: Int) { state = Mutex((left, 0)) }

    var requests: Int { state.withLock { $0.requests } }

    /// Counts a request. Returns true if its connection must be closed.
    func take() -> Bool {
      state.withLock {
        $0.requests += 1
        $0.left -= 1
        return $0.left >= 0
      }
    }
  }

  private final class Closing: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let tally: Tally

    init(_ tally: Tally) { self.tally = tally }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      if tally.take() { return context.close(promise: nil) }
      let answer = ByteBuffer(string: "HTTP/1.1 204 No Content\r\n\r\n")
      context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
    }
  }
#endif
