/// Decides when a sync pass runs. Pure: events in, an action out; no clock, no task, no lock of its own. How long a wait
/// lasts is the matter of `RetryWait`.
///
/// | state          | leaves to                                                |
/// |----------------|----------------------------------------------------------|
/// | stopped        | idle or passing (started)                                |
/// | idle           | passing (asked), paused                                  |
/// | passing(again) | idle, waiting (failed), passing (asked meanwhile), paused |
/// | waiting        | passing (the wait is over), paused                       |
/// | paused         | idle or passing (resumed)                                |
package struct SyncMachine: ~Copyable {
  private enum State {
    case stopped
    case idle
    case passing(again: Bool)
    case waiting
    case paused
  }

  package enum Event: Equatable, Sendable {
    case started(hasWork: Bool)
    /// Somebody wants a pass: a save, a read, a hint, the timer of the configuration. It ends no wait.
    case asked
    /// The pass ended.
    case finished(PassResult)
    /// The wait after a failure is over.
    case waited
    case paused
    case resumed(hasWork: Bool)
  }

  package enum PassResult: Equatable, Sendable {
    case complete
    /// Trying again later can help.
    case failed
    /// Only a change of circumstances can help: another token, another version of the app.
    case blocked
  }

  package enum Action: Equatable, Sendable {
    case none
    case startPass
    /// Wait as long as `RetryWait` says.
    case wait
  }

  private var state: State = .stopped

  package init() {}

  package mutating func handle(_ event: Event) -> Action {
    switch (state, event) {
    case (.stopped, .started(let hasWork)), (.paused, .resumed(let hasWork)):
      state = .idle
      return hasWork ? start() : .none
    case (.idle, .asked), (.waiting, .waited): return start()
    case (.passing, .asked):
      state = .passing(again: true)
      return .none
    case (.passing(let again), .finished(let result)): return finish(result, again: again)
    case (.passing, .paused), (.idle, .paused), (.waiting, .paused):
      state = .paused
      return .none
    case (.stopped, _), (.paused, _), (_, .started), (_, .resumed), (_, .waited), (_, .finished),
      (.waiting, .asked):
      return .none
    }
  }

  private mutating func start() -> Action {
    state = .passing(again: false)
    return .startPass
  }

  private mutating func finish(_ result: PassResult, again: Bool) -> Action {
    switch result {
    case .complete where again: return start()
    case .complete, .blocked:
      state = .idle
      return .none
    case .failed:
      state = .waiting
      return .wait
    }
  }
}
