import BothyStore
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

// The counts and locks of containers and the lease of a process, which keep syncs apart from each other and from edits.

/// The writes under way in each container, and the syncs that wait for them to end. A sync thus rarely meets a user in
/// the middle of an edit.
///
/// Writers never wait. A sync waits until no write is under way in the containers of its scopes, for a limited time.
/// Syncs whose scopes overlap run in the order in which they asked. Correctness doesn't depend on these counts, and
/// they exist in memory only. Locks and writes of the caller itself don't delay it, in the same task or in one that was
/// begun inside it.
package final class ContainerLocks: Sendable {
  /// The longest times a sync waits, and the clock that measures them.
  package struct Limits: Sendable {
    /// The time for writes.
    var writes: Duration
    /// The time for a lock of the app.
    var locks: Duration
    var clock: any Clock<Duration>

    package init(writes: Duration, locks: Duration, clock: any Clock<Duration>) {
      (self.writes, self.locks, self.clock) = (writes, locks, clock)
    }

    init(_ configuration: SyncOptions) {
      self.init(
        writes: configuration.maxWait, locks: configuration.lockTimeout, clock: configuration.clock)
    }
  }

  /// Thrown to a caller that waited for a lock of the app that was not released in time.
  package struct Held: Error, CustomStringConvertible {
    var container: String
    var limit: Duration
    package var description: String {
      "A sync lock of '\(container)' has been held for longer than \(limit). End the body of `lockingSyncs` sooner."
    }
  }

  /// A set of scopes that a sync or the app holds.
  private struct Holding {
    var scopes: [SyncScope]
    /// True if the app holds them, for as long as its body runs.
    var isOfApp: Bool
  }

  private struct Waiter {
    var id: Int
    var holding: Holding
    /// The locks and writes that belong to the waiter itself.
    var own: Own
    /// True if it has waited long enough for writers.
    var isOverdue = false
    var continuation: CheckedContinuation<Void, any Error>
  }

  /// The locks and writes that the task holds, of any store. Each has a unique number.
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
    /// The waiters that gave up before they were in the queue.
    var cancelled: Set<Int> = []

    func isHeld(_ scopes: [SyncScope], besides own: Own) -> Bool {
      syncs.contains { !own.syncs.contains($0.key) && $0.value.scopes.overlaps(scopes) }
    }

    func isFree(_ scopes: [SyncScope], isOverdue: Bool, _ own: Own) -> Bool {
      if isHeld(scopes, besides: own) { return false }
      return isOverdue
        || !writers.contains { id, container in
          own.writes[id] == nil && scopes.contains { $0.contains(container) }
        }
    }

    /// True if the task holds some of the scopes already. Such a task doesn't queue, as waiters in the queue may wait
    /// for it.
    func isWithin(_ scopes: [SyncScope], _ own: Own) -> Bool {
      own.syncs.contains { syncs[$0]?.scopes.overlaps(scopes) ?? false }
    }

    /// Removes the waiters that may run from the queue, and returns them.
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

  /// The number of syncs that wait.
  package var waiting: Int { state.withLock { $0.waiters.count } }

  /// True if the caller holds some of the scopes.
  func areHeldHere(_ scopes: [SyncScope]) -> Bool {
    let own = Self.own
    return !own.syncs.isEmpty && state.withLock { $0.isWithin(scopes, own) }
  }

  /// Counts a write for as long as `body` runs, however it ends. Doesn't wait.
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

  /// Runs `body` when no write is under way in the scopes and no other sync holds one of them. After `limits.writes` it
  /// no longer waits for writers. Throws `CancellationError` if the task is cancelled while it waits, and `Held` if a
  /// lock of the app is not released in time.
  package func withSync<Result>(
    _ scopes: [SyncScope], limits: Limits, isOfApp: Bool = false, _ body: () async throws -> Result
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
    // Cancellation means that the sync no longer waits.
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

  /// Ends the wait for writers after its limit, and the wait for a lock of the app after another limit.
  private func watch(_ id: Int, _ limits: Limits) async throws {
    try await limits.clock.sleep(for: limits.writes)
    release { state in
      if let index = state.waiters.firstIndex(where: { $0.id == id }) {
        state.waiters[index].isOverdue = true
      }
    }
    // A sync ends by itself, because each of its requests has a time limit. Only a lock of the app can last.
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
    // Other waiters may have waited behind this one alone.
    release { _ in }
    waiter?.resume(throwing: error)
  }
}

extension [SyncScope] {
  func overlaps(_ others: [SyncScope]) -> Bool {
    contains { scope in others.contains { scope.overlaps($0) } }
  }
}

/// One row of the file that names the process that syncs it, for a limited time. It keeps an app and its extension from
/// doing equal work twice. Correctness doesn't depend on it, and a process that dies loses it.
///
/// It is acquired and released in transactions that write something anyway.
package final class SyncLease: Sendable {
  let holder: String
  let process: Int32
  /// The lifetime of a lease that isn't renewed, in milliseconds. Each exchange renews it.
  static let duration: Int64 = 30_000
  private static let key = "lease"
  private let held = Mutex(false)
  /// The number of running syncs of this process. The last of them releases the lease.
  private let passes = Mutex(0)

  package init(process: Int32 = getpid()) {
    holder = UUIDv7.make()
    self.process = process
  }

  /// True if it was acquired and not released since, as far as this process knows.
  var isHeld: Bool { held.withLock { $0 } }

  func begin() { passes.withLock { $0 += 1 } }

  /// Returns true if no sync needs the lease.
  func end() -> Bool {
    passes.withLock { count in
      count -= 1
      return count == 0
    }
  }

  /// True if the calling sync may release the lease, because no other runs.
  var isLast: Bool { isHeld && passes.withLock { $0 <= 1 } }

  /// Returns the end of another process's lease, or `nil` if no other process holds it.
  package func end(ofOthersAt now: Int64, in transaction: ReadTransaction) throws -> Int64? {
    guard let other = try Self.current(in: transaction), other.holder != holder, other.end > now,
      other.end <= now.addingClamped(Self.duration), RunningProcess.exists(other.process)
    else { return nil }
    return other.end
  }

  /// Acquires or renews the lease, unless another process holds it. Returns the end of that process's lease.
  @discardableResult
  package func take(at now: Int64, in transaction: WriteTransaction) throws -> Int64? {
    if let end = try end(ofOthersAt: now, in: transaction) { return end }
    try SyncValues.set(
      Self.key, "\(holder) \(now.addingClamped(Self.duration)) \(process)", in: transaction)
    held.withLock { $0 = true }
    return nil
  }

  /// Releases the lease, if this process holds it.
  func release(in transaction: WriteTransaction) throws {
    if try Self.current(in: transaction)?.holder == holder {
      try SyncValues.remove(Self.key, in: transaction)
    }
    held.withLock { $0 = false }
  }

  /// Returns the process that holds the lease now. The process must be alive, and the lease not expired.
  static func holder(at now: Int64, in transaction: ReadTransaction) throws -> LeaseHolder? {
    guard let lease = try current(in: transaction), lease.end > now, RunningProcess.exists(lease.process)
    else { return nil }
    return LeaseHolder(process: lease.process, end: lease.end)
  }

  private static func current(
    in transaction: ReadTransaction
  ) throws -> (holder: String, end: Int64, process: Int32)? {
    let parts = try SyncValues.value(key, in: transaction)?.split(separator: " ") ?? []
    guard parts.count == 3, let end = Int64(parts[1]), let process = Int32(parts[2]) else { return nil }
    return (String(parts[0]), end, process)
  }
}

/// The process that holds the lease of a file.
package struct LeaseHolder: Sendable, Equatable {
  package var process: Int32
  /// The end of the lease, in milliseconds since 1970.
  package var end: Int64
}
