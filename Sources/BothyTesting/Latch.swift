import Synchronization

/// A place where a task waits until a test opens it, for example a scripted network.
///
///     let gate = Latch()
///     device.remote.setDuringExchange { await gate.pass() }
///     let syncing = Task { await device.store.sync() }
///     await gate.reached()      // the server has answered; the device does not know yet
///     …
///     gate.open()
public final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var isReached = false
    var passing: [CheckedContinuation<Void, Never>] = []
    var watching: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// Creates a closed latch that no task has reached.
  public init() {}

  /// True if the latch is open, so that tasks pass at once.
  public var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Marks the latch as reached, and returns once it is open.
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
  public func open() {
    let passing = state.withLock { state in
      defer { state.passing = [] }
      state.isOpen = true
      return state.passing
    }
    for task in passing { task.resume() }
  }
}
