import Synchronization

/// Lets one task at a time through, or a few, in the order they came: exchanges with the server never overlap.
///
/// A waiting task that is cancelled leaves the queue and throws; it never holds up the others.
package final class Gate: Sendable {
  private struct State {
    var taken = 0
    var waiters: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    var cancelled: Set<Int> = []
    var nextID = 0
  }

  private let state = Mutex(State())

  private let width: Int
  private let queue: Int

  /// - Parameters:
  ///   - width: how many tasks at a time.
  ///   - queue: how many may wait for them; more are refused with `Crowded`.
  package init(width: Int = 1, queue: Int = .max) {
    self.width = width
    self.queue = queue
  }

  /// Too many wait already.
  package struct Crowded: Error {}

  package func withGate<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
    try await enter()
    defer { leave() }
    return try await body()
  }

  private func enter() async throws {
    let id = try state.withLock { state throws(Crowded) -> Int? in
      if state.taken < width {
        state.taken += 1
        return nil
      }
      if state.waiters.count >= queue { throw Crowded() }
      state.nextID += 1
      return state.nextID
    }
    guard let id else { return }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let action = state.withLock { state -> Result<Void, any Error>? in
          if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
          if state.taken < width {
            state.taken += 1
            return .success(())
          }
          state.waiters.append((id, continuation))
          return nil
        }
        if let action { continuation.resume(with: action) }
      }
    } onCancel: {
      let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
        guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
          state.cancelled.insert(id)
          return nil
        }
        return state.waiters.remove(at: index).continuation
      }
      waiter?.resume(throwing: CancellationError())
    }
    state.withLock { _ = $0.cancelled.remove(id) }
  }

  private func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      if state.waiters.isEmpty {
        state.taken -= 1
        return nil
      }
      return state.waiters.removeFirst().continuation
    }
    next?.resume()
  }
}
