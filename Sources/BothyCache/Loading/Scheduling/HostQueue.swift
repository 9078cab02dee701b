/// The order and the times at which requests may be sent, as a pure table.
///
/// It enforces limits for each host and for all hosts together. More urgent requests are first. A host that requested a
/// pause or is down receives no requests.
struct HostQueue: ~Copyable {
  struct Rules: Sendable {
    /// The number of simultaneous requests in all.
    var total = 16
    var circuit = Circuit.Rules()
    /// The longest `Retry-After` that is obeyed.
    var longestHold: Duration = .seconds(3600)

    init() {}
  }

  /// A request that waits to be sent.
  struct Asking: Sendable {
    var ticket: Int
    var origin: Origin
    var limits: HostLimits
    var rateGroup: String?
    var priority: ResourceCache.Priority
    /// The time until which it waits for a host that is paused or down.
    var latest: Duration
    var hasAlias: Bool
    /// The terms of the host's provider, if they state a rate. All sources of the provider share it.
    var terms: ProviderTerms?
  }

  /// The outcome of an admitted request in terms of its host.
  enum Verdict: Sendable, Hashable {
    case answered(isMultiplexed: Bool)
    /// The host requested a pause, for `nil` without a length.
    case throttled(Duration?)
    case failed
    /// The request was cancelled, so its host's state is unknown.
    case abandoned
  }

  /// The requests that are admitted or refused now.
  struct Passage {
    var admitted: [Int] = []
    var refused: [(ticket: Int, failure: LoadFailure)] = []
    /// The time of the next check, if nothing else happens before.
    var wakeAt: Duration?
  }

  private struct Host {
    /// The newest limits of each rate group with requests to the host. The strictest number applies.
    var limits: [String: HostLimits] = [:]
    var running = 0
    var heldUntil: Duration = .zero
    var throttles = 0
    var circuit = Circuit()
    var isMultiplexed = false

    var perHost: Int { limits.values.map(\.perHost).min() ?? 1 }

    func isIdle(_ now: Duration) -> Bool {
      running == 0 && heldUntil <= now && circuit.failures == 0 && !isMultiplexed
    }
  }

  private struct Running {
    var origin: Origin
    var hasAlias: Bool
    var isProbe: Bool
  }

  private var rules: Rules
  private var hosts: [Origin: Host] = [:]
  private var buckets: [String: TokenBucket] = [:]
  /// The rates of providers, by their names.
  private var providers: [String: TokenBucket] = [:]
  /// The waiting requests, ordered by urgency and then by arrival.
  private var waiting: [Asking] = []
  private var running: [Int: Running] = [:]
  var isSuspended = false

  init(_ rules: Rules) { self.rules = rules }

  var runningCount: Int { running.count }
  var waitingCount: Int { waiting.count }

  /// Raises the number of simultaneous requests in all, unless it is as high already.
  mutating func raiseTotal(to total: Int) { rules.total = max(rules.total, total) }

  /// Adds a request. Its limits replace the earlier ones of its rate group.
  mutating func request(_ asking: Asking, now: Duration) {
    if hosts.count > 1000 {
      let awaited = Set(waiting.map(\.origin))
      hosts = hosts.filter { awaited.contains($0.key) || !$0.value.isIdle(now) }
    }
    let group = Self.bucket(asking)
    hosts[asking.origin, default: Host()].limits[group] = asking.limits
    if let rate = asking.limits.ratePerSecond {
      let burst = asking.limits.burst
      buckets[group, default: TokenBucket(rate: rate, burst: burst, now: now)]
        .change(rate: rate, burst: burst, now)
    } else {
      buckets[group] = nil
    }
    if let terms = asking.terms, let rate = terms.requestsPerSecond, providers[terms.name] == nil {
      // The requests of a second may be sent at once.
      providers[terms.name] = TokenBucket(rate: Double(rate), burst: rate, now: now)
    }
    insert(asking)
  }

  private mutating func insert(_ asking: Asking) {
    let place = waiting.firstIndex { $0.priority < asking.priority } ?? waiting.endIndex
    waiting.insert(asking, at: place)
  }

  /// Removes a waiting request. Returns false if it no longer waits.
  mutating func withdraw(_ ticket: Int) -> Bool {
    guard let place = waiting.firstIndex(where: { $0.ticket == ticket }) else { return false }
    waiting.remove(at: place)
    return true
  }

  mutating func change(_ ticket: Int, to priority: ResourceCache.Priority) {
    guard let place = waiting.firstIndex(where: { $0.ticket == ticket }) else { return }
    var asking = waiting.remove(at: place)
    asking.priority = priority
    insert(asking)
  }

