import Synchronization

/// How many writes are under way in each container, and who waits until there are none: a sync need not meet a user
/// in the middle of something.
///
/// Writers never wait. A sync waits for the containers of its scopes to come to rest, in the order of asking among
/// those that overlap, and no longer than it was told to: nothing rests on these counts (rules R5 and R6 do not need
/// them), and they are in memory only. What the caller holds itself does not hold it up, in the same task or in one that
/// was begun inside.
package final class ContainerLocks: Sendable {
  /// How long a sync waits, and by which clock.
  package struct Limits: Sendable {
    /// For writes.
    var writes: Duration
    /// For a lock of the app.
    var locks: Duration
    var clock: any Clock<Duration>

    package init(writes: Duration, locks: Duration, clock: any Clock<Duration>) {
      (self.writes, self.locks, self.clock) = (writes, locks, clock)
    }

    init(_ configuration: SyncConfiguration) {
      self.init(
        writes: configuration.maxWait, locks: configuration.lockTimeout, clock: configuration.clock)
    }
  }

  /// Thrown to who waited for a lock of the app that was not given up in time.
  package struct Held: Error, CustomStringConvertible {
    var container: String
    var limit: Duration
    package var description: String {
      "A sync lock of '\(container)' has been held for longer than \(limit). End the body of withSyncLock sooner, or "
        + "raise SyncConfiguration.lockTimeout."
    }
  }

  /// Scopes that are held.
  private struct Holding {
    var scopes: [PullScope]
    /// By the app, for as long as its body runs.
    var isOfApp: Bool
  }

  private struct Waiter {
    var id: Int
    var holding: Holding
    /// What of the counts is the waiter's own.
    var own: Own
    /// It has waited long enough for writers.
    var isOverdue = false
    var continuation: CheckedContinuation<Void, any Error>
  }

  /// What the task holds, of any store: each lock and each write has a number of its own.
  private struct Own: Sendable {
    var syncs: Set<Int> = []
    var writes: [Int: String] = [:]
  }

  @TaskLocal private static var own = Own()
  private static let numbers = Atomic(0)

  private struct State {
    var writers: [Int: String] = [:]
    var syncs: [Int: Holding] = [:]
    var waiters: [Waiter] = []
    /// Those who gave up before they were in the queue.
    var cancelled: Set<Int> = []

    func isHeld(_ scopes: [PullScope], besides own: Own) -> Bool {
      syncs.contains { !own.syncs.contains($0.key) && $0.value.scopes.overlaps(scopes) }
    }

    func isFree(_ scopes: [PullScope], isOverdue: Bool, _ own: Own) -> Bool {
      if isHeld(scopes, besides: own) { return false }
      return isOverdue
        || !writers.contains { id, container in
          own.writes[id] == nil && scopes.contains { $0.contains(container) }
        }
    }

    /// Whether the task holds some of the scopes already. Then it does not queue: those in the queue may wait for it.
    func isWithin(_ scopes: [PullScope], _ own: Own) -> Bool {
      own.syncs.contains { syncs[$0]?.scopes.overlaps(scopes) ?? false }
    }

    /// Takes those who may go out of the queue.
    mutating func admit() -> [CheckedContinuation<Void, any Error>] {
      var admitted: [CheckedContinuation<Void, any Error>] = []
      var left: [Waiter] = []
      for waiter in waiters {
        let scopes = waiter.holding.scopes
        let isNext =
          isWithin(scopes, waiter.own) || !left.contains { $0.holding.scopes.overlaps(scopes) }
        if isNext, isFree(scopes, isOverdue: waiter.isOverdue, waiter.own) {
          syncs[waiter.id] = waiter.holding
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
  package func writers(in container: String) -> Int {
    state.withLock { state in state.writers.values.count { $0 == container } }
  }

  /// How many syncs wait.
  package var waiting: Int { state.withLock { $0.waiters.count } }

  /// Whether the caller holds some of the scopes.
  func areHeldHere(_ scopes: [PullScope]) -> Bool {
    let own = Self.own
    return !own.syncs.isEmpty && state.withLock { $0.isWithin(scopes, own) }
  }

  /// Counts a write for as long as `body` runs, however it ends. Does not wait.
  package func withWrite<Result>(_ container: String, _ body: () async throws -> Result) async rethrows
    -> Result
  {
    let id = Self.numbers.add(1, ordering: .relaxed).newValue
    state.withLock { $0.writers[id] = container }
    defer { release { $0.writers[id] = nil } }
    var own = Self.own
    own.writes[id] = container
    return try await Self.$own.withValue(own) { try await body() }
  }

  /// Runs `body` when no write is under way in the scopes and no other sync holds one of them; after a time whatever the
  /// writers do. Throws `CancellationError` when the task is cancelled while it waits, and `Held` for a lock of the app.
  package func withSync<Result>(
    _ scopes: [PullScope], limits: Limits, isOfApp: Bool = false, _ body: () async throws -> Result
  ) async throws -> Result {
    let id = Self.numbers.add(1, ordering: .relaxed).newValue
    try await enter(id, Holding(scopes: scopes, isOfApp: isOfApp), limits)
    defer { release { $0.syncs[id] = nil } }
    var own = Self.own
    own.syncs.insert(id)
    return try await Self.$own.withValue(own) { try await body() }
  }

  private func release(_ change: (inout State) -> Void) {
    let admitted = state.withLock { state in
      change(&state)
      return state.admit()
    }
    for waiter in admitted { waiter.resume() }
  }

  private func enter(_ id: Int, _ holding: Holding, _ limits: Limits) async throws {
    let own = Self.own
    let scopes = holding.scopes
    let isFree = state.withLock { state -> Bool in
      let isFirst =
        state.isWithin(scopes, own) || !state.waiters.contains { $0.holding.scopes.overlaps(scopes) }
      guard isFirst && state.isFree(scopes, isOverdue: false, own) else { return false }
      state.syncs[id] = holding
      return true
    }
    if isFree { return }
    // Cancelled means that the sync waits no longer.
    let timer = Task { try? await watch(id, limits) }
    defer { timer.cancel() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let admitted = state.withLock { state -> [CheckedContinuation<Void, any Error>]? in
          if state.cancelled.remove(id) != nil { return nil }
          state.waiters.append(Waiter(id: id, holding: holding, own: own, continuation: continuation))
          return state.admit()
        }
        guard let admitted else { return continuation.resume(throwing: CancellationError()) }
        for waiter in admitted { waiter.resume() }
      }
    } onCancel: {
      giveUp(id, CancellationError())
    }
  }

  /// Ends the wait for writers when its time is over, and that for a lock of the app after its own.
  private func watch(_ id: Int, _ limits: Limits) async throws {
    try await limits.clock.sleep(for: limits.writes)
    release { state in
      if let index = state.waiters.firstIndex(where: { $0.id == id }) {
        state.waiters[index].isOverdue = true
      }
    }
    // A sync of others comes to an end by itself; each of its requests has one.
    while true {
      try await limits.clock.sleep(for: limits.locks)
      let holder = state.withLock { state -> Holding? in
        guard let waiter = state.waiters.first(where: { $0.id == id }) else { return nil }
        return state.syncs.first {
          $0.value.isOfApp && !waiter.own.syncs.contains($0.key)
            && $0.value.scopes.overlaps(waiter.holding.scopes)
        }?.value
      }
      guard let holder else { continue }
      giveUp(id, Held(container: holder.scopes.first?.container ?? "", limit: limits.locks))
    }
  }

  private func giveUp(_ id: Int, _ error: any Error) {
    let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
        if state.syncs[id] == nil && error is CancellationError { state.cancelled.insert(id) }
        return nil
      }
      return state.waiters.remove(at: index).continuation
    }
    // Others may have waited behind it alone.
    release { _ in }
    waiter?.resume(throwing: error)
  }
}

extension [PullScope] {
  func overlaps(_ others: [PullScope]) -> Bool {
    contains { scope in others.contains { scope.overlaps($0) } }
  }
}
