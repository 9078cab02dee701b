internal import Synchronization

/// The loads under way: any number of callers for one key share one load and each gets its result, once.
///
/// The load belongs to this table and not to the caller who came first. A caller that is cancelled gets its
/// cancellation at once and hurts nobody; when the last one leaves, the load is cancelled. Fetches, revalidations and
/// prefetches of a key go through the same table, so that they meet.
package final class Flights<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  package typealias Work = @Sendable (Flight) async throws(LoadFailure) -> Value
  private typealias Continuation = CheckedContinuation<Result<Value, LoadFailure>, Never>

  private struct Waiter {
    var key: Key
    var work: Work
    var progress: (@Sendable (LoadProgress) -> Void)?
    var continuation: Continuation
  }

  private struct State: ~Copyable {
    var table = FlightTable<Key>()
    var waiters: [Int: Waiter] = [:]
    var flights: [Int: (flight: Flight, task: Task<Void, Never>)] = [:]
    /// Waiters that were cancelled before they had joined.
    var gone: Set<Int> = []
    var nextWaiter = 0
  }

  private let state = Mutex(State())

  package init() {}

  /// How many loads are under way.
  package var count: Int { state.withLock { $0.table.flightCount } }

  /// How many wait for the key.
  package func waiterCount(_ key: Key) -> Int { state.withLock { $0.table.waiterCount(key) } }

  /// The result of the load of this key: of the one under way, else of `work`, which runs in a task of its own.
  ///
  /// - Parameters:
  ///   - priority: raises that of a load under way; sinks again when this caller leaves.
  ///   - progress: called from the load's task.
  /// - Throws: what the work throws; `.cancelled` when the calling task is cancelled.
  package func value(
    for key: Key, priority: LoadPriority = .normal, progress: (@Sendable (LoadProgress) -> Void)? = nil,
    _ work: @escaping Work
  ) async throws(LoadFailure) -> Value {
    let id = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: Continuation) in
        enter(id, Waiter(key: key, work: work, progress: progress, continuation: continuation), priority)
      }
    } onCancel: {
      leave(id)
    }
    state.withLock { _ = $0.gone.remove(id) }
    return try result.get()
  }

  private func enter(_ id: Int, _ waiter: Waiter, _ priority: LoadPriority) {
    let (isGone, joined) = state.withLock { state -> (Bool, Flight?) in
      if state.gone.remove(id) != nil { return (true, nil) }
      state.waiters[id] = waiter
      switch state.table.join(waiter.key, waiter: id, priority) {
      case .start(let flight):
        start(flight, waiter, priority, [id], &state)
        return (false, nil)
      case .join(let flight, let highest):
        state.flights[flight]?.flight.set(highest)
        return (false, state.flights[flight]?.flight)
      case .queue: return (false, nil)
      }
    }
    if isGone { waiter.continuation.resume(returning: .failure(.cancelled)) }
    // Outside the lock: whoever watches may come back here.
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
      case .settle(let flight, let priority):
        state.flights[flight]?.flight.set(priority)
        state.flights[flight]?.flight.unwatch(id)
        return (waiter, nil)
      case .callOff(let flight): return (waiter, state.flights[flight]?.task)
      }
    }
    // Outside the lock: cancelling runs the handlers of whatever the load waits for.
    task?.cancel()
    waiter?.continuation.resume(returning: .failure(.cancelled))
  }

  /// Starts the work of a waiter for all who wait for the key.
  private func start(
    _ number: Int, _ waiter: Waiter, _ priority: LoadPriority, _ ids: [Int], _ state: inout State
  ) {
    let flight = Flight(priority)
    for id in ids {
      if let progress = state.waiters[id]?.progress { flight.watch(id, progress) }
    }
    let (key, work) = (waiter.key, waiter.work)
    let task = Task {
      do throws(LoadFailure) {
        self.land(key, number, .success(try await work(flight)))
      } catch {
        self.land(key, number, .failure(error))
      }
    }
    state.flights[number] = (flight, task)
  }

  private func land(_ key: Key, _ number: Int, _ result: Result<Value, LoadFailure>) {
    var cameToNothing = false
    if case .failure(let failure) = result { cameToNothing = failure.reason == .cancelled }
    let waiting = state.withLock { state -> [Continuation] in
      state.flights[number] = nil
      switch state.table.land(key, flight: number, cameToNothing: cameToNothing) {
      case .deliver(let ids): return ids.compactMap { state.waiters.removeValue(forKey: $0)?.continuation }
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
