import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL

/// A connection of HTTP with the server's certificate, within the limits for connections.
struct GuardedChannel: ServerChildChannel {
  typealias Value = HTTP1Channel.Value

  let base: HTTP1Channel
  let connections: ConnectionCount
  let terms: ConnectionPace.Terms
  /// The certificate for new connections, or `nil` without TLS.
  let certificate: ServerCertificate?

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    guard connections.enter() else {
      channel.close(promise: nil)
      return channel.eventLoop.makeFailedFuture(ConnectionCount.Full())
    }
    channel.closeFuture.whenComplete { [connections] _ in connections.leave() }
    return channel.eventLoop.makeCompletedFuture {
      let pipeline = channel.pipeline.syncOperations
      if let certificate { try pipeline.addHandler(NIOSSLServerHandler(context: certificate.context)) }
      try pipeline.addHandler(ArrivalHandler())
    }.flatMap {
      base.setup(channel: channel, logger: logger)
    }.flatMapThrowing { value in
      try addPace(to: channel.pipeline.syncOperations)
      return value
    }
  }

  /// Adds the handler for slow requests behind the decoder, which `base` has added.
  private func addPace(to pipeline: ChannelPipeline.SynchronousOperations) throws {
    let pace = PaceHandler(terms) { [connections] in connections.end($0) }
    let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
    try pipeline.addHandler(pace, position: .after(decoder))
    try pipeline.handler(type: ArrivalHandler.self).pace = pace
  }

  func handle(value: Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
