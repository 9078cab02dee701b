import Synchronization

/// A place where a task stops until it is let on, and where others can wait until it has come.
final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var isReached = false
    var passing: [CheckedContinuation<Void, Never>] = []
    var watching: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// Tells that it was reached; returns once it is open.
  func pass() async {
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

  func reached() async {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        if !state.isReached { state.watching.append(continuation) }
        return state.isReached
      }
      if isReached { continuation.resume() }
    }
  }

  func open() {
    let passing = state.withLock { state in
      defer { state.passing = [] }
      state.isOpen = true
      return state.passing
    }
    for task in passing { task.resume() }
  }
}

/// Counts calls from any task.
final class Calls: Sendable {
  private let total = Mutex(0)

  var count: Int { total.withLock { $0 } }

  @discardableResult
  func add() -> Int {
    total.withLock { total in
      total += 1
      return total
    }
  }
}

struct TimedOut: Error {}

/// Yields until `condition` holds, for what another task must bring about; throws after ten seconds.
func until(isolation: isolated (any Actor)? = #isolation, _ condition: () throws -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(10)
  while try !condition() {
    guard ContinuousClock.now < end else { throw TimedOut() }
    await Task.yield()
  }
}
