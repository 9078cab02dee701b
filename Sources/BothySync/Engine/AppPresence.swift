import Synchronization

/// The app's presence in the foreground, and the tasks that wait for it.
final class AppPresence: Sendable {
  private struct State {
    var isForeground = true
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var cancelled: Set<Int> = []
    var nextID = 0
  }

  private let state = Mutex(State())

  var isForeground: Bool { state.withLock { $0.isForeground } }

  /// Stores the app's new presence. Returns true if the app was in the background and came back.
  func set(isForeground: Bool) -> Bool {
    let (isBack, waiters) = state.withLock { state -> (Bool, [CheckedContinuation<Void, Never>]) in
      let isBack = isForeground && !state.isForeground
      state.isForeground = isForeground
      guard isForeground else { return (false, []) }
      defer { state.waiters = [:] }
      return (isBack, Array(state.waiters.values))
    }
    for waiter in waiters { waiter.resume() }
    return isBack
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
