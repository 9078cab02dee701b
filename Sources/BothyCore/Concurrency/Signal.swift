import Synchronization

/// A signal with one slot. A signal that is sent while no task waits is kept once. One task waits at a time.
package final class Signal: Sendable {
  private struct State {
    var isRung = false
    var waiter: CheckedContinuation<Bool, Never>?
  }

  private let state = Mutex(State())

  package init() {}

  package func ring() {
    let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      guard let waiter = state.waiter else {
        state.isRung = true
        return nil
      }
      state.waiter = nil
      return waiter
    }
    waiter?.resume(returning: true)
  }

  /// Waits for a signal. Returns false if the task is cancelled first.
  package func wait() async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> Bool? in
          if state.isRung {
            state.isRung = false
            return true
          }
          if Task.isCancelled { return false }
          state.waiter = continuation
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume(returning: false)
    }
  }
}
