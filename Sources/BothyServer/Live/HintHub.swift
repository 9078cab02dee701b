import Synchronization

/// Passes on that a space has news, to every open event stream of the space. It never says what the news is.
///
/// Hints that come faster than a stream is written are one hint. Publishing costs a lock and a visit to each
/// stream of the space; it never waits.
public final class HintHub: Sendable {
  /// The spaces without a stream whose hints are counted before all such are forgotten, unless there are more with one.
  package static let countLimit = 100_000
  private let state = Mutex(State())

  private struct State {
    /// The hints of each space since the mark was made.
    var counts: [String: Int] = [:]
    /// Sets the ids of these hints apart from those of the process before, and of those that were forgotten.
    var mark = newMark()
    var subscriptions: [String: [Int: Subscription]] = [:]
    var nextKey = 0
    var published: Int64 = 0

    static func newMark() -> String { String(UInt32.random(in: 0...UInt32.max), radix: 36) }

    mutating func count(_ space: String) {
      published += 1
      counts[space, default: 0] += 1
      if counts.count <= HintHub.countLimit + 2 * subscriptions.count { return }
      // Whoever reconnects with an older id is told of news once, whether there are any or not.
      counts = counts.filter { subscriptions[$0.key] != nil }
      mark = Self.newMark()
    }
  }

  /// A hub without streams, for one server process. Ids of its hints are told from those of processes before.
  public init() {}

  /// Tells the streams of `space`. The server calls this after each write of its own; a ledger that others
  /// write to calls it when it hears of theirs.
  public func publish(space: String) {
    let subscriptions = state.withLock { state in
      state.count(space)
      return Array((state.subscriptions[space] ?? [:]).values)
    }
    for subscription in subscriptions { subscription.notify(.news) }
  }

  /// The number of open streams.
  public var streamCount: Int {
    state.withLock { state in state.subscriptions.values.reduce(0) { $0 + $1.count } }
  }

  /// The hints published since the process began.
  package var publishedCount: Int64 { state.withLock { $0.published } }

  /// The spaces that a stream is open for.
  public var spaces: [String] { state.withLock { Array($0.subscriptions.keys) } }

  /// The spaces whose hints are counted: with those a reconnecting stream is told of news only if there are.
  package var countedSpaces: Int { state.withLock { $0.counts.count } }

  /// The id of the last hint of a space.
  package func lastID(space: String) -> String {
    state.withLock { "\($0.mark).\($0.counts[space] ?? 0)" }
  }

  /// Wakes every stream for a sign of life.
  func beat() {
    let all = state.withLock { state in state.subscriptions.values.flatMap(\.values) }
    for subscription in all { subscription.notify(.heartbeat) }
  }

  /// Runs `body` with a subscription to the hints of `space`, which ends with it.
  package func withSubscription<Result>(
    to space: String, _ body: (Subscription) async throws -> Result
  ) async rethrows -> Result {
    let subscription = Subscription()
    let key = state.withLock { state in
      state.nextKey += 1
      state.subscriptions[space, default: [:]][state.nextKey] = subscription
      return state.nextKey
    }
    defer {
      state.withLock { state in
        state.subscriptions[space]?[key] = nil
        if state.subscriptions[space]?.isEmpty ?? false { state.subscriptions[space] = nil }
      }
    }
    return try await body(subscription)
  }

  /// One stream's waiting room: it holds at most one hint and one sign of life.
  package final class Subscription: Sendable {
    package struct Signals: OptionSet, Sendable {
      package let rawValue: Int
      package init(rawValue: Int) { self.rawValue = rawValue }
      package static let news = Signals(rawValue: 1)
      package static let heartbeat = Signals(rawValue: 2)
    }

    private let waiting = Mutex(Signals())
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    init() {
      (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func notify(_ signal: Signals) {
      waiting.withLock { $0.formUnion(signal) }
      wake.yield()
    }

    /// Lets `next` return nil from now on.
    func finish() { wake.finish() }

    /// Waits for signals; nil when the subscription is finished or the task cancelled.
    package func next() async -> Signals? {
      for await _ in wakes {
        let signals = take()
        if !signals.isEmpty { return signals }
      }
      return nil
    }

    /// What came by now, without waiting for more.
    package func take() -> Signals {
      waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
    }
  }
}

/// When one stream may be told of news again. Pure.
package struct HintPace {
  private let interval: Duration
  private var last: ContinuousClock.Instant?

  /// - Parameter interval: the least time between two hints.
  package init(interval: Duration) { self.interval = interval }

  /// When to tell what is known now; nil for at once.
  package func moment(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    guard let next = last?.advanced(by: interval), next > now else { return nil }
    return next
  }

  package mutating func told(at moment: ContinuousClock.Instant) { last = moment }
}
