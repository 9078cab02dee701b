import Synchronization

/// How many writes are under way in each container, and who waits until there are none: a sync need not meet a user
/// in the middle of something.
///
/// Writers never wait. A sync waits for the containers of its scopes to come to rest, in the order of asking among
/// those that overlap, and no longer than it was told to: nothing rests on these counts (rules R5 and R6 do not need
/// them), and they are in memory only.
package final class ContainerLocks: Sendable {
  private struct Waiter {
    var id: Int
    var scopes: [PullScope]
    /// It has waited long enough for writers.
    var isOverdue = false
    var continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var writers: [String: Int] = [:]
    var syncs: [Int: [PullScope]] = [:]
    var waiters: [Waiter] = []
    /// Those who gave up before they were in the queue.
    var cancelled: Set<Int> = []
    var nextID = 0

    func isFree(_ scopes: [PullScope], isOverdue: Bool) -> Bool {
      let isHeld = syncs.values.contains { $0.overlaps(scopes) }
      let isWritten = writers.keys.contains { container in scopes.contains { $0.contains(container) } }
      return !isHeld && (isOverdue || !isWritten)
    }

    /// Takes those who may go out of the queue.
    mutating func admit() -> [CheckedContinuation<Void, any Error>] {
      var admitted: [CheckedContinuation<Void, any Error>] = []
      var left: [Waiter] = []
      for waiter in waiters {
        if !left.contains(where: { $0.scopes.overlaps(waiter.scopes) }),
          isFree(waiter.scopes, isOverdue: waiter.isOverdue)
        {
          syncs[waiter.id] = waiter.scopes
          admitted.append(waiter.continuation)
        } else {
          left.append(waiter)
        }
      }
      waiters = left
      return admitted
    }
  }

  private let state = Mutex(State())

  package init() {}

  /// The number of writes under way in a container.
  package func writers(in container: String) -> Int { state.withLock { $0.writers[container] ?? 0 } }

  /// How many syncs wait.
  package var waiting: Int { state.withLock { $0.waiters.count } }

  /// Counts a write for as long as `body` runs, however it ends. Does not wait.
  package func withWrite<Result>(_ container: String, _ body: () async throws -> Result) async rethrows
    -> Result
  {
    state.withLock { $0.writers[container, default: 0] += 1 }
    defer {
      let admitted = state.withLock { state in
        let count = (state.writers[container] ?? 1) - 1
        state.writers[container] = count > 0 ? count : nil
        return count > 0 ? [] : state.admit()
      }
      for waiter in admitted { waiter.resume() }
    }
    return try await body()
  }

  /// Runs `body` when no write is under way in the scopes and no other sync holds one of them; after `maxWait` by
  /// `clock` whatever the writers do. Throws `CancellationError` when the task is cancelled while it waits.
  package func withSync<Result>(
    _ scopes: [PullScope], maxWait: Duration, clock: any Clock<Duration>, _ body: () async throws -> Result
  ) async throws -> Result {
    let id = try await enter(scopes, maxWait, clock)
    defer {
      let admitted = state.withLock { state in
        state.syncs[id] = nil
        return state.admit()
      }
      for waiter in admitted { waiter.resume() }
    }
    return try await body()
  }

  private func enter(_ scopes: [PullScope], _ maxWait: Duration, _ clock: any Clock<Duration>) async throws
    -> Int
  {
    let (id, isFree) = state.withLock { state -> (Int, Bool) in
      state.nextID += 1
      let isFirst = !state.waiters.contains { $0.scopes.overlaps(scopes) }
      guard isFirst && state.isFree(scopes, isOverdue: false) else { return (state.nextID, false) }
      state.syncs[state.nextID] = scopes
      return (state.nextID, true)
    }
    if isFree { return id }
    let timer = Task {
      // Cancelled means that the sync waits no longer.
      guard (try? await clock.sleep(for: maxWait)) != nil else { return }
      self.hasWaited(id)
    }
    defer { timer.cancel() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let admitted = state.withLock { state -> [CheckedContinuation<Void, any Error>]? in
          if state.cancelled.remove(id) != nil { return nil }
          state.waiters.append(Waiter(id: id, scopes: scopes, continuation: continuation))
          return state.admit()
        }
        guard let admitted else { return continuation.resume(throwing: CancellationError()) }
        for waiter in admitted { waiter.resume() }
      }
    } onCancel: {
      let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
        guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
          if state.syncs[id] == nil { state.cancelled.insert(id) }
          return nil
        }
        return state.waiters.remove(at: index).continuation
      }
      waiter?.resume(throwing: CancellationError())
    }
    return id
  }

  private func hasWaited(_ id: Int) {
    let admitted = state.withLock { state in
      if let index = state.waiters.firstIndex(where: { $0.id == id }) {
        state.waiters[index].isOverdue = true
      }
      return state.admit()
    }
    for waiter in admitted { waiter.resume() }
  }
}

extension [PullScope] {
  func overlaps(_ others: [PullScope]) -> Bool {
    contains { scope in others.contains { scope.overlaps($0) } }
  }
}
