import BothyTestSupport
import NIOCore
import NIOPosix
import Synchronization

/// A proxy on a loopback port that ends a connection in the middle of a reply.
final class CuttingProxy: Sendable {
  private struct State {
    var armed: Int?
    var withheld = 0
  }

  let url: String
  private let serverPort: Int
  private let state = Mutex(State())

  private init(port: Int, serverPort: Int) {
    url = "http://127.0.0.1:\(port)"
    self.serverPort = serverPort
  }

  private typealias Link = NIOAsyncChannel<ByteBuffer, ByteBuffer>

  /// Listens while `body` runs, in front of the server on `port`.
  static func run(
    to port: Int, _ body: @escaping @Sendable (CuttingProxy) async throws -> Void
  ) async throws {
    let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .bind(host: "127.0.0.1", port: 0) { channel in wrapped(channel) }
    let proxy = CuttingProxy(port: listener.channel.localAddress?.port ?? 0, serverPort: port)
    try await listener.executeThenClose { clients in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await withThrowingDiscardingTaskGroup { links in
            for try await client in clients {
              // A broken connection is the purpose of the test.
              links.addTask { try? await proxy.relay(client) }
            }
          }
        }
        defer { group.cancelAll() }
        try await body(proxy)
      }
    }
  }

  private static func wrapped(_ channel: any Channel) -> EventLoopFuture<Link> {
    channel.eventLoop.makeCompletedFuture { try Link(wrappingChannelSynchronously: channel) }
  }

  /// Passes only `bytes` bytes of the reply to the next request, then ends its connection.
  func cut(after bytes: Int) { state.withLock { $0 = State(armed: bytes) } }

  /// The number of bytes of the cut reply that were not passed, as far as they had arrived.
  var withheld: Int { state.withLock { $0.withheld } }

  private struct Cut: Error {}

  private func relay(_ client: Link) async throws {
    let far = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connect(host: "127.0.0.1", port: serverPort) { Self.wrapped($0) }
    // The number of bytes of a reply that may still pass, or `nil` for all.
    let allowance = Locked<Int?>(nil)
    try await client.executeThenClose { requests, replies in
      try await far.executeThenClose { answers, questions in
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            for try await piece in requests {
              if let armed = self.disarm() { allowance.value = armed }
              try await questions.write(piece)
            }
          }
          group.addTask {
            for try await piece in answers { try await self.pass(piece, allowance, replies) }
          }
          defer { group.cancelAll() }
          try await group.next()
        }
      }
    }
  }

  private func disarm() -> Int? {
    state.withLock { state in
      defer { state.armed = nil }
      return state.armed
    }
  }

  private func pass(
    _ piece: ByteBuffer, _ allowance: Locked<Int?>, _ replies: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) async throws {
    guard let left = allowance.value else { return try await replies.write(piece) }
    guard piece.readableBytes > left else {
      allowance.value = left - piece.readableBytes
      return try await replies.write(piece)
    }
    if left > 0, let part = piece.getSlice(at: piece.readerIndex, length: left) {
      try await replies.write(part)
    }
    state.withLock { $0.withheld = piece.readableBytes - left }
    throw Cut()
  }
}
