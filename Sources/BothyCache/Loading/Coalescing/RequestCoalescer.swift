internal import Synchronization

/// The running loads. All callers for one key share one load, and each receives its result once.
///
/// A load belongs to this table and not to its first caller. A cancelled caller receives its cancellation at once,
/// without effect on other callers. When the last caller leaves, the load is cancelled. Fetches, revalidations and
/// prefetches of a key all use this table, so that they share requests.
package final class RequestCoalescer<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  package typealias Work = @Sendable (InFlightRequest) async throws(LoadFailure) -> Value
  private typealias Continuation = CheckedContinuation<Result<Value, LoadFailure>, Never>

  private struct Waiter {
    var key: Key
    var work: Work
    var progress: (@Sendable (ResourceCache.Progress) -> Void)?
    var joined: (@Sendable () -> Void)?
    var continuation: Continuation
  }

  private struct State: ~Copyable {
    var table = InFlightTable<Key>()
    var waiters: [Int: Waiter] = [:]
    var requests: [Int: (inFlight: InFlightRequest, task: Task<Void, Never>)] = [:]
    /// Callers that were cancelled before they joined.
    var gone: Set<Int> = []
    var nextWaiter = 0
  }

  private let state = Mutex(State())

  package init() {}

  /// The number of running loads.
  package var count: Int { state.withLock { $0.table.count } }

  /// Returns the number of callers that wait for the key.
  package func waiterCount(_ key: Key) -> Int { state.withLock { $0.table.waiterCount(key) } }

  /// Returns the result of the key's running load, or runs `work` in a task of its own.
  ///
  /// - Parameters:
  ///   - priority: raises the priority of a running load, until this caller leaves.
  ///   - progress: called from the load's task.
  ///   - joined: called once this caller waits for a load that another one began. It must not call this table.
  /// - Throws: the error of the work, or `.cancelled` if the calling task is cancelled.
  package func value(
    for key: Key, priority: ResourceCache.Priority = .normal,
    progress: (@Sendable (ResourceCache.Progress) -> Void)? = nil,
    joined: (@Sendable () -> Void)? = nil, _ work: @escaping Work
  ) async throws(LoadFailure) -> Value {
    let id = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: Continuation) in
        let waiter = Waiter(
          key: key, work: work, progress: progress, joined: joined, continuation: continuation)
        enter(id, waiter, priority)
      }
    } onCancel: {
      leave(id)
    }
    state.withLock { _ = $0.gone.remove(id) }
    return try result.get()
  }

  private func enter(_ id: Int, _ waiter: Waiter, _ priority: ResourceCache.Priority) {
    let (isGone, joined) = state.withLock { state -> (Bool, InFlightRequest?) in
      if state.gone.remove(id) != nil { return (true, nil) }
      state.waiters[id] = waiter
      switch state.table.join(waiter.key, waiter: id, priority) {
      case .start(let number):
        start(number, waiter, priority, [id], &state)
        return (false, nil)
      case .join(let number, let highest):
        state.requests[number]?.inFlight.set(highest)
        waiter.joined?()
        return (false, state.requests[number]?.inFlight)
      case .queue: return (false, nil)
      }
    }
    if isGone { waiter.continuation.resume(returning: .failure(.cancelled)) }
    // This runs outside the lock, because the progress closure may call this table.
    if let joined, let progress = waiter.progress { joined.watch(id, progress) }
  }

  private func leave(_ id: Int) {
    let (waiter, task) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
      guard let waiter = state.waiters.removeValue(forKey: id) else {
        state.gone.insert(id)
        return (nil, nil)
      }
      switch state.table.leave(waiter.key, waiter: id) {
      case .nothing: return (waiter, nil)
      case .settle(let number, let priority):
        state.requests[number]?.inFlight.set(priority)
        state.requests[number]?.inFlight.unwatch(id)
        return (waiter, nil)
      case .callOff(let number): return (waiter, state.requests[number]?.task)
      }
    }
    // This runs outside the lock, because cancelling runs the cancellation handlers of the load.
    task?.cancel()
    waiter?.continuation.resume(returning: .failure(.cancelled))
  }

  /// Starts the work of one caller for all callers that wait for the key.
  private func start(
    _ number: Int, _ waiter: Waiter, _ priority: ResourceCache.Priority, _ ids: [Int], _ state: inout State
  ) {
    let inFlight = InFlightRequest(priority)
    for id in ids.dropFirst() { state.waiters[id]?.joined?() }
    for id in ids {
      if let progress = state.waiters[id]?.progress { inFlight.watch(id, progress) }
    }
    let (key, work) = (waiter.key, waiter.work)
    let task = Task {
      do throws(LoadFailure) {
        self.land(key, number, .success(try await work(inFlight)))
      } catch {
        self.land(key, number, .failure(error))
      }
    }
    state.requests[number] = (inFlight, task)
  }

  private func land(_ key: Key, _ number: Int, _ result: Result<Value, LoadFailure>) {
    var cameToNothing = false
    if case .failure(let failure) = result { cameToNothing = failure.reason == .cancelled }
    let waiting = state.withLock { state -> [Continuation] in
      let request = state.requests.removeValue(forKey: number)?.inFlight
      switch state.table.land(key, number: number, cameToNothing: cameToNothing) {
      case .deliver(let ids):
        if ids.count > 1 { request?.join() }
        return ids.compactMap { state.waiters.removeValue(forKey: $0)?.continuation }
      case .restart(let next, let priority, let ids):
        if let first = ids.first, let waiter = state.waiters[first] {
          start(next, waiter, priority, ids, &state)
        }
        return []
      case .nothing: return []
      }
    }
    for continuation in waiting { continuation.resume(returning: result) }
  }
}
