package import NIOCore

/// Notes bytes before the decoder of HTTP sees them, and passes them on in pieces. It runs on the connection's event
/// loop.
///
/// While a connection has several requests without an answer, its further bytes wait here, and no more are read. A
/// request needs many times its bytes once it is decoded.
package final class ArrivalHandler: ChannelDuplexHandler, RemovableChannelHandler {
  package typealias InboundIn = ByteBuffer
  package typealias InboundOut = ByteBuffer
  package typealias OutboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  /// Tells at once that the other side sends nothing more, while the end of the input waits behind bytes.
  struct Ending: Sendable {}

  /// The most bytes that are decoded before the number of requests is looked at again.
  private static let piece = 4096

  /// The handler that measures the connection.
  package var pace: PaceHandler? {
    didSet { pace?.arrivals = self }
  }

  private var context: ChannelHandlerContext?
  private var waiting = ByteBuffer()
  private var isPassing = false
  /// The events that are put off until no bytes wait: a read, and the end of the connection's input.
  private var isReadWanted = false
  private var ending: Any?

  package init() {}

  package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  package func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    pace = nil
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    pace?.bytesArrived()
    let bytes = unwrapInboundIn(data)
    if waiting.readableBytes == 0 { waiting = bytes } else { waiting.writeImmutableBuffer(bytes) }
    pass(context)
  }

  package func channelReadComplete(context: ChannelHandlerContext) { context.fireChannelReadComplete() }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard waiting.readableBytes > 0, case .inputClosed? = event as? ChannelEvent else {
      return context.fireUserInboundEventTriggered(event)
    }
    ending = event
    context.fireUserInboundEventTriggered(Ending())
  }

  package func read(context: ChannelHandlerContext) {
    guard waiting.readableBytes > 0 else { return context.read() }
    isReadWanted = true
  }

  /// Passes on bytes that wait, after an answer. Returns before it has done so, because answers are written while bytes
  /// are passed on.
  func resume() {
    guard waiting.readableBytes > 0, let context else { return }
    context.eventLoop.assumeIsolated().execute { [weak self] in
      guard let self, let context = self.context else { return }
      pass(context)
      context.fireChannelReadComplete()
    }
  }

  private func pass(_ context: ChannelHandlerContext) {
    guard !isPassing else { return }
    isPassing = true
    while waiting.readableBytes > 0, pace?.hasRoom ?? true,
      let piece = waiting.readSlice(length: min(Self.piece, waiting.readableBytes))
    {
      context.fireChannelRead(wrapInboundOut(piece))
    }
    isPassing = false
    guard waiting.readableBytes == 0 else { return }
    waiting = ByteBuffer()
    if let ending {
      self.ending = nil
      context.fireUserInboundEventTriggered(ending)
    }
    if isReadWanted {
      isReadWanted = false
      context.read()
    }
  }
}
