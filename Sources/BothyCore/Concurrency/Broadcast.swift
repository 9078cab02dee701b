import Synchronization

/// A source of values for any number of listeners. A listener that falls behind skips values.
package final class Broadcast<Value: Sendable>: Sendable {
  private struct Listeners {
    var streams: [Int: AsyncStream<Value>.Continuation] = [:]
    var next = 0
  }

  private let listeners = Mutex(Listeners())

  package init() {}

  /// Returns the values from now on, after `first` if given. Keeps the newest `count` values for a listener that falls
  /// behind.
  package func values(startingWith first: Value? = nil, keeping count: Int = 1) -> AsyncStream<Value> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Value.self, bufferingPolicy: .bufferingNewest(count))
    listeners.withLock { listeners in
      let number = listeners.next
      listeners.next += 1
      listeners.streams[number] = continuation
      continuation.onTermination = { [weak self] _ in
        self?.listeners.withLock { $0.streams[number] = nil }
      }
      // Yields under the lock, so that no other value is delivered before `first`.
      if let first { continuation.yield(first) }
    }
    return stream
  }

  package func send(_ value: Value) {
    for stream in listeners.withLock({ Array($0.streams.values) }) { stream.yield(value) }
  }

  package func finish() {
    for stream in listeners.withLock({ Array($0.streams.values) }) { stream.finish() }
  }
}
