import Synchronization

/// A one-time result that any number of tasks can wait for.
final class Readiness: Sendable {
  private enum State {
    case waiting([CheckedContinuation<BothyServer.Address, any Error>])
    case settled(Result<BothyServer.Address, any Error>)
  }

  private let state = Mutex(State.waiting([]))

  func wait() async throws -> BothyServer.Address {
    try await withCheckedThrowingContinuation { continuation in
      let result: Result<BothyServer.Address, any Error>? = state.withLock { state in
        switch state {
        case .settled(let result): return result
        case .waiting(let others):
          state = .waiting(others + [continuation])
          return nil
        }
      }
      if let result { continuation.resume(with: result) }
    }
  }

  func succeed(_ address: BothyServer.Address) { settle(.success(address)) }
  func fail(_ error: any Error) { settle(.failure(error)) }

  /// Stores the result. Only the first call has an effect.
  private func settle(_ result: Result<BothyServer.Address, any Error>) {
    let waiting = state.withLock { state -> [CheckedContinuation<BothyServer.Address, any Error>] in
      guard case .waiting(let waiting) = state else { return [] }
      state = .settled(result)
      return waiting
    }
    for continuation in waiting { continuation.resume(with: result) }
  }
}
