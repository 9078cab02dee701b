internal import Synchronization

/// Hands events to all who listen; a listener that is slow loses the oldest ones and holds up nobody. The few that are
/// kept are handed to later listeners too.
final class EventHub<Event: Sendable>: Sendable {
  private struct State {
    var listeners: [Int: AsyncStream<Event>.Continuation] = [:]
    /// For who listens later: what nobody could have heard, as it happened while the cache was opened.
    var kept: [Event] = []
    var nextID = 0
    var isFinished = false
  }

  private let state = Mutex(State())
  private let capacity: Int

  init(capacity: Int = 4096) { self.capacity = capacity }

  /// The kept events, and those from now on.
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

  /// - Parameter isKept: whether who listens later is told too; the last 16 are.
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
