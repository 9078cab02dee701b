import Synchronization

/// A lock for async code that admits one task at a time, or a few, in the order of their calls.
///
/// A waiting task that is cancelled leaves the queue and throws, and never delays the others. A task that is inside and
/// calls `withPermit` again waits for itself. `isInside` reports that it is inside.
package final class AsyncSemaphore: Sendable {
  private struct Waiter {
    var id: Int
    var places: Int
    let wait = Wait<Void>()
  }

  private struct State {
    var taken = 0
    var inside: Set<Int> = []
    var waiters: [Waiter] = []

    /// Admits the waiters that have room. No waiter overtakes another.
    mutating func admit(_ width: Int) {
      while let first = waiters.first, taken + first.places <= width {
        waiters.removeFirst()
        guard first.wait.end(with: .success(())) else { continue }  // cancelled just now
        taken += first.places
        inside.insert(first.id)
      }
    }
  }

  private let state = Mutex(State())
  private let width: Int
  private let queue: Int

  /// The source of numbers: each entry of each semaphore has a number of its own.
  private static let numbers = Atomic(0)
  /// The entries, of any semaphore, that the task is part of.
  @TaskLocal private static var entries: Set<Int> = []

  /// - Parameters:
  ///   - width: The number of tasks that run at a time.
  ///   - queue: The number of tasks that may wait. Any further task throws `Crowded`.
  package init(width: Int = 1, queue: Int = .max) {
    self.width = width
    self.queue = queue
  }

  /// The error of a task that finds the queue full.
  package struct Crowded: Error {}

  /// The number of tasks that wait.
  package var waiting: Int { state.withLock { $0.waiters.count } }

  /// True if the caller runs inside: in the task that was admitted, or in a child of that task.
  package var isInside: Bool {
    let entries = Self.entries
    return !entries.isEmpty && state.withLock { !$0.inside.isDisjoint(with: entries) }
  }

  /// Runs `body` once there is room for it.
  ///
  /// - Parameter places: The room that `body` takes. If it takes all of it, no other task runs beside it.
  package func withPermit<Result: Sendable>(
    places: Int = 1, _ body: () async throws -> Result
  ) async throws -> Result {
    let places = min(places, width)
    let id = Self.numbers.add(1, ordering: .relaxed).newValue
    try await enter(id, places)
    defer { leave(id, places) }
    return try await Self.$entries.withValue(Self.entries.union([id])) { try await body() }
  }

  /// Runs `body` if there is room for it now. Returns nil, with nothing done, if there is none.
  package func ifFree<Result: Sendable>(_ body: () async throws -> Result) async rethrows -> Result? {
    let id = Self.numbers.add(1, ordering: .relaxed).newValue
    let isIn = state.withLock { state in
      guard state.waiters.isEmpty && state.taken < width else { return false }
      state.taken += 1
      state.inside.insert(id)
      return true
    }
    guard isIn else { return nil }
    defer { leave(id, 1) }
    return try await Self.$entries.withValue(Self.entries.union([id])) { try await body() }
  }

  private func enter(_ id: Int, _ places: Int) async throws {
    let wait = try state.withLock { state throws(Crowded) -> Wait<Void>? in
      if state.waiters.isEmpty && state.taken + places <= width {
        state.taken += places
        state.inside.insert(id)
        return nil
      }
      if state.waiters.count >= queue { throw Crowded() }
      let waiter = Waiter(id: id, places: places)
      state.waiters.append(waiter)
      return waiter.wait
    }
    guard let wait else { return }
    try await wait.value { [self] in
      state.withLock { state in
        state.waiters.removeAll { $0.id == id }
        // A waiter that needed many places may have blocked those behind it.
        state.admit(width)
      }
    }
  }

  private func leave(_ id: Int, _ places: Int) {
    state.withLock { state in
      state.taken -= places
      state.inside.remove(id)
      state.admit(width)
    }
  }
}
