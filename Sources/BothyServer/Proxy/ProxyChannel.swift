import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// Sets up the connections of the proxy, with the handlers that turn bytes into requests and responses into bytes.
///
/// It doesn't use the frameworks' own channels. They replace the origin's `Date` with their own, and run each request
/// through tasks and streams. That takes longer than a whole hit in memory.
struct ProxyChannel: ServerChildChannel {
  struct Connection: ServerChildChannelValue {
    let channel: any Channel
  }

  let responder: ProxyResponder
  let idleTimeout: TimeAmount

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Connection> {
    channel.eventLoop.makeCompletedFuture {
      var encoding = HTTPResponseEncoder.Configuration()
      // The encoder doesn't know which responses are to HEAD, but `ProxyAnswer.framed` does.
      encoding.automaticallySetFramingHeaders = false
      // The buffer is never so small that a common request arrives in two pieces.
      try channel.syncOptions?.setOption(
        .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 4096, initial: 4096, maximum: 65536))
      let pipeline = channel.pipeline.syncOperations
      let connection = ProxyConnection(responder, logger)
      try pipeline.addHandlers(
        IdleStateHandler(readTimeout: idleTimeout), BackPressureHandler(),
        ProxyFastPath(responder, connection))
      // Requests arrive one at a time and in order. Bytes that aren't HTTP get the response 400. Fields aren't checked
      // again, because parsers and HTTPTypes have done that.
      try pipeline.configureHTTPServerPipeline(
        withOutboundHeaderValidation: false, withEncoderConfiguration: encoding)
      try pipeline.addHandler(connection)
      return Connection(channel: channel)
    }
  }

  /// Returns when the connection is closed. The event loop does the work.
  func handle(value: Connection, logger: Logger) async {
    await withTaskCancellationHandler {
      // An error also means that the connection is closed.
      try? await value.channel.closeFuture.get()
    } onCancel: {
      value.channel.close(promise: nil)
    }
  }
}
