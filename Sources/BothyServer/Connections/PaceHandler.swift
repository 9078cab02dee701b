package import NIOCore
package import NIOHTTP1

/// Closes a connection whose request comes too slowly, or whose answer isn't read. It is placed behind the decoder of
/// HTTP and runs on the connection's event loop.
///
/// A slow header closes the connection, and so does a slow reader. A slow body first ends with the error `SlowBody`, so that the request can be
/// answered, and the connection is closed two seconds later.
package final class PaceHandler: ChannelDuplexHandler, RemovableChannelHandler {
  package typealias InboundIn = HTTPServerRequestPart
  package typealias InboundOut = HTTPServerRequestPart
  package typealias OutboundIn = HTTPServerResponsePart
  package typealias OutboundOut = HTTPServerResponsePart

  /// The end of a body that came too slowly.
  package struct SlowBody: Error {}

  private static let answerTime = TimeAmount.seconds(2)
  private var pace: ConnectionPace
  private let report: @Sendable (ConnectionPace.Slowness) -> Void
  private var context: ChannelHandlerContext?
  private var alarm: (task: Scheduled<Void>, at: NIODeadline)?
  private var isOver = false
  /// The handler whose bytes wait while the connection has enough requests.
  weak var arrivals: ArrivalHandler?

  /// True if further requests may be read.
  var hasRoom: Bool { pace.hasRoom }

  /// - Parameter report: receives what was too slow.
  package init(
    _ terms: ConnectionPace.Terms, report: @escaping @Sendable (ConnectionPace.Slowness) -> Void
  ) {
    pace = ConnectionPace(terms)
    self.report = report
  }

  package func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    if context.channel.isActive { begin(context) }
  }

  package func handlerRemoved(context: ChannelHandlerContext) {
    cancelAlarm()
    self.context = nil
  }

  package func channelActive(context: ChannelHandlerContext) {
    begin(context)
    context.fireChannelActive()
  }

  package func channelInactive(context: ChannelHandlerContext) {
    isOver = true
    cancelAlarm()
    context.fireChannelInactive()
  }

  private func begin(_ context: ChannelHandlerContext) {
    pace.begin(at: context.eventLoop.now)
    setAlarm()
  }

  /// Notes that bytes of a request have arrived.
  func bytesArrived() {
    guard let context else { return }
    pace.bytesArrived(at: context.eventLoop.now)
    setAlarm()
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isOver { return }
    pace.read(unwrapInboundIn(data), at: context.eventLoop.now)
    setAlarm()
    context.fireChannelRead(data)
  }

  package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let isEnd = if case .end = unwrapOutboundIn(data) { true } else { false }
    if isEnd {
      pace.answered(at: context.eventLoop.now)
      setAlarm()
    }
    context.write(data, promise: promise)
    if isEnd { arrivals?.resume() }
  }

  package func channelWritabilityChanged(context: ChannelHandlerContext) {
    pace.change(takesBytes: context.channel.isWritable, at: context.eventLoop.now)
    setAlarm()
    context.fireChannelWritabilityChanged()
  }

  /// Sets the alarm to the deadline, unless an earlier alarm will check it.
  private func setAlarm() {
    guard let context, !isOver, let deadline = pace.deadline else { return }
    if let alarm, alarm.at <= deadline { return }
    cancelAlarm()
    let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.ring() }
    alarm = (task, deadline)
  }

  private func cancelAlarm() {
    alarm?.task.cancel()
    alarm = nil
  }

  private func ring() {
    alarm = nil
    guard let context, !isOver else { return }
    guard let slowness = pace.end(at: context.eventLoop.now) else { return setAlarm() }
    isOver = true
    report(slowness)
    guard slowness == .slowBody else { return context.close(promise: nil) }
    let close = context.eventLoop.now + Self.answerTime
    let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: close) { self.close() }
    alarm = (task, close)
    context.fireErrorCaught(SlowBody())
  }

  private func close() {
    alarm = nil
    context?.close(promise: nil)
  }
}
