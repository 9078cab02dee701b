package import NIOCore
package import NIOHTTP1

/// Applies the rules of HTTP for the messages of one connection (RFC 9112). It is placed behind the decoder and runs on
/// the connection's event loop.
///
/// - A caller that expects 100 gets it when its body is going to be read, and otherwise the final status alone.
/// - A caller of HTTP/1.0 gets no chunks, and keeps its connection only if it asks to and the answer has a length.
/// - A request of HTTP/1.1 without a host, or any with two or an invalid one, is marked by `fault`.
/// - The rest of a body that no handler reads is taken up to a bound and a time. Then the connection ends.
package final class ExchangeHandler: ChannelDuplexHandler, RemovableChannelHandler {
  package typealias InboundIn = HTTPServerRequestPart
  package typealias InboundOut = HTTPServerRequestPart
  package typealias OutboundIn = HTTPServerResponsePart
  package typealias OutboundOut = HTTPServerResponsePart

  /// The event for a request whose body is going to be read.
  package struct BodyWanted: Sendable {
    package init() {}
  }

  /// The field that marks a request without exactly one valid host. No caller can send it.
  package static let fault = "bothy-host-fault"
  /// The most bytes of a body that are taken after its answer. Many callers read no answer before their body is written:
  /// a connection that ends meanwhile is an error without a reason to them.
  package static let rest = 32 << 20
  /// The time for these bytes.
  private static let restTime = TimeAmount.seconds(30)
  /// The time for a body that a caller need not send any more.
  private static let waitingTime = TimeAmount.seconds(2)

  /// A request without a complete answer.
  private struct Exchange {
    let isOld: Bool
    /// True if the connection stays open by the caller's wish.
    let isKept: Bool
    /// True until the caller that expects 100 has it.
    var isExpecting: Bool
    /// The bytes of the body by its header, or `nil` for a body in chunks.
    let length: Int?
    var received = 0
    var isComplete = false

    init(_ head: HTTPRequestHead) {
      isOld = head.version.major < 1 || head.version.major == 1 && head.version.minor == 0
      isKept = head.isKeepAlive
      isExpecting =
        !isOld && head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
      let isChunked = head.headers.contains(name: "transfer-encoding")
      length = isChunked ? nil : head.headers.first(name: "content-length").map { Int($0) ?? .max } ?? 0
    }

    /// True if the caller waits with its body. It may send the body or not, after another answer than 100.
    var isWaiting: Bool { isExpecting && received == 0 && !isComplete }
    /// True if more of the body may come than is taken after the answer.
    var hasMuchLeft: Bool { !isComplete && length.map { $0 - received > ExchangeHandler.rest } ?? false }
  }

  private enum Phase {
    case open
    /// The answer to a request is complete and its body isn't. Bytes of it are ignored.
    case ignoring(bytes: Int)
    /// The last answer is complete, and nothing more is read.
    case over
  }

  private var exchanges: CircularBuffer<Exchange> = []
  private var phase = Phase.open
  /// True if the connection ends with the present answer.
  private var isLast = false
  private var alarm: Scheduled<Void>?

  package init() {}

  package func handlerRemoved(context: ChannelHandlerContext) { alarm?.cancel() }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch (unwrapInboundIn(data), phase) {
    case (_, .over): return
    case (.head(var head), _):
      exchanges.append(Exchange(head))
      head.headers.remove(name: Self.fault)
      if !HostField.areValid(head.headers[canonicalForm: "host"], head.version) {
        head.headers.add(name: Self.fault, value: "1")
      }
      // The reader of requests knows this form alone.
      if !head.isKeepAlive { head.headers.replaceOrAdd(name: "connection", value: "close") }
      context.fireChannelRead(wrapInboundOut(.head(head)))
    case (.body(let bytes), .ignoring(let count)):
      let sum = count + bytes.readableBytes
      phase = .ignoring(bytes: sum)
      if sum > Self.rest { end(context) } else { context.fireChannelRead(data) }
    case (.body(let bytes), .open):
      if let last = exchanges.indices.last { exchanges[last].received += bytes.readableBytes }
      context.fireChannelRead(data)
    case (.end, .ignoring):
      if isLast { return end(context) }
      alarm?.cancel()
      phase = .open
      context.fireChannelRead(data)
    case (.end, .open):
      if let last = exchanges.indices.last { exchanges[last].isComplete = true }
      context.fireChannelRead(data)
    }
  }

  package func triggerUserOutboundEvent(
    context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
  ) {
    guard event is BodyWanted else {
      return context.triggerUserOutboundEvent(event, promise: promise)
    }
    promise?.succeed()
    guard exchanges.first?.isWaiting ?? false else { return }
    exchanges[exchanges.startIndex].isExpecting = false
    let head = HTTPResponseHead(version: .http1_1, status: .continue)
    context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
  }

  package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .over = phase {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    guard let exchange = exchanges.first else { return context.write(data, promise: promise) }
    switch unwrapOutboundIn(data) {
    case .head(var head):
      let hasLength =
        head.headers.contains(name: "content-length") || !head.status.mayHaveResponseBody
      isLast =
        !exchange.isKept || exchange.isOld && !hasLength || exchange.hasMuchLeft
        || exchange.isWaiting
        || head.headers[canonicalForm: "connection"].contains { $0.lowercased() == "close" }
      if exchange.isOld {
        head.version = .http1_0
        head.headers.remove(name: "transfer-encoding")
        if !isLast { head.headers.replaceOrAdd(name: "connection", value: "keep-alive") }
      }
      if isLast { head.headers.replaceOrAdd(name: "connection", value: "close") }
      context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .body: context.write(data, promise: promise)
    case .end: complete(exchanges.removeFirst(), data, promise, context)
    }
  }

  /// Writes the end of an answer, and ends the connection if it is the last one.
  private func complete(
    _ exchange: Exchange, _ end: NIOAny, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
  ) {
    guard exchange.isComplete else {
      phase = .ignoring(bytes: 0)
      let time = exchange.isWaiting ? Self.waitingTime : Self.restTime
      alarm = context.eventLoop.assumeIsolated().scheduleTask(in: time) { self.end(context) }
      return context.write(end, promise: promise)
    }
    guard isLast else { return context.write(end, promise: promise) }
    phase = .over
    let written = promise ?? context.eventLoop.makePromise()
    written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
    context.writeAndFlush(end, promise: written)
  }

  private func end(_ context: ChannelHandlerContext) {
    alarm?.cancel()
    phase = .over
    context.close(promise: nil)
  }
}
