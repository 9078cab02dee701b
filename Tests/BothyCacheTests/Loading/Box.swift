import Synchronization

/// A value that several tasks share.
final class Box<Value: Sendable>: Sendable {
  private let state: Mutex<Value>
  init(_ value: Value) { state = Mutex(value) }

  var value: Value { state.withLock { $0 } }

  @discardableResult
  func change<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
    state.withLock { body(&$0) }
  }
}

/// Waits without a clock until a condition is true, which another task changes.
func until(_ condition: () -> Bool) async {
  while !condition() { await Task.yield() }
}

/// Does nothing until its task is cancelled.
func hang() async throws -> Never {
  let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
  for await _ in stream {}
  withExtendedLifetime(continuation) {}
  throw CancellationError()
}
