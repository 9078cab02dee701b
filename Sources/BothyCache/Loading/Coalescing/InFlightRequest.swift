internal import Synchronization

/// One running load as its work sees it: its current priority and the receivers of its progress.
package final class InFlightRequest: Sendable {
  private struct State {
    var priority: ResourceCache.Priority
    var listener: (@Sendable (ResourceCache.Priority) -> Void)?
    var progress: ResourceCache.Progress?
    var isJoined = false
    var watchers: [Int: @Sendable (ResourceCache.Progress) -> Void] = [:]
  }

  private let state: Mutex<State>

  package init(_ priority: ResourceCache.Priority = .normal) { state = Mutex(State(priority: priority)) }

  /// The highest priority of all waiting callers.
  package var priority: ResourceCache.Priority { state.withLock { $0.priority } }

  /// True if several callers have received its result.
  package var isJoined: Bool { state.withLock { $0.isJoined } }

  /// Notes that several callers receive the result.
  func join() { state.withLock { $0.isJoined = true } }

  package func set(_ priority: ResourceCache.Priority) {
    let listener = state.withLock { state -> (@Sendable (ResourceCache.Priority) -> Void)? in
      guard state.priority != priority else { return nil }
      state.priority = priority
      return state.listener
    }
    listener?(priority)
  }

  /// Sets the listener for changes of the priority. Only one listener exists at a time.
  func listen(_ listener: (@Sendable (ResourceCache.Priority) -> Void)?) {
    state.withLock { $0.listener = listener }
  }

  /// Reports the progress of the load to all callers that requested it.
  package func report(_ progress: ResourceCache.Progress) {
    let watchers = state.withLock { state in
      state.progress = progress
      return Array(state.watchers.values)
    }
    for watcher in watchers { watcher(progress) }
  }

  func watch(_ id: Int, _ watcher: @escaping @Sendable (ResourceCache.Progress) -> Void) {
    let known = state.withLock { state in
      state.watchers[id] = watcher
      return state.progress
    }
    if let known { watcher(known) }
  }

  func unwatch(_ id: Int) { state.withLock { _ = $0.watchers.removeValue(forKey: id) } }
}
