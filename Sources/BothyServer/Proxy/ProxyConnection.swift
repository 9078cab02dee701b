import Foundation
import Logging
import NIOCore
import NIOHTTP1

/// One connection of the proxy. It reads a request, writes the response, and reads the next request.
///
/// Responses from memory are written on the event loop, without a task. All others come from a task that ends with the
/// connection. The handler runs on the connection's event loop.
final class ProxyConnection: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let responder: ProxyResponder
  private let logger: Logger
  /// The request that is being read.
  private var head: HTTPRequestHead?
  private var body: ByteBuffer?
  private var work: Task<Void, Never>?
  /// The number of responses that the system hasn't sent completely.
  private var unsent = 0
  /// True if the connection accepts no request after the current one.
  private var isLast = false
  /// The number of requests that were read completely.
  private(set) var requests = 0
  /// The bytes of the request that is being read, if they are known to be all of it.
  var bytes: ByteBuffer?
  /// True while the end of a response is being written. The next request waits until that is done, so that requests
  /// sent all at once don't pile up on the stack.
  private var isEnding = false
  /// True while a request that was read waits until the connection takes the responses before it. Requests that are
  /// sent all at once would otherwise have all their responses in memory.
  private var isHeld = false

  init(_ responder: ProxyResponder, _ logger: Logger) {
    self.responder = responder
    self.logger = logger
  }

  /// True if no request is being read or answered, and another one is accepted.
  var isFree: Bool { head == nil && work == nil && !isLast && !isEnding }

  // MARK: reading

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch Self.unwrapInboundIn(data) {
    case .head(let head):
      // After the last response the connection answers no request.
      guard !isLast else { return }
      self.head = head
      if !head.version.isOld, head.headers.first(name: "expect")?.lowercased() == "100-continue" {
        let go = HTTPResponseHead(version: head.version, status: .continue)
        context.writeAndFlush(Self.wrapOutboundOut(.head(go)), promise: nil)
      }
    case .body(var piece):
      // The rest of a refused request is ignored.
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
      if !context.channel.isWritable {
        isHeld = true
      } else if isEnding {
        answerLater(context)
      } else {
        answer(context)
      }
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if isHeld, context.channel.isWritable {
      isHeld = false
      answerLater(context)
    }
    context.fireChannelWritabilityChanged()
  }

  private func answerLater(_ context: ChannelHandlerContext) {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    context.eventLoop.execute { bound.value.0.answer(bound.value.1) }
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
    // This happens before the response is written, because its end admits the next request.
    (self.head, self.body, self.bytes) = (nil, nil, nil)
    guard let request = ProxyRequest(head, body: body) else {
      return write(responder.refusal(isTooLarge: false), to: head, context)
    }
    switch responder.begin(request, as: bytes) {
    case .answered(let answer): write(answer, to: head, context)
    case .open(let order): work(on: order, head, context)
    }
  }

  private func work(on order: PlannedProxyRequest, _ head: HTTPRequestHead, _ context: ChannelHandlerContext)
  {
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
            // Waits until the piece is sent, so that memory has no more than one piece.
            try await channel.writeAndFlush(
              HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: piece))))
          }
          try await channel.eventLoop.submit { bound.value.0.end(bound.value.1) }.get()
        } else {
          try await channel.eventLoop.submit { bound.value.0.write(answer, to: head, bound.value.1) }.get()
        }
      } catch {
        // Half a response must not pass for a whole one.
        channel.close(promise: nil)
      }
    }
  }

  /// Writes a response whose body is in memory.
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

  /// Closes the output of the connection after its last response, and lets the client close the input. If the proxy
  /// closed both, bytes that the client still sends could cost it the end of the response.
  private func hangUpIfDone(_ context: ChannelHandlerContext) {
    guard isLast, head == nil, work == nil, unsent == 0 else { return }
    context.close(mode: .output, promise: nil)
  }
}
