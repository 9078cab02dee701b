import Synchronization

/// Passes on that a space has news, to every open event stream of the space. It never says what the news is.
///
/// Hints that come faster than a stream is written are one hint. Publishing costs a lock and a visit to each
/// stream of the space; it never waits.
public final class HintHub: Sendable {
  private let state = Mutex(State())
  /// Sets the ids of this hub's hints apart from those of the process before it.
  private let mark = String(UInt32.random(in: 0...UInt32.max), radix: 36)

  private struct State {
    var counts: [String: Int] = [:]
    var subscriptions: [String: [Int: Subscription]] = [:]
    var nextKey = 0
    var published: Int64 = 0
  }

  /// A hub without streams, for one server process. Ids of its hints are told from those of processes before.
  public init() {}

  /// Tells the streams of `space`. The server calls this after each write of its own; a ledger that others
  /// write to calls it when it hears of theirs.
  public func publish(space: String) {
    let subscriptions = state.withLock { state in
      state.counts[space, default: 0] += 1
      state.published += 1
      return Array((state.subscriptions[space] ?? [:]).values)
    }
    for subscription in subscriptions { subscription.notify(.news) }
  }

  /// The number of open streams.
  public var streamCount: Int {
    state.withLock { state in state.subscriptions.values.reduce(0) { $0 + $1.count } }
  }

  /// The hints published since the process began.
  var publishedCount: Int64 { state.withLock { $0.published } }

  /// The spaces that a stream is open for.
  public var spaces: [String] { state.withLock { Array($0.subscriptions.keys) } }

  /// The id of the last hint of a space.
  func lastID(space: String) -> String {
    let count = state.withLock { $0.counts[space] ?? 0 }
    return "\(mark).\(count)"
  }

  /// Wakes every stream for a sign of life.
  func beat() {
    let all = state.withLock { state in state.subscriptions.values.flatMap(\.values) }
    for subscription in all { subscription.notify(.heartbeat) }
  }

  /// Runs `body` with a subscription to the hints of `space`, which ends with it.
  func withSubscription<Result>(
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
  final class Subscription: Sendable {
    struct Signals: OptionSet {
      let rawValue: Int
      static let news = Signals(rawValue: 1)
      static let heartbeat = Signals(rawValue: 2)
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
    func next() async -> Signals? {
      for await _ in wakes {
        let signals = waiting.withLock { waiting in
          defer { waiting = [] }
          return waiting
        }
        if !signals.isEmpty { return signals }
      }
      return nil
    }
  }
}
