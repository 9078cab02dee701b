import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// The events that start a sync, each with a trigger that can be switched off.
@Suite("Triggers", .timeLimit(.minutes(15)))
struct TriggerTests {
  /// An event while `run()` is active.
  enum Cause: CaseIterable, Sendable {
    case save, commit, timer, reachability, foreground, notification

    var trigger: SyncOptions.Triggers {
      switch self {
      case .save: .save
      case .commit: .commit
      case .timer: .timer
      case .reachability: .reachability
      case .foreground: .foreground
      case .notification: .notifications
      }
    }
  }

  private struct Running {
    let pair: Pair
    let clock: VirtualClock
    let monitor: ScriptedReachability
    let task: Task<Void, Never>

    var a: SimulatedDevice { pair.a }

    func stop() async {
      task.cancel()
      await task.value
    }
  }

  /// Runs A with a change that was pending before.
  private func start(_ triggers: SyncOptions.Triggers) async throws -> Running {
    let pair = try await Pair.sharing { $0.triggers = triggers }
    try pair.a.insert("before", "pending")
    let (store, clock, monitor) = (pair.a.store, VirtualClock(), ScriptedReachability())
    let task = Task { await store.run(reachability: monitor, clock: clock) }
    try await until { store.status.phase != .stopped }
    if triggers.contains(.timer) { await clock.waitForSleepers() }
    if triggers.contains(.notifications) {
      // The stream begins with a notification, which starts a sync.
      try await until { !pair.a.remote.requests.isEmpty && store.status.phase == .idle }
      pair.a.remote.forgetRequests()
    }
    return Running(pair: pair, clock: clock, monitor: monitor, task: task)
  }

  /// Gives all tasks with work the time to do it.
  private func settle() async { for _ in 0..<1000 { await Task.yield() } }

  /// Lets the event happen, and then the time pass in which its trigger would start a sync.
  private func cause(_ cause: Cause, _ running: Running) async throws {
    switch cause {
    case .save: try await running.a.store.save(Note(id: "saved", "n"))
    case .commit: try running.a.insert("committed", "n")
    case .timer: running.clock.advance(by: .seconds(600))
    case .reachability:
      running.monitor.send(.reachable)
      try await until { running.a.store.status.network == .reachable }
    case .foreground:
      running.a.store.options.isForeground = false
      running.a.store.options.isForeground = true
    case .notification: running.a.remote.notify()
    }
    await settle()
    if cause == .commit || cause == .reachability {
      running.clock.advance(by: .seconds(1))
      await settle()
    }
  }

  /// Promises: N-38
  @Test("The only trigger that is on starts a sync, and no other event does", arguments: Cause.allCases)
  func alone(_ only: Cause) async throws {
    let running = try await start(only.trigger)
    let a = running.a
    // A save is a commit as well.
    for other in Cause.allCases where other != only && !(only == .commit && other == .save) {
      try await cause(other, running)
      #expect(a.remote.requests.isEmpty, "\(other)")
    }
    switch only {
    case .commit:
      // Writes are observed only once the watch on them has begun.
      var written = 0
      while running.clock.sleepers.isEmpty {
        written += 1
        try a.insert("committed\(written)", "n")
        await Task.yield()
      }
      running.clock.advance(by: .seconds(1))
    case .reachability:
      running.monitor.send(.reachable)
      await running.clock.waitForSleepers()
      running.clock.advance(by: .seconds(1))
    default: try await cause(only, running)
    }
    try await until { try a.store.outboxEntries().isEmpty }
    await running.stop()
  }

  /// Promises: N-38
  @Test("With all triggers off no event starts a sync")
  func off() async throws {
    let running = try await start([])
    for event in Cause.allCases { try await cause(event, running) }
    #expect(running.a.remote.requests.isEmpty)
    await running.stop()
    #expect(await running.a.store.sync().pushed == 3)
  }
}
