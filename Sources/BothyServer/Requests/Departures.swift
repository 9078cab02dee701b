import NIOCore
import Synchronization

/// Cancels work whose caller has closed its connection.
package final class Departures: Sendable {
  private struct State {
    var number = 0
    /// The closures that cancel the work of each connection.
    var work: [ObjectIdentifier: [Int: @Sendable () -> Void]] = [:]
  }

  private let state = Mutex(State())

  package init() {}

  /// Runs `body` in a task that is cancelled when the other side closes the connection.
  package func ending<Result: Sendable>(
    with connection: ObjectIdentifier, _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let task = Task { try await body() }
    let number = state.withLock { state in
      state.number += 1
      state.work[connection, default: [:]][state.number] = { task.cancel() }
      return state.number
    }
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

  /// Cancels the work of the connection.
  package func left(_ connection: ObjectIdentifier) {
    let work = state.withLock { $0.work[connection] } ?? [:]
    for end in work.values { end() }
  }
}

/// Reports when the other side of a connection has closed it, or will send nothing more. It runs on the connection's
/// event loop.
final class DepartureHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Never

  private let departures: Departures

  init(_ departures: Departures) { self.departures = departures }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed = event { departures.left(ObjectIdentifier(context.channel)) }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    departures.left(ObjectIdentifier(context.channel))
    context.fireChannelInactive()
  }
}
