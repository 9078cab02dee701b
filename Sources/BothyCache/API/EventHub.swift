internal import Synchronization

/// Sends events to all listeners, and a few kept events also to later listeners.
///
/// A slow listener loses the oldest events and never delays other listeners or the sender.
final class EventHub<Event: Sendable>: Sendable {
  private struct State {
    var listeners: [Int: AsyncStream<Event>.Continuation] = [:]
    /// Events for later listeners, sent before anything could listen, while the cache was opened.
    var kept: [Event] = []
    var nextID = 0
    var isFinished = false
  }

  private let state = Mutex(State())
  private let capacity: Int

  init(capacity: Int = 4096) { self.capacity = capacity }

  /// Returns a stream of the kept events, then of all later ones.
  func stream() -> AsyncStream<Event> {
    let (stream, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingNewest(capacity))
    let id = state.withLock { state -> Int? in
      guard !state.isFinished else { return nil }
      state.nextID += 1
      for event in state.kept { continuation.yield(event) }
      state.listeners[state.nextID] = continuation
      return state.nextID
    }
    guard let id else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in self?.drop(id) }
    return stream
  }

  /// - Parameter isKept: true if later listeners receive the event too. The last 16 such events are kept.
  func send(_ event: Event, isKept: Bool = false) {
    let listeners = state.withLock { state in
      if isKept { state.kept = state.kept.suffix(15) + [event] }
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.yield(event) }
  }

  func finish() {
    let listeners = state.withLock { state -> [AsyncStream<Event>.Continuation] in
      state.isFinished = true
      defer { state.listeners = [:] }
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.finish() }
  }

  private func drop(_ id: Int) { state.withLock { _ = $0.listeners.removeValue(forKey: id) } }
}
