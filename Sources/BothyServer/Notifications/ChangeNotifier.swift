import Synchronization

/// Notifies every open event stream of a space that the space has news. A notification never says what the news is.
///
/// Notifications that arrive faster than a stream is written are combined. Publishing costs a lock and a visit to each
/// stream of the space, and never waits.
public final class ChangeNotifier: Sendable {
  /// The number of spaces without a stream whose notifications are counted. Beyond it the counts of such spaces are
  /// deleted, unless more spaces have a stream.
  package static let countLimit = 100_000
  private let state = Mutex(State())

  private struct State {
    /// The number of notifications of each space since `mark` was made.
    var counts: [String: Int] = [:]
    /// Distinguishes the ids of these notifications from those of earlier processes and from those of deleted counts.
    var mark = newMark()
    var subscriptions: [String: [Int: Subscription]] = [:]
    var observers: [@Sendable (String) -> Void] = []
    var nextKey = 0
    var published: Int64 = 0
    var looksForNews = false

    static func newMark() -> String { String(UInt32.random(in: 0...UInt32.max), radix: 36) }

    mutating func count(_ space: String) {
      published += 1
      counts[space, default: 0] += 1
      if counts.count <= ChangeNotifier.countLimit + 2 * subscriptions.count { return }
      // A stream that reconnects with an older id is notified once, even if the space has no news.
      counts = counts.filter { subscriptions[$0.key] != nil }
      mark = Self.newMark()
    }
  }

  /// Creates a hub without streams, for one server process. Its ids differ from those of earlier processes.
  public init() {}

  /// Notifies the streams of `space`. The server calls this after each of its own writes. A storage that
  /// other processes write to calls it when it learns of their writes.
  ///
  /// May be called from any thread, and for a space without streams. A notification without news costs each
  /// stream one read.
  public func publish(space: String) {
    let (subscriptions, observers) = state.withLock { state in
      state.count(space)
      return (Array((state.subscriptions[space] ?? [:]).values), state.observers)
    }
    for subscription in subscriptions { subscription.notify(.news) }
    for observer in observers { observer(space) }
  }

  /// Calls `body` with the name of each space that has news, from now on. `body` has to return at once.
  func observe(_ body: @escaping @Sendable (String) -> Void) {
    state.withLock { $0.observers.append(body) }
  }

  /// Notes that the writes of other processes are found by looking for them, so notifications of them come late.
  /// `/metrics` shows it.
  public func looksForNews() { state.withLock { $0.looksForNews = true } }

  /// True if `looksForNews()` was called.
  package var isLooking: Bool { state.withLock { $0.looksForNews } }

  /// The number of open streams, of all spaces together. Visits each space with a stream.
  public var streamCount: Int {
    state.withLock { state in state.subscriptions.values.reduce(0) { $0 + $1.count } }
  }

  /// The number of notifications published since the process began.
  package var publishedCount: Int64 { state.withLock { $0.published } }

  /// The spaces that have an open stream, in no order.
  public var spaces: [String] { state.withLock { Array($0.subscriptions.keys) } }

  /// The number of spaces whose notifications are counted. In these a reconnecting stream is notified only if the space
  /// has news.
  package var countedSpaces: Int { state.withLock { $0.counts.count } }

  /// Returns the id of the last notification of a space.
  package func lastID(space: String) -> String {
    state.withLock { "\($0.mark).\($0.counts[space] ?? 0)" }
  }

  /// Wakes every stream for a heartbeat.
  func beat() {
    let all = state.withLock { state in state.subscriptions.values.flatMap(\.values) }
    for subscription in all { subscription.notify(.heartbeat) }
  }

  /// Runs `body` with a subscription to the notifications of `space`. The subscription ends with `body`.
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

  /// The pending signals of one stream: at most one notification and one heartbeat.
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

    /// Ends the subscription: `next` returns `nil` from now on.
    func finish() { wake.finish() }

    /// Waits for signals. Returns `nil` if the subscription is finished or the task is cancelled.
    package func next() async -> Signals? {
      for await _ in wakes {
        let signals = take()
        if !signals.isEmpty { return signals }
      }
      return nil
    }

    /// Returns the pending signals without waiting for more.
    package func take() -> Signals {
      waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
    }
  }
}

/// Computes when one stream may be notified again. Pure.
package struct NotificationPace {
  private let interval: Duration
  private var last: ContinuousClock.Instant?

  /// - Parameter interval: the least time between two notifications.
  package init(interval: Duration) { self.interval = interval }

  /// Returns the time of the next notification, or `nil` for now.
  package func moment(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    guard let next = last?.advanced(by: interval), next > now else { return nil }
    return next
  }

  package mutating func reported(at moment: ContinuousClock.Instant) { last = moment }
}
