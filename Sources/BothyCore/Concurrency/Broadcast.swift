import Synchronization

/// Hands values to everybody who listens; one that lags behind skips what came in between.
package final class Broadcast<Value: Sendable>: Sendable {
  private struct Listeners {
    var streams: [Int: AsyncStream<Value>.Continuation] = [:]
    var next = 0
  }

  private let listeners = Mutex(Listeners())

  package init() {}

  /// The values from now on, after a first one if given. The newest `count` are kept for a listener that lags behind.
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
      // Under the lock, so that nothing sent meanwhile comes before it.
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
