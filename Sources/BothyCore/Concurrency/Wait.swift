import Synchronization

/// One task's wait for a value, which ends once: with the value, an error or the task's cancellation.
package final class Wait<Value: Sendable>: Sendable {
  private enum State {
    case open(CheckedContinuation<Value, any Error>?)
    case ended(Result<Value, any Error>)
  }

  private let state = Mutex(State.open(nil))

  package init() {}

  /// True if a value, an error or a cancellation has ended the wait.
  package var hasEnded: Bool {
    state.withLock { if case .ended = $0 { true } else { false } }
  }

  /// Waits for the first `end(with:)`, which may come before. Throws `CancellationError` as soon as the task is
  /// cancelled, after `cancelled` has run. One task may wait.
  package func value(cancelled: @escaping @Sendable () -> Void = {}) async throws -> Value {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state -> Result<Value, any Error>? in
          if case .ended(let result) = state { return result }
          state = .open(continuation)
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      end(with: .failure(CancellationError()), first: cancelled)
    }
  }

  /// Ends the wait, after `first` has run. Returns false, and runs nothing, if it has ended.
  @discardableResult
  package func end(with result: Result<Value, any Error>, first: () -> Void = {}) -> Bool {
    let before = state.withLock { state -> State in
      defer { if case .open = state { state = .ended(result) } }
      return state
    }
    guard case .open(let continuation) = before else { return false }
    first()
    continuation?.resume(with: result)
    return true
  }
}
