internal import Synchronization

/// Admits requests to their hosts by the rules of `HostQueue`, which it owns and wakes.
///
/// All methods may be called from any thread. A waiting request is admitted as soon as possible, the most urgent first.
package final class HostScheduler: Sendable {
  private typealias Continuation = CheckedContinuation<LoadFailure?, Never>

  private struct State: ~Copyable {
    var table: HostQueue
    var continuations: [Int: Continuation] = [:]
    var gone: Set<Int> = []
    var nextTicket = 0
    var timer: (at: Duration, task: Task<Void, Never>)?
  }

  private let state: Mutex<State>
  private let clock: LoadClock
  private let random: @Sendable () -> Double

  init(_ rules: HostQueue.Rules, clock: LoadClock, random: @escaping @Sendable () -> Double) {
    state = Mutex(State(table: HostQueue(rules)))
    self.clock = clock
    self.random = random
  }

  deinit { state.withLock { $0.timer?.task.cancel() } }

  /// Lets at least this many requests run at a time, to all hosts together.
  func raiseTotal(to total: Int) { state.withLock { $0.table.raiseTotal(to: total) } }

  /// Waits until a request may be sent to the host. The caller returns the ticket with `leave`.
  func enter(
    _ origin: Origin, _ order: FetchOrder, hasAlias: Bool, for inFlight: InFlightRequest
  ) async throws(LoadFailure) -> Int {
    let ticket = state.withLock { state in
      state.nextTicket += 1
      return state.nextTicket
    }
    let terms = ProviderTerms.withRate(origin)
    inFlight.listen { [weak self] priority in self?.change(ticket, to: priority) }
    defer { inFlight.listen(nil) }
    let failure = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: Continuation) in
        let isGone = state.withLock { state -> Bool in
          if state.gone.remove(ticket) != nil { return true }
          let now = clock.uptime()
          state.continuations[ticket] = continuation
          state.table.request(
            HostQueue.Asking(
              ticket: ticket, origin: origin, limits: order.limits, rateGroup: order.rateGroup,
              priority: inFlight.priority, latest: now + order.retry.patience, hasAlias: hasAlias,
              terms: terms),
            now: now)
          return false
        }
        if isGone { continuation.resume(returning: .cancelled) } else { pass() }
      }
    } onCancel: {
      withdraw(ticket)
    }
    state.withLock { _ = $0.gone.remove(ticket) }
    if let failure { throw failure }
    return ticket
  }

  func leave(_ ticket: Int, _ verdict: HostQueue.Verdict) {
    let chance = random()
    state.withLock { $0.table.done(ticket, verdict, now: clock.uptime(), random: chance) }
    pass()
  }

  private func withdraw(_ ticket: Int) {
    let waiter = state.withLock { state -> Continuation? in
      if let waiter = state.continuations[ticket], state.table.withdraw(ticket) {
        state.continuations[ticket] = nil
        return waiter
      }
      state.gone.insert(ticket)
      return nil
    }
    waiter?.resume(returning: .cancelled)
  }

  private func change(_ ticket: Int, to priority: ResourceCache.Priority) {
    state.withLock { $0.table.change(ticket, to: priority) }
    pass()
  }

  private func pass() {
    let now = clock.uptime()
    let (admitted, refused, old) = state.withLock {
      state -> ([Continuation], [(Continuation, LoadFailure)], Task<Void, Never>?) in
      let passage = state.table.pass(now)
      let admitted = passage.admitted.compactMap { state.continuations.removeValue(forKey: $0) }
      let refused = passage.refused.compactMap { refusal in
        state.continuations.removeValue(forKey: refusal.ticket).map { ($0, refusal.failure) }
      }
      guard let wake = passage.wakeAt, wake < state.timer?.at ?? .seconds(Int64.max / 2) else {
        return (admitted, refused, nil)
      }
      let old = state.timer?.task
      state.timer = (wake, timer(wake, now))
      return (admitted, refused, old)
    }
    old?.cancel()
    for waiter in admitted { waiter.resume(returning: nil) }
    for (waiter, failure) in refused { waiter.resume(returning: failure) }
  }

  private func timer(_ wake: Duration, _ now: Duration) -> Task<Void, Never> {
    Task { [weak self, clock] in
      do { try await clock.sleep(wake - now) } catch { return }
      self?.fire(wake)
    }
  }

  private func fire(_ wake: Duration) {
    state.withLock { state in
      if state.timer?.at == wake { state.timer = nil }
    }
    pass()
  }

  // MARK: - Switches and looks

  /// Suspends or resumes the network. While suspended, waiting and new requests fail at once, and running ones
  /// complete.
  func setSuspended(_ isSuspended: Bool) {
    state.withLock { $0.table.isSuspended = isSuspended }
    pass()
  }

  var isSuspended: Bool { state.withLock { $0.table.isSuspended } }

  /// Forgets that hosts are down, because the network came back or changed.
  func forgive() {
    state.withLock { $0.table.forgive() }
    pass()
  }

  var counts: (running: Int, waiting: Int) {
    state.withLock { ($0.table.runningCount, $0.table.waitingCount) }
  }

  /// Returns the places of an order's hosts, best first.
  func arrange(_ origins: [Origin], _ order: FetchOrder) -> [Int] {
    guard origins.count > 1 else { return Array(origins.indices) }
    let now = clock.uptime()
    return state.withLock { state in
      let isMultiplexed = origins.contains { state.table.isMultiplexed($0) }
      let avoided = origins.map { state.table.isToBeAvoided($0, now) }
      return AliasChoice.arrange(
        count: origins.count, parallel: isMultiplexed ? 1 : order.parallelHosts, spread: order.spread
      ) { avoided[$0] }
    }
  }
}
