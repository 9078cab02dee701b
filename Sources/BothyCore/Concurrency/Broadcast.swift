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
  ///
  /// - Parameter first: The present value. It is read when no other is being sent, and may not use this source.
  package func values(
    startingWith first: @autoclosure () -> Value? = nil, keeping count: Int = 1
  ) -> AsyncStream<Value> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Value.self, bufferingPolicy: .bufferingNewest(count))
    listeners.withLock { listeners in
      let number = listeners.next
      listeners.next += 1
      listeners.streams[number] = continuation
      continuation.onTermination = { [weak self] _ in
        self?.listeners.withLock { $0.streams[number] = nil }
      }
      // Yields under the lock, so that no other value is delivered before `first`, and none between is missed.
      if let present = first() { continuation.yield(present) }
    }
    return stream
  }

  /// Sends a value to all listeners.
  ///
  /// - Parameter value: The value, or what reads the present one. It is read after earlier values were delivered, so
  ///   that the last one that a listener gets is the present one. It may not use this source.
  package func send(_ value: @autoclosure () -> Value) {
    listeners.withLock { listeners in
      if listeners.streams.isEmpty { return }
      let present = value()
      for stream in listeners.streams.values { stream.yield(present) }
    }
  }

  package func finish() {
    for stream in listeners.withLock({ Array($0.streams.values) }) { stream.finish() }
  }
}
