import Foundation
import Logging
import NIOCore
import NIOHTTP1

/// One connection of the proxy: reads a request, has it answered, writes the answer, and begins anew.
///
/// What memory holds is answered on the event loop, without a task; all else in a task that ends with the connection.
/// Lives on the connection's event loop.
final class ProxyConnection: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let responder: ProxyResponder
  private let logger: Logger
  /// The request that is being read.
  private var head: HTTPRequestHead?
  private var body: ByteBuffer?
  private var work: Task<Void, Never>?
  /// Answers that the system has not taken to their end.
  private var unsent = 0
  /// No request comes after what is being answered.
  private var isLast = false
  /// How many requests were read to their end.
  private(set) var requests = 0
  /// The bytes of the request that is being read, if it is known beforehand that they are all of it.
  var bytes: ByteBuffer?
  /// Whether the end of an answer is being written: what then comes to be answered waits until that is done, so that
  /// requests that were sent all at once do not pile up on the stack.
  private var isEnding = false

  init(_ responder: ProxyResponder, _ logger: Logger) {
    self.responder = responder
    self.logger = logger
  }

  /// Whether no request is being read or answered, and another one may come.
  var isFree: Bool { head == nil && work == nil && !isLast && !isEnding }

  // MARK: reading

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch Self.unwrapInboundIn(data) {
    case .head(let head):
      // Nothing is answered behind an answer that was said to be the last.
      guard !isLast else { return }
      self.head = head
      if !head.version.isOld, head.headers.first(name: "expect")?.lowercased() == "100-continue" {
        let go = HTTPResponseHead(version: head.version, status: .continue)
        context.writeAndFlush(Self.wrapOutboundOut(.head(go)), promise: nil)
      }
    case .body(var piece):
      // What comes after a refusal is not wanted.
      guard let head else { return }
      let size = (body?.readableBytes ?? 0) + piece.readableBytes
      if size > responder.bodyLimit {
        (self.head, body, isLast) = (nil, nil, true)
        write(responder.refusal(isTooLarge: true), to: head, context)
      } else if body?.writeBuffer(&piece) == nil {
        body = piece
      }
    case .end:
      requests += 1
      guard isEnding else { return answer(context) }
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      context.eventLoop.execute { bound.value.0.answer(bound.value.1) }
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case ChannelEvent.inputClosed:
      isLast = true
      hangUpIfDone(context)
    case IdleStateHandler.IdleStateEvent.read:
      if work == nil, unsent == 0 { context.close(promise: nil) }
    default: context.fireUserInboundEventTriggered(event)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    logger.trace("a connection failed", metadata: ["error": "\(error)"])
    (head, body, isLast) = (nil, nil, true)
    hangUpIfDone(context)
  }

  func channelInactive(context: ChannelHandlerContext) {
    work?.cancel()
    context.fireChannelInactive()
  }

  // MARK: answering

  private func answer(_ context: ChannelHandlerContext) {
    guard let head else { return }
    let body = body
    let bytes =
      head.version == .http1_1 && head.goesOn && !head.headers.contains(name: "expect") ? bytes : nil
    // Before the answer is written: its end lets the next request in.
    (self.head, self.body, self.bytes) = (nil, nil, nil)
    guard let request = ProxyRequest(head, body: body) else {
      return write(responder.refusal(isTooLarge: false), to: head, context)
    }
    switch responder.begin(request, as: bytes) {
    case .answered(let answer): write(answer, to: head, context)
    case .open(let order): work(on: order, head, context)
    }
  }

  private func work(on order: ProxyOrder, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    let (responder, channel) = (responder, context.channel)
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    work = Task {
      let answer = await responder.finish(order)
      do {
        if case .pieces(let pieces) = answer.body {
          try await channel.eventLoop.submit {
            bound.value.0.begin(answer, to: head, bound.value.1)
            bound.value.1.flush()
          }.get()
          for try await piece in pieces {
            // Waits until it is on its way, so that no more is in memory than one piece.
            try await channel.writeAndFlush(
              HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: piece))))
          }
          try await channel.eventLoop.submit { bound.value.0.end(bound.value.1) }.get()
        } else {
          try await channel.eventLoop.submit { bound.value.0.write(answer, to: head, bound.value.1) }.get()
        }
      } catch {
        // Half an answer must not pass for a whole one.
        channel.close(promise: nil)
      }
    }
  }

  /// Writes an answer whose body is at hand.
  private func write(_ answer: ProxyAnswer, to request: HTTPRequestHead, _ context: ChannelHandlerContext) {
    begin(answer, to: request, context)
    if case .whole(let bytes) = answer.body, !bytes.isEmpty, request.method != .HEAD {
      var buffer = context.channel.allocator.buffer(capacity: bytes.count)
      buffer.writeBytes(bytes)
      context.write(Self.wrapOutboundOut(.body(.byteBuffer(buffer))), promise: nil)
    }
    end(context)
  }

  private func begin(_ answer: ProxyAnswer, to request: HTTPRequestHead, _ context: ChannelHandlerContext) {
    let framed = answer.framed(for: request, isLast: isLast)
    isLast = framed.closes
    context.write(Self.wrapOutboundOut(.head(framed.head)), promise: nil)
  }

  private func end(_ context: ChannelHandlerContext) {
    work = nil
    unsent += 1
    let sent = context.eventLoop.makePromise(of: Void.self)
    sent.futureResult.assumeIsolated().whenComplete { _ in
      self.unsent -= 1
      self.hangUpIfDone(context)
    }
    isEnding = true
    context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: sent)
    isEnding = false
  }

  /// Ends the connection after its last answer: tells the client so and lets it close too, because what it still sends
  /// would cost it the end of the answer.
  private func hangUpIfDone(_ context: ChannelHandlerContext) {
    guard isLast, head == nil, work == nil, unsent == 0 else { return }
    context.close(mode: .output, promise: nil)
  }
}