  /// Admits the requests that may be sent now, and refuses those whose wait exceeds their limit.
  mutating func pass(_ now: Duration) -> Passage {
    var passage = Passage()
    var kept: [Asking] = []
    for asking in waiting {
      switch decide(asking, now) {
      case .go(let isProbe):
        admit(asking, isProbe: isProbe, now)
        passage.admitted.append(asking.ticket)
      case .wait(let until):
        kept.append(asking)
        if let until { passage.wakeAt = min(passage.wakeAt ?? until, until) }
      case .refuse(let failure): passage.refused.append((asking.ticket, failure))
      }
    }
    waiting = kept
    return passage
  }

  private enum Decision { case go(isProbe: Bool), wait(until: Duration?), refuse(LoadFailure) }

  private func decide(_ asking: Asking, _ now: Duration) -> Decision {
    if isSuspended { return .refuse(.suspended) }
    guard let host = hosts[asking.origin] else { return .wait(until: nil) }
    let earliest = max(host.heldUntil, host.circuit.openUntil ?? .zero)
    if earliest > now {
      guard earliest <= asking.latest else { return .refuse(Self.notBefore(asking.origin, earliest - now)) }
      return .wait(until: earliest)
    }
    if host.circuit.isDown, host.circuit.isProbing { return .wait(until: nil) }
    // A prefetch leaves the last free place to requests of readers.
    let reserve = asking.priority.isPrefetch ? 1 : 0
    guard running.count < max(1, rules.total - reserve), host.running < max(1, host.perHost - reserve)
    else {
      return .wait(until: nil)
    }
    let own = buckets[Self.bucket(asking)]?.next(now) ?? now
    let next = max(own, asking.terms.flatMap { providers[$0.name]?.next(now) } ?? now)
    if next > now { return .wait(until: next) }
    return .go(isProbe: host.circuit.isDown)
  }

  private static func notBefore(_ origin: Origin, _ wait: Duration) -> LoadFailure {
    let seconds = Int((wait / .seconds(1)).rounded(.up))
    return LoadFailure(
      .notBefore(wait),
      "\(origin) gets no requests for another \(seconds) s. Stored copies are served meanwhile.")
  }

  private static func bucket(_ asking: Asking) -> String { asking.rateGroup ?? asking.origin.description }

  private mutating func admit(_ asking: Asking, isProbe: Bool, _ now: Duration) {
    buckets[Self.bucket(asking)]?.take(now)
    if let terms = asking.terms { providers[terms.name]?.take(now) }
    running[asking.ticket] = Running(origin: asking.origin, hasAlias: asking.hasAlias, isProbe: isProbe)
    hosts[asking.origin]?.running += 1
    if isProbe { hosts[asking.origin]?.circuit.isProbing = true }
  }

  /// Ends an admitted request. `random` is from 0 to 1.
  mutating func done(_ ticket: Int, _ verdict: Verdict, now: Duration, random: Double) {
    guard let ended = running.removeValue(forKey: ticket), var host = hosts[ended.origin] else { return }
    host.running -= 1
    switch verdict {
    case .answered(let isMultiplexed):
      host.circuit.succeed()
      host.throttles = 0
      host.isMultiplexed = isMultiplexed
    case .throttled(let wait):
      host.circuit.succeed()
      host.throttles += 1
      let own = min(.seconds(60), .seconds(1) * (1 << min(host.throttles, 10))) * (0.5 + 0.5 * random)
      host.heldUntil = max(host.heldUntil, now + min(wait ?? own, rules.longestHold))
    case .failed: host.circuit.fail(rules.circuit, hasAlias: ended.hasAlias, now: now, random: random)
    case .abandoned: if ended.isProbe { host.circuit.isProbing = false }
    }
    hosts[ended.origin] = host
  }

  /// Forgets that hosts are down, because the network came back or changed. Requested pauses stay.
  mutating func forgive() {
    for origin in hosts.keys { hosts[origin]?.circuit.succeed() }
  }

  /// True if a request must now wait because the host is down or requested a pause.
  func isToBeAvoided(_ origin: Origin, _ now: Duration) -> Bool {
    guard let host = hosts[origin] else { return false }
    if host.heldUntil > now { return true }
    guard let until = host.circuit.openUntil else { return false }
    return until > now || host.circuit.isProbing
  }

  func isMultiplexed(_ origin: Origin) -> Bool { hosts[origin]?.isMultiplexed ?? false }
}
