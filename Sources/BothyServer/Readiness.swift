import Synchronization

/// A one-time result that any number of tasks can wait for.
final class Readiness: Sendable {
  private struct State {
    var result: Result<BothyServer.Address, any Error>?
    var waiting: [Wait<BothyServer.Address>] = []
  }

  private let state = Mutex(State())

  /// Throws `CancellationError` as soon as the task is cancelled.
  func wait() async throws -> BothyServer.Address {
    let wait = Wait<BothyServer.Address>()
    let known = state.withLock { state in
      if state.result == nil { state.waiting.append(wait) }
      return state.result
    }
    if let known { return try known.get() }
    return try await wait.value { [self] in state.withLock { $0.waiting.removeAll { $0 === wait } } }
  }

  func succeed(_ address: BothyServer.Address) { settle(.success(address)) }
  func fail(_ error: any Error) { settle(.failure(error)) }

  /// Stores the result. Only the first call has an effect.
  private func settle(_ result: Result<BothyServer.Address, any Error>) {
    state.withLock { state in
      guard state.result == nil else { return }
      state.result = result
      for wait in state.waiting { wait.end(with: result) }
      state.waiting = []
    }
  }
}
