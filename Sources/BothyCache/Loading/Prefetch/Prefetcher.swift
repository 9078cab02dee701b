internal import Synchronization

/// Loads items ahead of time, few at a time and only while the policy allows it.
///
/// The newest items are first, in the caller's order, because the caller knows what the user looked at last. It loads
/// by a closure, which uses the cache's in-flight requests at the priority `.prefetch`. Requests of readers run before
/// it, and a reader of an item that is being prefetched joins its request.
package final class Prefetcher<Item: Hashable & Sendable>: Sendable {
  private struct State {
    var policy: PrefetchPolicy
    var network = NetworkState.unknown
    var isPaused = false
    /// The waiting items, the next one first.
    var wishes: [Item] = []
    var running: [Item: Run] = [:]
    var idlers: [CheckedContinuation<Void, Never>] = []

    var obstacle: PrefetchPolicy.Obstacle? { isPaused ? .paused : policy.obstacle(network) }
  }

  /// A load that is running. A cancelled one still takes a moment to end.
  private struct Run {
    let task: Task<Void, Never>
    var isCancelled = false
  }

  /// The outcome of a call to `want`.
  package struct Acceptance: Sendable, Hashable {
    package var accepted = 0
    /// The number of items whose sources forbid prefetching.
    package var forbidden = 0
    /// The number of older items that were replaced.
    package var dropped = 0
  }

  private let state: Mutex<State>
  private let isAllowed: @Sendable (Item) -> Bool
  private let load: @Sendable (Item) async -> Void

  /// - Parameters:
  ///   - isAllowed: true if the item's source allows bulk downloads.
  ///   - load: loads one item. Its failures are ignored.
  package init(
    _ policy: PrefetchPolicy = PrefetchPolicy(), isAllowed: @escaping @Sendable (Item) -> Bool,
    load: @escaping @Sendable (Item) async -> Void
  ) {
    state = Mutex(State(policy: policy))
    self.isAllowed = isAllowed
    self.load = load
  }

  deinit {
    for run in state.withLock({ $0.running }).values { run.task.cancel() }
  }

  /// Adds items, the most important first. They precede older items, and an item that already waits moves up.
  ///
  /// - Parameter replacing: true to forget the older items that still wait.
  @discardableResult
  package func want(_ items: [Item], replacing: Bool = false) -> Acceptance {
    var acceptance = Acceptance()
    let allowed = items.filter(isAllowed)
    acceptance.forbidden = items.count - allowed.count
    state.withLock { state in
      var seen = Set(state.running.filter { !$0.value.isCancelled }.keys)
      let fresh = allowed.filter { seen.insert($0).inserted }
      let older = replacing ? [] : state.wishes.filter { seen.insert($0).inserted }
      let wishes = fresh + older
      state.wishes = Array(wishes.prefix(state.policy.remembered))
      acceptance.accepted = min(fresh.count, state.wishes.count)
      acceptance.dropped = wishes.count - state.wishes.count
    }
    go()
    return acceptance
  }

  /// Forgets all waiting items and cancels running loads.
  package func cancelAll() {
    let running = state.withLock { state in
      state.wishes = []
      for item in state.running.keys { state.running[item]?.isCancelled = true }
      return state.running.values.map(\.task)
    }
    for task in running { task.cancel() }
    go()
  }

  /// Stops starting loads until `resume`. Running loads complete.
  package func pause() { change { $0.isPaused = true } }
  package func resume() { change { $0.isPaused = false } }

  /// Sets the network's state.
  /// - Parameter network: evaluated under the lock, so that the later of two calls wins.
  package func setNetwork(_ network: @autoclosure () -> NetworkState) {
    change { $0.network = network() }
  }
  package func setPolicy(_ policy: PrefetchPolicy) { change { $0.policy = policy } }

  /// The reason why no load starts at present, or `nil` if loads may start.
  package var obstacle: PrefetchPolicy.Obstacle? { state.withLock { $0.obstacle } }

  /// The number of waiting items and the number of running loads.
  package var counts: (waiting: Int, running: Int) { state.withLock { ($0.wishes.count, $0.running.count) } }

  /// Returns when no load is running and none can start.
  package func idle() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if state.running.isEmpty, state.wishes.isEmpty || state.obstacle != nil { return true }
        state.idlers.append(continuation)
        return false
      }
      if isIdle { continuation.resume() }
    }
  }

  private func change(_ body: (inout sending State) -> Void) {
    state.withLock { body(&$0) }
    go()
  }

  /// Starts all loads that may start.
  private func go() {
    let idlers = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      // An item whose cancelled load is ending waits for that.
      while state.obstacle == nil, state.running.count < state.policy.concurrentLoads,
        let place = state.wishes.firstIndex(where: { state.running[$0] == nil })
      {
        let item = state.wishes.remove(at: place)
        state.running[item] = Run(
          task: Task { [weak self, load] in
            await load(item)
            self?.ended(item)
          })
      }
      guard state.running.isEmpty, state.wishes.isEmpty || state.obstacle != nil else { return [] }
      defer { state.idlers = [] }
      return state.idlers
    }
    for idler in idlers { idler.resume() }
  }

  private func ended(_ item: Item) {
    state.withLock { _ = $0.running.removeValue(forKey: item) }
    go()
  }
}
