import Synchronization

/// Decides when a sync runs. Pure: it takes events, returns an action, and has no clock, task or lock. `RetryWait` has
/// the length of a wait.
///
/// | state   | leaves to                                      |
/// |---------|------------------------------------------------|
/// | stopped | idle or passing (started)                      |
/// | idle    | passing (asked)                                |
/// | passing | idle (finished, paused), waiting (failed)      |
/// | waiting | passing (the wait is over), idle (paused)      |
package struct SyncMachine: ~Copyable {
  private enum State { case stopped, idle, passing, waiting }

  package enum Event: Equatable, Sendable {
    case started(hasWork: Bool)
    /// A save, a read, a notification, the configured timer or the end of a pause requests a sync. It doesn't end a wait.
    case asked
    /// The sync ended well, or only a change can help, such as another token or another version of the app.
    case finished
    /// The sync failed, and trying again later can help.
    case failed
    /// The wait after a failure is over.
    case waited
    /// A condition of syncs doesn't hold.
    case paused
  }

  package enum Action: Equatable, Sendable {
    case none
    case startRun
    /// Wait as long as `RetryWait` says.
    case wait
  }

  private var state: State = .stopped

  package init() {}

  package mutating func handle(_ event: Event) -> Action {
    switch (state, event) {
    case (.stopped, .started(let hasWork)):
      state = .idle
      return hasWork ? start() : .none
    case (.idle, .asked), (.waiting, .waited): return start()
    case (.passing, .failed):
      state = .waiting
      return .wait
    case (.passing, .finished), (.passing, .paused), (.waiting, .paused):
      state = .idle
      return .none
    case (.stopped, _), (_, .started), (_, .waited), (_, .finished), (_, .failed), (.idle, .paused),
      (.passing, .asked), (.waiting, .asked):
      return .none
    }
  }

  private mutating func start() -> Action {
    state = .passing
    return .startRun
  }
}

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
    var reported: Deadline?
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
      let reported = report.retryAfter.map { Deadline(in: .seconds($0), on: state.clock) }
      state.reported = Deadline.later(state.reported, reported)
      if state.end?.isOver ?? true {
        state.attempt += 1
        state.isUnanswered = reason.obstacle == .unreachable
        state.end = Deadline(in: backoff.delay(attempt: state.attempt), on: state.clock)
      }
      state.end = Deadline.later(state.end, state.reported)
      return false
    }
  }

  /// Notes that the network came back. A request without an answer may be tried again, after the time that the server
  /// has asked for. The failures stay counted.
  func networkReturned() {
    state.withLock { state in
      if state.isUnanswered { state.end = state.reported }
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
