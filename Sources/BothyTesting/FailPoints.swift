public import BothyStore
import Synchronization

/// Makes a device's storage fail, or its process end, at a chosen step.
///
/// Every write transaction passes three steps: it has begun, all is written, it is committed. The steps are numbered in
/// the order in which they are passed. A test can count the steps of a story with `passed`, and then repeat the story
/// for each number with a crash at that step:
///
///     for step in 1...count {
///       device.failPoints.crash(at: step)
///       …
///       try device.restart()
///     }
///
/// Costs nothing while no step is chosen. Shipped apps have no fail points: only devices of this kit are opened with
/// them.
public final class FailPoints: Sendable {
  /// A step of a write transaction.
  public enum Step: String, Sendable, Hashable, CaseIterable {
    /// It has begun; nothing is written.
    case begin
    /// Everything is written; nothing is committed.
    case commit
    /// The transaction is committed, but the caller has not been notified.
    case committed
  }

  /// A step that was passed, and the kind of write that it belonged to.
  public struct Passed: Sendable, Hashable {
    /// The step.
    public var step: Step
    /// True if the app made the write. False if the write stored data from the server.
    public var isByApp: Bool
  }

  private struct State {
    var passed: [Passed] = []
    var plan: [Int: any Error] = [:]
    var crashes: Set<Int> = []
    var isDead = false
  }

  private let state = Mutex(State())

  /// Creates fail points without a plan: every step passes and is recorded.
  package init() {}

  /// The steps that were passed since the start, a restart or `reset()`.
  public var passed: [Passed] { state.withLock { $0.passed } }

  /// True if the process has ended, as far as its storage is concerned.
  package var hasCrashed: Bool { state.withLock { $0.isDead } }

  /// Ends the process at the `number`th step from now.
  ///
  /// That step and every later write throw `SimulatedCrash` until the device is restarted. Committed data stays; all
  /// other data is lost.
  public func crash(at number: Int) {
    state.withLock { state in _ = state.crashes.insert(state.passed.count + number) }
  }

  /// Makes the `number`th step from now throw `error`, like a disk that is full for a moment. Later steps succeed.
  public func fail(
    at number: Int,
    with error: any Error = BothyError(.diskFull, "The disk is full. Free some space and try again.")
  ) {
    state.withLock { state in state.plan[state.passed.count + number] = error }
  }

  /// Removes all plans and all recorded steps. A process that has ended runs again.
  public func reset() { state.withLock { $0 = State() } }

  /// Throws the planned error of this step, if any. The store calls it at each step.
  package func pass(_ step: StoreStep, _ origin: WriteOrigin) throws {
    let error = state.withLock { state -> (any Error)? in
      if state.isDead { return SimulatedCrash() }
      state.passed.append(Passed(step: Step(step), isByApp: origin == .app))
      let number = state.passed.count
      if state.crashes.remove(number) != nil {
        state.isDead = true
        return SimulatedCrash()
      }
      return state.plan.removeValue(forKey: number)
    }
    if let error { throw error }
  }
}

/// The error of a simulated end of the process, as by SIGKILL. Restart the device to continue from the committed data.
public struct SimulatedCrash: Error, Hashable, CustomStringConvertible {
  /// Creates an error. All errors of this type are equal, so a test can compare them with a thrown error.
  package init() {}
  public var description: String { "The process ended here. Restart the device to go on." }
}

extension FailPoints.Step {
  init(_ step: StoreStep) {
    switch step {
    case .begin: self = .begin
    case .commit: self = .commit
    case .committed: self = .committed
    }
  }
}
