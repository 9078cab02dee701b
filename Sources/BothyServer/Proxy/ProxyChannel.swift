import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// Sets up the connections of the proxy: the way of bytes to requests, and of answers to bytes.
///
/// Below the frameworks' own channels for two reasons: those would put their own `Date` in the place of the origin's, and
/// run each request through tasks and streams, which takes longer than all that a hit in memory needs.
struct ProxyChannel: ServerChildChannel {
  struct Connection: ServerChildChannelValue {
    let channel: any Channel
  }

  let responder: ProxyResponder
  let idleTimeout: TimeAmount

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Connection> {
    channel.eventLoop.makeCompletedFuture {
      var encoding = HTTPResponseEncoder.Configuration()
      // The encoder does not know which answers are to HEAD; `ProxyAnswer.framed` does.
      encoding.automaticallySetFramingHeaders = false
      // Never so small that a common request comes in two pieces.
      try channel.syncOptions?.setOption(
        .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 4096, initial: 4096, maximum: 65536))
      let pipeline = channel.pipeline.syncOperations
      let connection = ProxyConnection(responder, logger)
      try pipeline.addHandlers(
        IdleStateHandler(readTimeout: idleTimeout), BackPressureHandler(),
        ProxyShortcut(responder, connection))
      // One request at a time comes through, in order; what is no HTTP is answered with 400. Fields are not checked
      // again: parsers and HTTPTypes have done that.
      try pipeline.configureHTTPServerPipeline(
        withOutboundHeaderValidation: false, withEncoderConfiguration: encoding)
      try pipeline.addHandler(connection)
      return Connection(channel: channel)
    }
  }

  /// Stays until the connection is closed; what goes on in it is the event loop's.
  func handle(value: Connection, logger: Logger) async {
    await withTaskCancellationHandler {
      // However it ended, it has.
      try? await value.channel.closeFuture.get()
    } onCancel: {
      value.channel.close(promise: nil)
    }
  }
}
