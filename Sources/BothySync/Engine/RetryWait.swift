import Synchronization

/// The wait after syncs that failed in a row, whoever asked for them: until it is over, none begins by itself.
///
/// It belongs to the store, so that another `run()` goes on where the last one stopped. What the app asks for and waits
/// for itself, `sync()` and an awaited save, is tried at once: its success ends the wait, its failure is not counted.
final class RetryWait: Sendable {
  private struct State {
    var clock: any Clock<Duration>
    var attempt = 0
    var end: Deadline?
    /// When the server may be asked again by its own word.
    var told: Deadline?
    /// Whether no answer had come to the last try: then another network may help.
    var isUnanswered = false
  }

  private let backoff: Backoff
  private let state: Mutex<State>

  init(_ backoff: Backoff, clock: any Clock<Duration>) {
    self.backoff = backoff
    state = Mutex(State(clock: clock))
  }

  /// How many syncs have failed in a row.
  var attempt: Int { state.withLock { $0.attempt } }

  /// When the wait is over; nil when it is.
  var end: Deadline? { state.withLock { $0.end.flatMap { $0.isOver ? nil : $0 } } }

  /// Measures the waits that begin from now on by this clock.
  func measure(by clock: any Clock<Duration>) { state.withLock { $0.clock = clock } }

  /// Takes in how a sync ended. True if the server has answered, and a wait was over for it.
  func note(_ report: SyncReport) -> Bool {
    state.withLock { state in
      guard let reason = report.skipped else {
        guard report.requests > 0, state.attempt > 0 else { return false }
        state = State(clock: state.clock)
        return true
      }
      guard reason.isFailure else { return false }
      let told = report.retryAfter.map { Deadline(in: .seconds($0), on: state.clock) }
      state.told = Deadline.later(state.told, told)
      if state.end?.isOver ?? true {
        state.attempt += 1
        state.isUnanswered = reason.isUnanswered
        state.end = Deadline(in: backoff.delay(attempt: state.attempt), on: state.clock)
      }
      state.end = Deadline.later(state.end, state.told)
      return false
    }
  }

  /// Takes in that the network came back: what got no answer may be tried again, once the time is over that a server
  /// has asked for. The failures stay counted.
  func networkReturned() {
    state.withLock { state in
      if state.isUnanswered { state.end = state.told }
    }
  }
}

/// A moment of some clock.
struct Deadline: Sendable {
  private let remaining: @Sendable () -> Duration
  private let sleeping: @Sendable () async throws -> Void

  init(in duration: Duration, on clock: any Clock<Duration>) {
    (remaining, sleeping) = Self.parts(duration, clock)
  }

  private static func parts<C: Clock>(
    _ duration: Duration, _ clock: C
  ) -> (@Sendable () -> Duration, @Sendable () async throws -> Void) where C.Duration == Duration {
    let end = clock.now.advanced(by: duration)
    return ({ clock.now.duration(to: end) }, { try await clock.sleep(until: end, tolerance: nil) })
  }

  /// The time until then, negative afterwards.
  var left: Duration { remaining() }
  var isOver: Bool { left <= .zero }

  /// Returns then. Throws `CancellationError` when the task is cancelled before.
  func sleep() async throws { try await sleeping() }

  static func later(_ one: Deadline?, _ other: Deadline?) -> Deadline? {
    guard let one, let other else { return one ?? other }
    return one.left < other.left ? other : one
  }
}

extension SkipReason {
  /// Whether the same sync asked for again at once would most likely end the same way.
  fileprivate var isFailure: Bool {
    switch self {
    case .unreachable, .throttled, .serverError, .authenticationRequired, .refused, .otherServer: true
    case .alreadyRunning, .paused, .cancelled, .expensiveNetwork, .constrainedNetwork, .lowPower,
      .updateRequired, .signedOut:
      false
    }
  }

  fileprivate var isUnanswered: Bool { if case .unreachable = self { true } else { false } }
}
