import Synchronization

/// Whether the app is in the foreground, and who waits until it is.
final class AppPresence: Sendable {
  private struct State {
    var isForeground = true
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var cancelled: Set<Int> = []
    var nextID = 0
  }

  private let state = Mutex(State())

  var isForeground: Bool {
    get { state.withLock { $0.isForeground } }
    set {
      let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
        state.isForeground = newValue
        guard newValue else { return [] }
        defer { state.waiters = [:] }
        return Array(state.waiters.values)
      }
      for waiter in waiters { waiter.resume() }
    }
  }

  /// Returns once the app is in the foreground, or the task is cancelled.
  func foreground() async {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          if state.isForeground || state.cancelled.remove(id) != nil { return true }
          state.waiters[id] = continuation
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
        guard let waiter = state.waiters.removeValue(forKey: id) else {
          state.cancelled.insert(id)
          return nil
        }
        return waiter
      }
      waiter?.resume()
    }
    state.withLock { _ = $0.cancelled.remove(id) }
  }
}
