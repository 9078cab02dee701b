import Synchronization

/// A place where a task stops until a test lets it on: the gate of scripted networks.
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

  /// Closed, and nobody has come yet.
  public init() {}

  /// Whether whoever comes passes at once.
  public var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Tells that it was reached; returns once it is open.
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

  /// Returns once somebody has come.
  public func reached() async {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        if !state.isReached { state.watching.append(continuation) }
        return state.isReached
      }
      if isReached { continuation.resume() }
    }
  }

  /// Lets everybody on, now and later.
  public func open() {
    let passing = state.withLock { state in
      defer { state.passing = [] }
      state.isOpen = true
      return state.passing
    }
    for task in passing { task.resume() }
  }
}
