import BothyStore
import Synchronization

/// Makes a device's storage fail, or its process end, at a chosen step.
///
/// Every write transaction passes three steps: it has begun, all is written, it is committed. The steps are numbered in
/// the order in which they are passed. A test can count the steps of a story with `passed`, and then repeat the story
/// for each number with a crash at that step:
///
/// ```swift
/// let device = try SimulatedWorld().addDevice(schema: [Todo.self])
/// device.failPoints.reset()
/// device.failPoints.crash(at: 2)
/// _ = try? await device.store.save(todo)
/// try device.restart()
/// ```
///
/// To open a device's file is a write too, so the story begins with `reset()`. Reads, and the files of blobs, pass no
/// steps. Each step costs a lock and an entry in `passed`. May be used from any task. Shipped apps have no fail points:
/// only devices of this kit are opened with them.
public final class FailPoints: Sendable {
  /// A step of a write transaction.
  ///
  /// A write whose own closure throws passes `begin` alone.
  public enum Step: String, Sendable, Hashable, CaseIterable {
    /// It has begun; nothing is written.
    ///
    /// An error here reaches the caller before its closure runs.
    case begin
    /// Everything is written; nothing is committed.
    ///
    /// An error here undoes the whole transaction, and the caller receives it.
    case commit
    /// The transaction is committed, but the caller has not been notified.
    ///
    /// An error here reaches the caller although the data stays. Observations aren't notified of this commit.
    case committed
  }

  /// A step that was passed, and the kind of write that it belonged to.
  ///
  /// A step at which a planned error was thrown counts as passed.
  public struct Passed: Sendable, Hashable {
    /// The step. Each write begins with `begin`, and a write that succeeds has all three.
    public var step: Step
    /// True if the app made the write.
    ///
    /// False for the writes of sync, such as the server's data and the outcomes of changes. The opening of a file is one
    /// too.
    package var isByApp: Bool
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
  ///
  /// They are in order, from all tasks that write. After a start or a restart the steps of opening the file come first.
  /// Once the process has ended, further writes add none.
  public var passed: [Passed] { state.withLock { $0.passed } }

  /// True if the process has ended, as far as its storage is concerned.
  package var hasCrashed: Bool { state.withLock { $0.isDead } }

  /// Ends the process at the `number`th step from now.
  ///
  /// That step and every later write throw `SimulatedCrash` until the device is restarted. Committed data stays; all
  /// other data is lost. Reads still answer. Several crashes may be planned, and one that isn't reached stays planned
  /// until `reset()` or a restart.
  ///
  /// - Parameter number: 1 for the next step. 0 and less have no effect.
  public func crash(at number: Int) {
    state.withLock { state in _ = state.crashes.insert(state.passed.count + number) }
  }

  /// Makes the `number`th step from now throw `error`, like a disk that is full for a moment. Later steps succeed.
  ///
  /// At `begin` and `commit` nothing of the write is stored. At `committed` everything is, and the write throws all the
  /// same. Another plan for the step replaces this one, and a crash at the step has precedence.
  ///
  /// - Parameters:
  ///   - number: 1 for the next step. 0 and less have no effect.
  ///   - error: thrown to the caller of the write. By default `BothyError` `diskFull`.
  public func fail(
    at number: Int,
    with error: any Error = BothyError(.diskFull, "The disk is full. Free some space and try again.")
  ) {
    state.withLock { state in state.plan[state.passed.count + number] = error }
  }

  /// Removes all plans and all recorded steps. A process that has ended runs again.
  ///
  /// The next step has the number 1. The file isn't opened again: `SimulatedDevice.restart` does both.
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

extension FailPoints.Step {
  init(_ step: StoreStep) {
    switch step {
    case .begin: self = .begin
    case .commit: self = .commit
    case .committed: self = .committed
    }
  }
}
