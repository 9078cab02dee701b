import BothyStore
import Synchronization

/// Runs sync passes: those of different containers side by side, joined by whoever asks meanwhile, and by itself while
/// `run()` is running.
final class SyncEngine: Sendable {
  let pass: SyncPass
  /// How many passes run side by side. Those of scopes that overlap wait for one another (`ContainerLocks`).
  static let sideBySide = 4
  private let gate = Gate(width: sideBySide)
  /// How many pushes of what somebody waits for run beside the passes that are through the gate.
  static let expressWidth = 8
  private let express = Gate(width: expressWidth)
  let retries: RetryWait
  let locks = ContainerLocks()
  let statuses = Broadcast<SyncStatus>()
  let reports: ReportFeed
  private let diary: SyncDiary
  private let state: Mutex<State>
  /// Rung for each thing the run loop must look at.
  private let bell = Signal()

  private struct State: ~Copyable {
    var status = SyncStatus()
    /// The passes that run or wait for their turn, by what they are asked to do: others join them.
    var passes: [SyncPass.Request: Joined] = [:]
    /// What the passes that run now pull, by the numbers of the passes.
    var running: [Int: [PullScope]] = [:]
    var lastNumber = 0
    /// What the loop does when no pass runs.
    var resting = SyncStatus.Phase.stopped
    var isLooping = false
    /// What the loop was asked to pull: nothing in particular, or these scopes and no others.
    var asked: Asked?
  }

  private enum Asked {
    case everything
    case only([PullScope])
  }

  /// Those who joined a pass.
  private typealias Joined = [@Sendable (SyncReport) -> Void]

  /// - Parameter decided: the number of the journal's newest entry when the store was opened.
  init(pass: SyncPass, decided: Int64) {
    self.pass = pass
    reports = ReportFeed(decided: decided)
    diary = SyncDiary(pass.store, logger: pass.configuration.logger)
    retries = RetryWait(pass.configuration.backoff, clock: pass.configuration.clock)
    state = Mutex(State())
  }

  var status: SyncStatus { state.withLock { $0.status } }
  private var governor: SyncGovernor { pass.governor }
  /// Whether a pass runs or waits for its turn.
  var isBusy: Bool { state.withLock { !$0.passes.isEmpty } }
  /// Whether `run()` is running.
  var isLooping: Bool { state.withLock { $0.isLooping } }
  /// Whether it waits after failures: it tries again by itself.
  var isWaitingToRetry: Bool { isLooping && retries.end != nil }

  /// How many wait for the reports of passes that others run.
  var joinedCount: Int { state.withLock { $0.passes.values.reduce(0) { $0 + $1.count } } }

  func update(_ change: (inout SyncStatus) -> Void) {
    let status = state.withLock { state in
      change(&state.status)
      return state.status
    }
    statuses.send(status)
  }

  /// Tells how far a pass has come; what an awaited write does beside the passes is not told.
  func tell(_ progress: SyncProgress) {
    guard state.withLock({ !$0.running.isEmpty }) else { return }
    update { $0.phase = .syncing(progress) }
  }

  /// What the loop does from now on when no pass runs.
  private func rest(_ phase: SyncStatus.Phase) {
    let isBusy = state.withLock { state in
      state.resting = phase
      return !state.running.isEmpty
    }
    if !isBusy { update { $0.phase = phase } }
  }

  private func begin(_ scopes: [PullScope]) -> Int {
    let (number, all) = state.withLock { state in
      state.lastNumber += 1
      state.running[state.lastNumber] = scopes
      return (state.lastNumber, state.running.values.flatMap(\.self))
    }
    update {
      $0.phase = .syncing(SyncProgress(pushed: 0, pulled: 0, requests: 0))
      $0.syncing = all
    }
    return number
  }

  // MARK: joined passes

  /// Runs a pass, or joins one for the same request that is running or waits for its turn; entries made after that one looked for
  /// work are sent by a further round before anybody gets the report (rule R13).
  ///
  /// A pass waits for the caller where that is what a merge policy calls: it is left out. Inside of a lock of its own
  /// containers the caller gets a pass of its own; one that others wait for may wait for the lock.
  func sync(_ request: SyncPass.Request) async -> SyncReport {
    if isInside { return SyncReport(skipped: .alreadyRunning) }
    if locks.areHeldHere(request.pulls ?? [.space]) { return await begin(request, isJoined: false) }
    let joined: SyncReport? = await withCheckedContinuation { continuation in
      let isFirst = state.withLock { state -> Bool in
        guard state.passes[request] != nil else {
          state.passes[request] = []
          return true
        }
        state.passes[request]?.append { continuation.resume(returning: $0) }
        return false
      }
      if isFirst { continuation.resume(returning: nil) }
    }
    if let joined {
      // The one who ran it was cancelled; whoever joined was not.
      if joined.skipped == .cancelled && !Task.isCancelled { return await sync(request) }
      return joined
    }
    return await begin(request, isJoined: true)
  }

