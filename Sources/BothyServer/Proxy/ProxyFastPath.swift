import NIOCore
import NIOHTTP1

/// Responds to requests whose bytes are known, if memory has the response. Passes all others on to the parser.
///
/// The meaning of a request depends only on its bytes, if they begin where a request begins. What the parser once made
/// of them holds each time they arrive again. This handler parses nothing. It runs on the connection's event loop.
final class ProxyFastPath: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let responder: ProxyResponder
  private let connection: ProxyConnection
  /// The bytes that the parser received.
  private var blocks = RequestBlocks()

  /// - Parameter connection: the handler at the other end of the same pipeline.
  init(_ responder: ProxyResponder, _ connection: ProxyConnection) {
    self.responder = responder
    self.connection = connection
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = Self.unwrapInboundIn(data)
    var isAnswered = false
    // Requests that the connection doesn't take yet wait behind the parser.
    while context.channel.isWritable, isBetweenRequests, let block = RequestBlocks.first(in: bytes),
      let answer = responder.answer(block, context.channel.allocator)
    {
      context.write(Self.wrapOutboundOut(answer), promise: nil)
      bytes.moveReaderIndex(forwardBy: block.readableBytes)
      isAnswered = true
    }
    if isAnswered { context.flush() }
    if bytes.readableBytes > 0 { parse(bytes, context) }
  }

  /// True if the next bytes start a request and no other request is unfinished.
  private var isBetweenRequests: Bool {
    blocks.isAtStart && connection.requests == blocks.count && connection.isFree
  }

  private func parse(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
    let (isFirst, count) = (isBetweenRequests, blocks.count)
    blocks.take(bytes)
    if isFirst, blocks.isAtStart, blocks.count == count + 1 { connection.bytes = bytes }
    context.fireChannelRead(Self.wrapInboundOut(bytes))
    connection.bytes = nil
  }

  /// Delays events that close the connection until the responses written here are sent, because the connection doesn't
  /// know of them.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case ChannelEvent.inputClosed:
      let sent = context.eventLoop.makePromise(of: Void.self)
      let bound = NIOLoopBound((context, event), eventLoop: context.eventLoop)
      sent.futureResult.assumeIsolated().whenComplete { _ in
        bound.value.0.fireUserInboundEventTriggered(bound.value.1)
      }
      context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer()), promise: sent)
    case IdleStateHandler.IdleStateEvent.read:
      // A channel that can't report its unsent bytes has none.
      let unsent = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)
      if (unsent ?? 0) == 0 { context.fireUserInboundEventTriggered(event) }
    default: context.fireUserInboundEventTriggered(event)
    }
  }
}
