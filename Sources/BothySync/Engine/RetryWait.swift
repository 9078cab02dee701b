import Synchronization

/// The wait after syncs that failed in a row. Until it ends, syncs don't begin by themselves.
///
/// It belongs to the store, so that another `run()` continues the wait of the last one. Calls that the app awaits, such
/// as `sync()` and an awaited save, are tried at once. Their success ends the wait, and their failure isn't counted.
final class RetryWait: Sendable {
  private struct State {
    var clock: any Clock<Duration>
    var attempt = 0
    var end: Deadline?
    /// The time until which the server asked to wait.
    var told: Deadline?
    /// True if the last try got no answer. Another network may help then.
    var isUnanswered = false
  }

  private let backoff: Backoff
  private let state: Mutex<State>

  init(_ backoff: Backoff, clock: any Clock<Duration>) {
    self.backoff = backoff
    state = Mutex(State(clock: clock))
  }

  /// The number of syncs that have failed in a row.
  var attempt: Int { state.withLock { $0.attempt } }

  /// The end of the wait, or `nil` if it is over.
  var end: Deadline? { state.withLock { $0.end.flatMap { $0.isOver ? nil : $0 } } }

  /// Measures the waits that begin from now on by this clock.
  func measure(by clock: any Clock<Duration>) { state.withLock { $0.clock = clock } }

  /// Notes how a sync ended. Returns true if the server has answered and this ended a wait.
  func note(_ report: SyncReport) -> Bool {
    state.withLock { state in
      guard let reason = report.stop else {
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

  /// Notes that the network came back. A request without an answer may be tried again, after the time that the server
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

  /// The time that is left, negative after the deadline.
  var left: Duration { remaining() }
  var isOver: Bool { left <= .zero }

  /// Returns at the deadline. Throws `CancellationError` if the task is cancelled before.
  func sleep() async throws { try await sleeping() }

  static func later(_ one: Deadline?, _ other: Deadline?) -> Deadline? {
    guard let one, let other else { return one ?? other }
    return one.left < other.left ? other : one
  }
}

extension SyncStop {
  /// True if the same sync probably ends the same way when it is tried again at once.
  fileprivate var isFailure: Bool {
    switch self {
    case .unreachable, .throttled, .serverError, .signInRequired, .refused, .otherServer: true
    case .alreadyRunning, .paused, .cancelled, .expensiveNetwork, .constrainedNetwork, .lowPower,
      .updateRequired, .signedOut:
      false
    }
  }

  fileprivate var isUnanswered: Bool { if case .unreachable = self { true } else { false } }
}
