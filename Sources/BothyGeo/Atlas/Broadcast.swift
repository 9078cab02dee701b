import Synchronization

/// Hands values to everybody who listens; nothing comes to one who has stopped.
final class Broadcast<Value: Sendable>: Sendable {
  private struct Listeners {
    var streams: [Int: AsyncStream<Value>.Continuation] = [:]
    var next = 0
  }

  private let listeners = Mutex(Listeners())

  /// The values from now on, after a first one if given. The newest are kept for a listener that lags behind.
  func stream(startingWith first: Value? = nil, keeping count: Int = 64) -> AsyncStream<Value> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Value.self, bufferingPolicy: .bufferingNewest(count))
    listeners.withLock { listeners in
      let number = listeners.next
      listeners.next += 1
      listeners.streams[number] = continuation
      continuation.onTermination = { [weak self] _ in
        self?.listeners.withLock { $0.streams[number] = nil }
      }
      if let first { continuation.yield(first) }
    }
    return stream
  }

  func send(_ value: Value) {
    for stream in listeners.withLock({ Array($0.streams.values) }) { stream.yield(value) }
  }

  func finish() {
    for stream in listeners.withLock({ Array($0.streams.values) }) { stream.finish() }
  }
}
