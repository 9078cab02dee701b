import BothyServer
import HTTPTypes
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// A server on a real socket of this machine while `body` runs.
struct ConnectedServer: Sendable {
  let server: BothyServer
  let address: BothyServer.Address
  let group: ServiceGroup

  /// - Parameter isCancelled: true to end the server by cancelling it, not by a graceful shutdown.
  static func run(
    _ configuration: ServerConfiguration, isCancelled: Bool = false,
    _ body: (ConnectedServer) async throws -> Void
  ) async throws {
    var configuration = configuration
    configuration.port = 0
    let server = BothyServer(configuration)
    let group = ServiceGroup(configuration: .init(services: [server], logger: configuration.logger))
    let running = Task { try await group.run() }
    do {
      try await body(ConnectedServer(server: server, address: server.ready(), group: group))
    } catch {
      running.cancel()
      throw error
    }
    if isCancelled {
      running.cancel()
      _ = await running.result
    } else {
      await group.triggerGracefulShutdown()
      try await running.value
    }
  }

  /// Connects while `body` runs.
  func line(_ body: (ProxyLine) async throws -> Void) async throws {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .connect(host: address.host, port: address.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
        }
      }
    try await channel.executeThenClose { inbound, outbound in try await body(ProxyLine(inbound, outbound)) }
  }

  /// Requests an address over a connection of its own.
  func get(_ path: String) async throws -> ProxyReply {
    var reply = ProxyReply(status: 0, fields: [:], text: "")
    try await line { line in
      reply = try await line.request("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    }
    return reply
  }
}
