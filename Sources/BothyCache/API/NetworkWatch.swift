internal import Synchronization

/// The last known state of the network, with notifications for listeners.
final class NetworkWatch: Sendable {
  private struct State {
    var current = NetworkState.unknown
    /// True if the loader has reported a state.
    var isKnown = false
    var listeners: [Int: @Sendable () -> Void] = [:]
    var nextID = 0
    var task: Task<Void, Never>?
  }

  private let state = Mutex(State())

  var current: NetworkState { state.withLock { $0.current } }

  /// True if the loader has reported that the device is offline.
  var isKnownAway: Bool { state.withLock { $0.isKnown && $0.current.isReachable == false } }

  /// Follows the states that a loader reports, until `stop`. Before its first report, the device counts as offline.
  ///
  /// - Parameter changed: called after each change, before the listeners.
  func follow(_ states: AsyncStream<NetworkState>, changed: @escaping @Sendable () -> Void) {
    state.withLock { $0.current = .notReachable }
    let task = Task { [weak self] in
      for await now in states {
        guard let self, !Task.isCancelled else { return }
        self.set(now, changed)
      }
    }
    state.withLock { $0.task = task }
  }

  private func set(_ now: NetworkState, _ changed: @Sendable () -> Void) {
    let listeners = state.withLock { state -> [@Sendable () -> Void]? in
      state.isKnown = true
      guard state.current != now else { return nil }
      state.current = now
      return Array(state.listeners.values)
    }
    guard let listeners else { return }
    changed()
    for listener in listeners { listener() }
  }

  /// Calls the listener after each later change.
  func listen(_ listener: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.nextID += 1
      state.listeners[state.nextID] = listener
      return state.nextID
    }
  }

  func unlisten(_ id: Int) { state.withLock { _ = $0.listeners.removeValue(forKey: id) } }

  func stop() {
    let task = state.withLock { state in
      state.listeners = [:]
      defer { state.task = nil }
      return state.task
    }
    task?.cancel()
  }

  deinit { state.withLock { $0.task }?.cancel() }
}