  /// Whether a pass waits for the caller to return.
  var isInside: Bool { gate.isInside || express.isInside }

  private func begin(_ request: SyncPass.Request, isJoined: Bool) async -> SyncReport {
    do {
      return try await locks.withSync(
        request.pulls ?? [.space], limits: ContainerLocks.Limits(pass.configuration)
      ) {
        try await gate.withGate { await lead(request, isJoined: isJoined) }
      }
    } catch {
      let reason: SkipReason =
        error is ContainerLocks.Held ? .refused(code: "\(SyncError.Code.locked)", "\(error)") : .cancelled
      let report = SyncReport(skipped: reason)
      guard isJoined else { return report }
      let joined = state.withLock { $0.passes.removeValue(forKey: request) } ?? []
      for deliver in joined { deliver(report) }
      return report
    }
  }

  /// Runs `body` while no sync runs. Throws `SyncError` `.insideSync` where a sync waits for the caller, and
  /// `CancellationError`.
  func exclusively<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
    guard !isInside else { throw SyncError.insideSync }
    return try await gate.withGate(places: .max, body)
  }

  private func lead(_ request: SyncPass.Request, isJoined: Bool) async -> SyncReport {
    let began = pass.clock.now()
    let number = begin(request.pulls ?? [.space])
    let running = SyncDiary.Running(diary, began: began, process: pass.lease.process)
    var report = await pass.run(request, running)
    var mayGoOn = true
    while true {
      let joined = isJoined ? state.withLock { $0.passes[request]?.count ?? 0 } : 0
      if mayGoOn, report.skipped == nil, joined > 0, await hasNewWork(request, report) {
        running.goOn(after: report)
        let further = await pass.run(request, running)
        report.append(further)
        mayGoOn = further.pushed > 0
      } else if let joined = isJoined ? end(request, unlessMoreThan: mayGoOn ? joined : .max) : [] {
        await note(report, began: began, running.row)
        finish(report, number, joined)
        return report
      }
    }
  }

  /// Whether entries are ready that the pass has not tried.
  private func hasNewWork(_ request: SyncPass.Request, _ report: SyncReport) async -> Bool {
    guard request.scope != .pull else { return false }
    let tried = Set(report.failures.map(\.record)).union(report.blocked.map(\.record))
    let ready = try? await pass.store.read {
      try Outbox.entries(where: "state = 0 AND retry_at <= 1", in: $0)
    }
    return ready?.contains { !tried.contains($0.record) && !request.heldTypes.contains($0.record.type) }
      ?? false  // unreadable: the next pass will say why
  }

  /// Ends the pass: returns those who joined it. Nil, with nothing done, when somebody has joined since there were
  /// `known`: what they have just written must be looked for.
  private func end(_ request: SyncPass.Request, unlessMoreThan known: Int) -> Joined? {
    state.withLock { state in
      guard state.passes[request]?.count ?? 0 <= known else { return nil }
      return state.passes.removeValue(forKey: request) ?? []
    }
  }

  /// Notes in the file how a sync ended, one that did not begin as well; see `SyncLogRule` for what is kept of it.
  func note(_ report: SyncReport, began: Int64, _ row: SyncDiary.Row? = nil) async {
    await diary.note(
      SyncRun(report, began: began, ended: pass.clock.now(), process: pass.lease.process), after: row)
  }

  /// Hands out a report, with how far the journal was then where it told of anything.
  func tell(_ report: SyncReport) {
    // Unreadable: the next report that can be placed tells what this one does not.
    let end = report.hasDecisions ? try? pass.store.read { try Journal.end(in: $0) } : nil
    reports.send(report, decided: end)
  }

  /// Tells everybody of a sync that has ended.
  private func finish(_ report: SyncReport, _ number: Int, _ joined: Joined) {
    let now = pass.clock.now()
    if report.skipped == nil { governor.completed() }
    retry(after: report)
    let (others, resting) = state.withLock { state in
      state.running[number] = nil
      return (state.running.values.flatMap(\.self), state.running.isEmpty ? state.resting : nil)
    }
    update { status in
      if let resting { status.phase = resting }
      status.syncing = others
      status.lastProblem = report.skipped
      if report.skipped == nil { status.lastCompleted = now }
    }
    tell(report)
    for deliver in joined { deliver(report) }
  }

  /// Has the loop wait after a failure, or go on after a success.
  private func retry(after report: SyncReport) {
    guard retries.note(report) else { return }
    let isWaiting = state.withLock { state in
      if case .waiting = state.resting { true } else { false }
    }
    if isWaiting { bell.ring() }
  }

  /// Says that the network is there again.
  func networkReturned() {
    retries.networkReturned()
    ask()
  }

  /// Answers for a sync that may not begin: no request is made.
  @discardableResult
  func skip(_ obstacle: SkipReason) async -> SyncReport {
    let report = SyncReport(skipped: obstacle)
    update { $0.lastProblem = obstacle }
    await note(report, began: pass.clock.now())
    return report
  }

  /// Ends syncing for good: a pass that is running ends after its present exchange, those that wait do nothing.
  /// Then `body` runs, alone; when it throws, syncing may go on.
  func shut<Result: Sendable>(_ body: () throws -> Result) async throws -> Result {
    guard !isInside else { throw SyncError.insideSync }
    guard governor.shut() else {
      throw SyncError(.signedOut, "The account is being signed out already, or was.")
    }
    do {
      let result = try await gate.withGate(places: .max) {
        try await express.withGate(places: .max) { try body() }
      }
      ask()
      return result
    } catch {
      governor.reopen()
      ask()
      throw error
    }
  }

  // MARK: awaited writes

  /// Sends what is pending of these records, or all of it, beside a sync that is running and ahead of it. What both send,
  /// they send under the same ids, so that the server carries it out once (rule R8); an answer that comes second finds its
  /// operation settled.
  func push(_ records: [RecordID]?) async -> SyncReport {
    // Called by a merge policy that such a push itself has asked.
    if express.isInside { return SyncReport(skipped: .alreadyRunning) }
    switch governor.obstacle {
    case .signedOut?, .updateRequired?: return SyncReport(skipped: governor.obstacle)
    default: break
    }
    let report: SyncReport
    do {
      report = try await express.withGate {
        await pass.run(
          SyncPass.Request(scope: .push, pulls: [], records: records, ignoresRetryTimes: true))
      }
    } catch { return SyncReport(skipped: .cancelled) }
    retry(after: report)
    tell(report)
    update { $0.lastProblem = report.skipped }
    return report
  }

  // MARK: the loop

  /// Says that there may be something to do: with scopes, in these and no others.
  func ask(only scopes: [PullScope]? = nil) {
    state.withLock { state in
      switch (state.asked, scopes) {
      case (nil, let scopes?): state.asked = .only(scopes)
      case (.only(let known)?, let scopes?):
        state.asked = .only(known + scopes.filter { !known.contains($0) })
      case (.everything?, _), (_, nil): state.asked = .everything
      }
    }
    bell.ring()
  }

  private func takeAsked(_ request: SyncPass.Request) -> SyncPass.Request {
    let asked = state.withLock { state in
      defer { state.asked = nil }
      return state.asked
    }
    var request = request
    if case .only(let scopes)? = asked { request.pulls = scopes }
    return request
  }

  /// The loop's own life: passes when asked and when work remains, waits after failures. Ends when its task is
  /// cancelled.
  func run<C: Clock>(
    request: SyncPass.Request, startsWithWork: Bool, clock: C
  ) async where C.Duration == Duration {
    retries.measure(by: clock)
    state.withLock { $0.isLooping = true }
    rest(.idle)
    defer {
      state.withLock { $0.isLooping = false }
      rest(.stopped)
    }
    var machine = SyncMachine()
    var action = machine.handle(.started(hasWork: startsWithWork))
    while !Task.isCancelled && !governor.isShut {
      switch action {
      case .startPass:
        if let obstacle = governor.obstacle {
          await skip(obstacle)
          action = machine.handle(.paused)
          continue
        }
        if retries.end != nil {
          action = machine.handle(.finished(.failed))
          continue
        }
        var request = takeAsked(request)
        request.heldTypes = governor.heldTypes
        request.isGoverned = true
        state.withLock { $0.resting = .idle }
        action = machine.handle(.finished(Self.result(of: await sync(request))))
      case .wait:
        guard await waitOut() else { return }
        action = machine.handle(governor.obstacle == nil ? .waited : .paused)
      case .none:
        rest(governor.obstacle == nil ? .idle : .paused)
        guard await bell.wait() else { return }
        let isHeld = governor.obstacle != nil
        action = machine.handle(isHeld ? .paused : .asked)
        if !isHeld, action == .none { action = machine.handle(.resumed(hasWork: true)) }
      }
    }
  }

  private static func result(of report: SyncReport) -> SyncMachine.PassResult {
    switch report.skipped {
    case nil, .cancelled: .complete
    case .some(let reason): reason.isTransient ? .failed : .blocked
    }
  }

  /// Returns when the wait after failures is over, or syncing was paused. Whoever asks meanwhile does not shorten it.
  /// False when the loop is to end.
  private func waitOut() async -> Bool {
    rest(.waiting(attempt: retries.attempt))
    while let end = retries.end {
      await ring(until: end)
      if Task.isCancelled || governor.isShut { return false }
      if governor.obstacle != nil { return true }
    }
    return true
  }

  /// Waits for a ring of the bell until then.
  private func ring(until end: Deadline) async {
    await withTaskGroup(of: Void.self) { group in
      // Cancelled means that the bell rang, or that the loop ends.
      group.addTask { try? await end.sleep() }
      group.addTask { [bell] in _ = await bell.wait() }
      await group.next()
      group.cancelAll()
    }
  }
}
