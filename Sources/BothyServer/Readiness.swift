import Synchronization

/// A one-time result that any number of tasks can wait for.
final class Readiness: Sendable {
  private typealias Waiter = CheckedContinuation<BothyServer.Address, any Error>

  private struct State {
    var result: Result<BothyServer.Address, any Error>?
    var waiting: [Int: Waiter] = [:]
    var lastNumber = 0
  }

  private let state = Mutex(State())

  /// Throws `CancellationError` as soon as the task is cancelled.
  func wait() async throws -> BothyServer.Address {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<BothyServer.Address, any Error>? = state.withLock { state in
          if let result = state.result { return result }
          // A cancellation before this found no waiter.
          if Task.isCancelled { return .failure(CancellationError()) }
          state.waiting[number] = continuation
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(throwing: CancellationError())
    }
  }

  func succeed(_ address: BothyServer.Address) { settle(.success(address)) }
  func fail(_ error: any Error) { settle(.failure(error)) }

  /// Stores the result. Only the first call has an effect.
  private func settle(_ result: Result<BothyServer.Address, any Error>) {
    let waiting = state.withLock { state -> [Waiter] in
      guard state.result == nil else { return [] }
      state.result = result
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume(with: result) }
  }
}
