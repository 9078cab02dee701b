internal import Synchronization

/// One running load as its work sees it: its current priority and the receivers of its progress.
package final class InFlightRequest: Sendable {
  private struct State {
    var priority: LoadPriority
    var listener: (@Sendable (LoadPriority) -> Void)?
    var progress: LoadProgress?
    var isJoined = false
    var watchers: [Int: @Sendable (LoadProgress) -> Void] = [:]
  }

  private let state: Mutex<State>

  package init(_ priority: LoadPriority = .normal) { state = Mutex(State(priority: priority)) }

  /// The highest priority of all waiting callers.
  package var priority: LoadPriority { state.withLock { $0.priority } }

  /// True if several callers have received its result.
  package var isJoined: Bool { state.withLock { $0.isJoined } }

  /// Notes that several callers receive the result.
  func join() { state.withLock { $0.isJoined = true } }

  package func set(_ priority: LoadPriority) {
    let listener = state.withLock { state -> (@Sendable (LoadPriority) -> Void)? in
      guard state.priority != priority else { return nil }
      state.priority = priority
      return state.listener
    }
    listener?(priority)
  }

  /// Sets the listener for changes of the priority. Only one listener exists at a time.
  func listen(_ listener: (@Sendable (LoadPriority) -> Void)?) { state.withLock { $0.listener = listener } }

  /// Reports the progress of the load to all callers that requested it.
  package func report(_ progress: LoadProgress) {
    let watchers = state.withLock { state in
      state.progress = progress
      return Array(state.watchers.values)
    }
    for watcher in watchers { watcher(progress) }
  }

  func watch(_ id: Int, _ watcher: @escaping @Sendable (LoadProgress) -> Void) {
    let known = state.withLock { state in
      state.watchers[id] = watcher
      return state.progress
    }
    if let known { watcher(known) }
  }

  func unwatch(_ id: Int) { state.withLock { _ = $0.watchers.removeValue(forKey: id) } }
}

/// The progress of a load.
///
/// It is reported for each piece of the body, and once for a reader that joins later.
public struct LoadProgress: Sendable, Hashable {
  /// The number of bytes of the body that have come, including those of an earlier, broken attempt.
  ///
  /// It falls if an attempt must begin from the start.
  public internal(set) var received: Int64
  /// The length of the whole body in bytes, or `nil` if the server did not report it.
  ///
  /// It is `nil` too for a body whose content coding was undone.
  public internal(set) var expected: Int64?

  package init(received: Int64, expected: Int64? = nil) {
    self.received = received
    self.expected = expected
  }
}
