public import BothyStore
import Synchronization

/// Makes a device's storage fail, or its process end, at a chosen step.
///
/// Every write transaction passes three steps: it has begun, all is written, it is committed. They are numbered in
/// the order in which they are passed, so a test that counts those of a story (`passed`) can tell the same story
/// again for each number, with the end of the process there:
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
  /// Where in a write transaction.
  public enum Step: String, Sendable, Hashable, CaseIterable {
    /// It has begun; nothing is written.
    case begin
    /// Everything is written; nothing is committed.
    case commit
    /// It is committed; whoever asked for it has not been told.
    case committed
  }

  /// A step that was passed, and whose write it was part of.
  public struct Passed: Sendable, Hashable {
    /// Which of the three it was.
    public var step: Step
    /// Whether the app wrote; else what a server said was written.
    public var isByApp: Bool
  }

  private struct State {
    var passed: [Passed] = []
    var plan: [Int: any Error] = [:]
    var crashes: Set<Int> = []
    var isDead = false
  }

  private let state = Mutex(State())

  /// Nothing is planned: every step passes and is noted.
  public init() {}

  /// The steps that were passed since the start, a restart or `reset()`.
  public var passed: [Passed] { state.withLock { $0.passed } }

  /// Whether the process has ended, as far as its storage is concerned.
  public var hasCrashed: Bool { state.withLock { $0.isDead } }

  /// Ends the process at the `number`th step from now: that step and every later write throw `SimulatedCrash`, until
  /// the device is restarted. What was committed by then stays, and nothing else.
  public func crash(at number: Int) {
    state.withLock { state in _ = state.crashes.insert(state.passed.count + number) }
  }

  /// Makes the `number`th step from now throw `error`, and later ones go on: a disk that was full for a moment.
  public func fail(
    at number: Int,
    with error: any Error = StoreError(.diskFull, "The disk is full. Free some space and try again.")
  ) {
    state.withLock { state in state.plan[state.passed.count + number] = error }
  }

  /// Forgets all plans and all steps; a process that has ended lives again.
  public func reset() { state.withLock { $0 = State() } }

  /// What the store calls at each step.
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

/// The process ended here, as by SIGKILL. Restart the device to go on from what was committed.
public struct SimulatedCrash: Error, Hashable, CustomStringConvertible {
  /// One is like another: for comparing with what was thrown.
  public init() {}
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
