import Synchronization

/// A `Clock` whose time a test moves, and which lists the tasks that sleep. No test waits in real time.
///
/// ```swift
/// let (time, clock) = (VirtualTime(), VirtualClock())
/// let store = try SyncedStore.inMemory([Todo.self], remote: server, time: time, clock: clock)
/// let running = Task { await store.run() }
/// await clock.waitForSleepers()
/// clock.advance(by: .seconds(2))
/// running.cancel()
/// ```
///
/// It is independent of `VirtualTime`, the time of day. May be used from any task.
public final class VirtualClock: Clock, Sendable {
  /// A moment of a virtual clock.
  ///
  /// Moments of different clocks can be compared, which has no meaning.
  public struct Instant: InstantProtocol {
    /// The time since the clock was made.
    ///
    /// It is the sum of all `advance(by:)`, and no real time.
    public var offset: Duration
    /// The moment so much later, or earlier for a negative duration.
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    /// The time from this moment to the other; negative when the other is earlier.
    public func duration(to other: Instant) -> Duration { other.offset - offset }
    /// True if the left moment is earlier.
    public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct State {
    var now = Instant(offset: .zero)
    var sleepers: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    var cancelled: Set<Int> = []
    var nextID = 0
  }

  private let state = Mutex(State())

  /// A clock at zero.
  ///
  /// It begins without sleepers, and every clock has its own.
  public init() {}

  /// The time that the test has moved the clock to; it never moves by itself.
  public var now: Instant { state.withLock { $0.now } }
  /// A nanosecond.
  ///
  /// Shorter parts of a duration are kept and compared all the same.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// The deadlines of sleeping tasks as durations from now, soonest first.
  ///
  /// Empty if no task sleeps. Several tasks with one deadline have an element each.
  public var sleepers: [Duration] {
    state.withLock { state in state.sleepers.values.map { state.now.duration(to: $0.deadline) }.sorted() }
  }

  /// Waits until `advance` reaches the deadline; returns at once when it has.
  ///
  /// Tasks that wait in `waitForSleepers(_:)` for one sleeper more are resumed. Without an `advance(by:)` the wait
  /// never ends.
  ///
  /// - Parameter tolerance: ignored.
  /// - Throws: `CancellationError` when the task is cancelled before or meanwhile, also if the deadline has passed.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let (result, watchers) = state.withLock {
          state -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) in
          if state.cancelled.remove(id) != nil { return (.failure(CancellationError()), []) }
          if deadline <= state.now { return (.success(()), []) }
          state.sleepers[id] = (deadline, continuation)
          let ready = state.watchers.filter { $0.count <= state.sleepers.count }
          let left = state.sleepers.count
          state.watchers.removeAll { $0.count <= left }
          return (nil, ready.map(\.continuation))
        }
        for watcher in watchers { watcher.resume() }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let sleeper = state.withLock { state -> CheckedContinuation<Void, any Error>? in
        guard let sleeper = state.sleepers.removeValue(forKey: id) else {
          state.cancelled.insert(id)
          return nil
        }
        return sleeper.continuation
      }
      sleeper?.resume(throwing: CancellationError())
    }
  }

  /// Waits until at least `count` tasks sleep.
  ///
  /// It returns at once if they do. A cancelled task waits all the same, forever if too few tasks sleep. One of the
  /// sleepers may have been woken by the time that it returns.
  public func waitForSleepers(_ count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state -> Bool in
        if state.sleepers.count >= count { return true }
        state.watchers.append((count, continuation))
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  /// Moves the time forward, and wakes the tasks whose deadlines have come.
  ///
  /// It returns before they run on. They are woken in the order of their deadlines, and may run in another. A negative
  /// duration moves the time back and wakes none.
  public func advance(by duration: Duration) {
    let due = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
      state.now = state.now.advanced(by: duration)
      let now = state.now
      let due = state.sleepers.filter { $0.value.deadline <= now }
      for id in due.keys { state.sleepers[id] = nil }
      return due.sorted { $0.value.deadline < $1.value.deadline }.map(\.value.continuation)
    }
    for sleeper in due { sleeper.resume() }
  }
}
