/// Decides when a sync runs. Pure: it takes events, returns an action, and has no clock, task or lock. `RetryWait` has
/// the length of a wait.
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
    /// A save, a read, a notification or the configured timer requests a sync. It doesn't end a wait.
    case asked
    /// The sync ended.
    case finished(PassResult)
    /// The wait after a failure is over.
    case waited
    case paused
    case resumed(hasWork: Bool)
  }

  package enum PassResult: Equatable, Sendable {
    case complete
    /// The sync failed, and trying again later can help.
    case failed
    /// The sync failed, and only a change can help, such as another token or another version of the app.
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
