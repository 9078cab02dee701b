/// Decides when a sync pass runs. Pure: events in, an action out; no clock, no task, no lock of its own.
///
/// | state               | leaves to                                                    |
/// |---------------------|--------------------------------------------------------------|
/// | stopped             | idle or passing (started)                                    |
/// | idle                | passing (asked), paused                                      |
/// | passing(again)      | idle, waiting (failed), passing (asked meanwhile), paused    |
/// | waiting(attempt)    | passing (timer, asked), paused                               |
/// | paused              | idle or passing (resumed)                                    |
package struct SyncMachine: ~Copyable {
  private enum State {
    case stopped
    case idle(attempt: Int)
    case passing(attempt: Int, again: Bool)
    case waiting(attempt: Int)
    case paused
  }

  package enum Event: Equatable, Sendable {
    case started(hasWork: Bool)
    /// Somebody wants a pass: a save, a read, the app, a hint, the timer of the configuration.
    case asked
    /// The pass ended.
    case finished(PassResult)
    case timerFired
    case paused
    case resumed(hasWork: Bool)
  }

  package enum PassResult: Equatable, Sendable {
    case complete
    /// Trying again later can help; the server may have said when.
    case failed(retryAfter: Double?)
    /// Only a change of circumstances can help: another token, another version of the app.
    case blocked
  }

  package enum Action: Equatable, Sendable {
    case none
    case startPass
    /// Wait for the backoff of this attempt, at least so many seconds.
    case wait(attempt: Int, atLeast: Double?)
  }

  private var state: State = .stopped

  package init() {}

  package mutating func handle(_ event: Event) -> Action {
    switch (state, event) {
    case (.stopped, .started(let hasWork)):
      state = .idle(attempt: 0)
      return hasWork ? start(attempt: 0) : .none
    case (.stopped, _): return .none
    case (.idle(let attempt), .asked): return start(attempt: attempt)
    case (.idle, .timerFired): return .none
    case (.passing(let attempt, _), .asked):
      state = .passing(attempt: attempt, again: true)
      return .none
    case (.passing(let attempt, let again), .finished(let result)):
      return finish(result, attempt: attempt, again: again)
    case (.waiting, .asked): return start(attempt: 0)
    case (.waiting(let attempt), .timerFired): return start(attempt: attempt)
    case (.passing, .paused), (.idle, .paused), (.waiting, .paused):
      state = .paused
      return .none
    case (.paused, .resumed(let hasWork)):
      state = .idle(attempt: 0)
      return hasWork ? start(attempt: 0) : .none
    case (.paused, _), (_, .started), (_, .resumed), (.idle, .finished), (.waiting, .finished), (.passing, _):
      return .none
    }
  }

  private mutating func start(attempt: Int) -> Action {
    state = .passing(attempt: attempt, again: false)
    return .startPass
  }

  private mutating func finish(_ result: PassResult, attempt: Int, again: Bool) -> Action {
    switch result {
    case .complete where again: return start(attempt: 0)
    case .complete, .blocked:
      state = .idle(attempt: 0)
      return .none
    case .failed(let retryAfter):
      state = .waiting(attempt: attempt + 1)
      return .wait(attempt: attempt + 1, atLeast: retryAfter)
    }
  }
}
