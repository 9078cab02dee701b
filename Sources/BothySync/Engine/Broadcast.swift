import Synchronization

/// Hands the newest value to any number of listeners; a slow one skips what came in between.
final class Broadcast<Value: Sendable>: Sendable {
  private struct State {
    var listeners: [Int: AsyncStream<Value>.Continuation] = [:]
    var nextID = 0
  }

  private let state = Mutex(State())

  func send(_ value: Value) {
    let listeners = state.withLock { Array($0.listeners.values) }
    for listener in listeners { listener.yield(value) }
  }

  func values(startingWith first: Value? = nil) -> AsyncStream<Value> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let id = state.withLock { state in
        state.nextID += 1
        state.listeners[state.nextID] = continuation
        return state.nextID
      }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) }
      }
      if let first { continuation.yield(first) }
    }
  }
}
