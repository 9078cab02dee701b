internal import Synchronization

/// One load under way, as the work that loads sees it: how urgent it is by now, and where to tell of progress.
package final class Flight: Sendable {
  private struct State {
    var priority: LoadPriority
    var listener: (@Sendable (LoadPriority) -> Void)?
    var progress: LoadProgress?
    var watchers: [Int: @Sendable (LoadProgress) -> Void] = [:]
  }

  private let state: Mutex<State>

  package init(_ priority: LoadPriority = .normal) { state = Mutex(State(priority: priority)) }

  /// The highest priority of those who wait.
  package var priority: LoadPriority { state.withLock { $0.priority } }

  package func set(_ priority: LoadPriority) {
    let listener = state.withLock { state -> (@Sendable (LoadPriority) -> Void)? in
      guard state.priority != priority else { return nil }
      state.priority = priority
      return state.listener
    }
    listener?(priority)
  }

  /// Tells of each change of the priority, one listener at a time.
  func listen(_ listener: (@Sendable (LoadPriority) -> Void)?) { state.withLock { $0.listener = listener } }

  /// Tells everybody who asked how far the load is.
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

/// How far a load is.
public struct LoadProgress: Sendable, Hashable {
  /// How many bytes of the body have come, those of an earlier, broken attempt included.
  public var received: Int64
  /// How many bytes there will be; nil when the server did not say.
  public var expected: Int64?

  package init(received: Int64, expected: Int64? = nil) {
    self.received = received
    self.expected = expected
  }
}
