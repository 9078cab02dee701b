import Synchronization

/// A place where a task waits until a test opens it, for example a scripted network.
///
/// ```swift
/// let gate = Latch()
/// let server = ScriptedRemote([.wait(gate)])
/// let store = try SyncedStore(at: nil, schema: [Todo.self], remote: server)
/// let syncing = Task { await store.sync() }
/// await gate.reached()  // the request has left the device
/// try await store.save(todo)
/// gate.open()
/// _ = await syncing.value
/// ```
///
/// It opens once and never closes. May be used from any task, and no thread is blocked by a wait.
public final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var isReached = false
    var passing: [CheckedContinuation<Void, Never>] = []
    var watching: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// Creates a closed latch that no task has reached.
  ///
  /// It can't be closed again, so each wait of a story has its own.
  public init() {}

  /// True if the latch is open, so that tasks pass at once.
  ///
  /// It is true from the first `open()` on.
  public var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Marks the latch as reached, and returns once it is open.
  ///
  /// Any number of tasks may wait. A cancelled task waits all the same, so open the latch before awaiting it.
  public func pass() async {
    await withCheckedContinuation { continuation in
      let (isOpen, watching) = state.withLock { state in
        defer { state.watching = [] }
        state.isReached = true
        if !state.isOpen { state.passing.append(continuation) }
        return (state.isOpen, state.watching)
      }
      for watcher in watching { watcher.resume() }
      if isOpen { continuation.resume() }
    }
  }

  /// Returns once a task has reached the latch.
  ///
  /// It returns at once if any task ever has. A cancelled task waits all the same, forever if no task calls `pass()`.
  public func reached() async {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        if !state.isReached { state.watching.append(continuation) }
        return state.isReached
      }
      if isReached { continuation.resume() }
    }
  }

  /// Opens the latch for all tasks, now and later.
  ///
  /// It returns before the tasks run on. They are resumed in the order in which they arrived. A second call does
  /// nothing.
  public func open() {
    let passing = state.withLock { state in
      defer { state.passing = [] }
      state.isOpen = true
      return state.passing
    }
    for task in passing { task.resume() }
  }
}
