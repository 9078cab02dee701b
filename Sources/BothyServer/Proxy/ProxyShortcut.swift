import NIOCore
import NIOHTTP1

/// Answers requests whose bytes came before, when memory has what they ask for; hands all else on to the parser.
///
/// What a request means depends on nothing but its bytes, if they begin where a request begins: what the parser made of
/// them once holds whenever they come again. Nothing is parsed here. Lives on the connection's event loop.
final class ProxyShortcut: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let responder: ProxyResponder
  private let connection: ProxyConnection
  /// What the parser was given.
  private var blocks = RequestBlocks()

  /// - Parameter connection: the one at the other end of the same pipeline.
  init(_ responder: ProxyResponder, _ connection: ProxyConnection) {
    self.responder = responder
    self.connection = connection
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = Self.unwrapInboundIn(data)
    var isAnswered = false
    while isBetweenRequests, let block = RequestBlocks.first(in: bytes),
      let answer = responder.answer(block, context.channel.allocator)
    {
      context.write(Self.wrapOutboundOut(answer), promise: nil)
      bytes.moveReaderIndex(forwardBy: block.readableBytes)
      isAnswered = true
    }
    if isAnswered { context.flush() }
    if bytes.readableBytes > 0 { parse(bytes, context) }
  }

  /// Whether what comes now is the start of a request that nothing stands before.
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

  /// The connection does not know of what was written here: what would make it close waits until that is sent.
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
      // A channel that cannot say what it has to send has nothing.
      let unsent = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)
      if (unsent ?? 0) == 0 { context.fireUserInboundEventTriggered(event) }
    default: context.fireUserInboundEventTriggered(event)
    }
  }
}
