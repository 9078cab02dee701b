internal import Synchronization

/// Works off wishes for later, few at a time and only while the policy lets it: the newest wishes first, in the order in
/// which the caller gave them, which knows what was looked at lately.
///
/// It loads by a closure, which takes part in the flights of the cache at the priority `.prefetch`: so whatever
/// somebody asks for goes before it, and who asks for something that is being prefetched joins it.
package final class Prefetcher<Item: Hashable & Sendable>: Sendable {
  private struct State {
    var policy: PrefetchPolicy
    var network = NetworkConditions()
    var isPaused = false
    /// The next one first.
    var wishes: [Item] = []
    var running: [Item: Task<Void, Never>] = [:]
    var idlers: [CheckedContinuation<Void, Never>] = []

    var obstacle: PrefetchPolicy.Obstacle? { isPaused ? .paused : policy.obstacle(network) }
  }

  /// What became of wishes.
  package struct Acceptance: Sendable, Hashable {
    package var accepted = 0
    /// Wishes of sources that forbid it.
    package var forbidden = 0
    /// Older wishes that gave way.
    package var dropped = 0
  }

  private let state: Mutex<State>
  private let isAllowed: @Sendable (Item) -> Bool
  private let load: @Sendable (Item) async -> Void

  /// - Parameters:
  ///   - isAllowed: whether the item's source lets itself be loaded in bulk.
  ///   - load: loads one; its failure is nobody's.
  package init(
    _ policy: PrefetchPolicy = PrefetchPolicy(), isAllowed: @escaping @Sendable (Item) -> Bool,
    load: @escaping @Sendable (Item) async -> Void
  ) {
    state = Mutex(State(policy: policy))
    self.isAllowed = isAllowed
    self.load = load
  }

  deinit {
    for task in state.withLock({ $0.running }).values { task.cancel() }
  }

  /// Wishes, the most wanted first. They go before older wishes; one that is there already moves up.
  @discardableResult
  package func want(_ items: [Item]) -> Acceptance {
    var acceptance = Acceptance()
    let allowed = items.filter(isAllowed)
    acceptance.forbidden = items.count - allowed.count
    state.withLock { state in
      var seen = Set(state.running.keys)
      let fresh = allowed.filter { seen.insert($0).inserted }
      let older = state.wishes.filter { seen.insert($0).inserted }
      let wishes = fresh + older
      state.wishes = Array(wishes.prefix(state.policy.remembered))
      acceptance.accepted = min(fresh.count, state.wishes.count)
      acceptance.dropped = wishes.count - state.wishes.count
    }
    go()
    return acceptance
  }

  /// Forgets all wishes and stops what is under way.
  package func cancelAll() {
    let running = state.withLock { state in
      state.wishes = []
      return Array(state.running.values)
    }
    for task in running { task.cancel() }
    go()
  }

  /// Starts nothing new until resumed. What is under way ends.
  package func pause() { change { $0.isPaused = true } }
  package func resume() { change { $0.isPaused = false } }

  /// - Parameter network: asked for under the lock, so that of two tellers the later one is believed.
  package func setNetwork(_ network: @autoclosure () -> NetworkConditions) {
    change { $0.network = network() }
  }
  package func setPolicy(_ policy: PrefetchPolicy) { change { $0.policy = policy } }

  /// Why nothing is started at present; nil when nothing stands in the way.
  package var obstacle: PrefetchPolicy.Obstacle? { state.withLock { $0.obstacle } }

  /// How many wishes wait, and how many are being loaded.
  package var counts: (waiting: Int, running: Int) { state.withLock { ($0.wishes.count, $0.running.count) } }

  /// Returns when nothing is under way and nothing can be started.
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

  /// Starts what may start.
  private func go() {
    let idlers = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      while state.obstacle == nil, state.running.count < state.policy.concurrentLoads, !state.wishes.isEmpty {
        let item = state.wishes.removeFirst()
        state.running[item] = Task { [weak self, load] in
          await load(item)
          self?.ended(item)
        }
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
