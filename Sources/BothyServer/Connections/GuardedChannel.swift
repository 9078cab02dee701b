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
  let departures: Departures
  /// The certificate for new connections, or `nil` without TLS.
  let certificate: ServerCertificate?

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    let address = channel.remoteAddress.flatMap { NetworkAddress($0) }
    if let refusal = connections.enter(from: address) {
      channel.close(promise: nil)
      if refusal == .address { note(channel.remoteAddress?.ipAddress, logger) }
      return channel.eventLoop.makeFailedFuture(ConnectionCount.Full())
    }
    channel.closeFuture.whenComplete { [connections] _ in connections.leave(from: address) }
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

  /// Logs that an address has too many connections, once a minute at most.
  private func note(_ address: String?, _ logger: Logger) {
    guard connections.isLineDue(at: Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000)) else { return }
    logger.warning(
      """
      An address has more connections than --address-connections, so further ones are closed. If it is a reverse \
      proxy, name it with --proxy.
      """, metadata: ["address": "\(address ?? "")"])
  }

  /// Adds the handlers for slow requests and for HTTP's rules behind the decoder, which `base` has added.
  private func addPace(to pipeline: ChannelPipeline.SynchronousOperations) throws {
    let pace = PaceHandler(terms) { [connections] in connections.end($0) }
    let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
    try pipeline.addHandler(pace, position: .after(decoder))
    try pipeline.addHandler(ExchangeHandler(), position: .after(pace))
    try pipeline.handler(type: ArrivalHandler.self).pace = pace
  }

  func handle(value: Value, logger: Logger) async {
    // Until here requests that were read before the end of the connection may still begin.
    defer { departures.closed(ObjectIdentifier(value.channel)) }
    await base.handle(value: value, logger: logger)
  }
}
