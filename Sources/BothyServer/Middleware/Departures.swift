import NIOCore
import Synchronization

/// Cancels work whose caller has closed its connection.
///
/// `RequestBody.consumeWithCancellationOnInboundClose` of Hummingbird does so too, but ends the connection with the
/// response.
package final class Departures: Sendable {
  private struct State {
    var number = 0
    /// The closures that cancel the work of each connection.
    var work: [ObjectIdentifier: [Int: @Sendable () -> Void]] = [:]
    /// The connections whose requests are handled. True for those that the other side has closed.
    var connections: [ObjectIdentifier: Bool] = [:]
    /// True if the server stops, and no work is wanted.
    var isOver = false
  }

  private let state = Mutex(State())

  package init() {}

  /// A connection has begun. Requests of it that are read after its end are cancelled at once, until `closed(_:)`.
  package func opened(_ connection: ObjectIdentifier) {
    state.withLock { $0.connections[connection] = false }
  }

  /// No further request of the connection will be handled.
  package func closed(_ connection: ObjectIdentifier) { state.withLock { $0.connections[connection] = nil } }

  /// Runs `body` in a task that is cancelled when the other side closes the connection. If it has done so before, the
  /// task is cancelled from its beginning.
  package func ending<Result: Sendable>(
    with connection: ObjectIdentifier, _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let task = Task { try await body() }
    let (number, isOver) = state.withLock { state in
      state.number += 1
      state.work[connection, default: [:]][state.number] = { task.cancel() }
      return (state.number, state.isOver || state.connections[connection] ?? false)
    }
    if isOver { task.cancel() }
    defer {
      state.withLock { state in
        state.work[connection]?[number] = nil
        if state.work[connection]?.isEmpty ?? false { state.work[connection] = nil }
      }
    }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Cancels the work of the connection, and that of its requests that are yet to be handled.
  package func left(_ connection: ObjectIdentifier) {
    let work = state.withLock { state in
      if state.connections[connection] != nil { state.connections[connection] = true }
      return state.work[connection] ?? [:]
    }
    for end in work.values { end() }
  }

  /// Cancels the work of all connections, and that which begins later.
  package func endAll() {
    let work = state.withLock { state in
      state.isOver = true
      return state.work.values.flatMap(\.values)
    }
    for end in work { end() }
  }
}

/// Reports when the other side of a connection has closed it, or will send nothing more. It runs on the connection's
/// event loop.
final class DepartureHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Never

  private let departures: Departures

  init(_ departures: Departures) { self.departures = departures }

  func handlerAdded(context: ChannelHandlerContext) { departures.opened(ObjectIdentifier(context.channel)) }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case ChannelEvent.inputClosed, is ArrivalHandler.Ending:
      departures.left(ObjectIdentifier(context.channel))
    default: break
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    departures.left(ObjectIdentifier(context.channel))
    context.fireChannelInactive()
  }
}
