import BothyStore
import Synchronization

/// Runs sync passes: one at a time, joined by whoever asks meanwhile, and by itself while `run()` is running.
final class SyncEngine: Sendable {
  let pass: SyncPass
  let gate = Gate()
  /// One push of what somebody waits for, beside the pass that has the gate.
  private let express = Gate()
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
    state = Mutex(State())
  }

  var status: SyncStatus { state.withLock { $0.status } }
  private var governor: SyncGovernor { pass.governor }
  /// Whether a pass runs or waits for its turn.
  var isBusy: Bool { state.withLock { !$0.passes.isEmpty } }
  var isLooping: Bool { state.withLock { $0.isLooping } }

  /// How many wait for the reports of passes that others run.
  var joinedCount: Int { state.withLock { $0.passes.values.reduce(0) { $0 + $1.count } } }

  func update(_ change: (inout SyncStatus) -> Void) {
    let status = state.withLock { state in
      change(&state.status)
      return state.status
    }
    statuses.send(status)
  }

  // MARK: joined passes

  /// Runs a pass, or joins one for the same request that is running or waits for its turn; entries made after that one looked for
  /// work are sent by a further round before anybody gets the report (rule R13).
  func sync(_ request: SyncPass.Request) async -> SyncReport {
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
    do {
      return try await locks.withSync(
        request.pulls ?? [.space], maxWait: pass.configuration.maxWait, clock: pass.configuration.clock
      ) {
        try await gate.withGate { await lead(request) }
      }
    } catch {
      var report = SyncReport()
      report.skipped = .cancelled
      let joined = state.withLock { $0.passes.removeValue(forKey: request) } ?? []
      for deliver in joined { deliver(report) }
      return report
    }
  }

  private func lead(_ request: SyncPass.Request) async -> SyncReport {
    let began = pass.clock.now()
    update {
      $0.phase = .syncing(SyncProgress(pushed: 0, pulled: 0, requests: 0))
      $0.syncing = request.pulls ?? [.space]
    }
    let running = SyncDiary.Running(diary, began: began, process: pass.lease.process)
    var report = await pass.run(request, running)
    var mayGoOn = true
    while true {
      let joined = state.withLock { $0.passes[request]?.count ?? 0 }
      if mayGoOn, report.skipped == nil, joined > 0, await hasNewWork(request, report) {
        running.goOn(after: report)
        let further = await pass.run(request, running)
        report.append(further)
        mayGoOn = further.pushed > 0
      } else if let joined = end(request, unlessMoreThan: mayGoOn ? joined : .max) {
        await note(report, began: began, running.row)
        finish(report, joined)
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
  private func finish(_ report: SyncReport, _ joined: Joined) {
    let now = pass.clock.now()
    let isLooping = isLooping
    if report.skipped == nil { governor.completed() }
    update { status in
      status.phase = isLooping ? .idle : .stopped
      status.syncing = []
      status.lastProblem = report.skipped
      if report.skipped == nil { status.lastCompleted = now }
    }
    tell(report)
    for deliver in joined { deliver(report) }
  }

  /// Answers for a sync that may not begin: no request is made.
  @discardableResult
  func skip(_ obstacle: SkipReason) async -> SyncReport {
    var report = SyncReport()
    report.skipped = obstacle
    update { $0.lastProblem = obstacle }
    await note(report, began: pass.clock.now())
    return report
  }

  /// Ends syncing for good: a pass that is running ends after its present exchange, those that wait do nothing.
  /// Then `body` runs, alone; when it throws, syncing may go on.
  func shut<Result: Sendable>(_ body: () throws -> Result) async throws -> Result {
    guard governor.shut() else {
      throw SyncError(.signedOut, "The account is being signed out already, or was.")
    }
    do {
      let result = try await gate.withGate { try await express.withGate { try body() } }
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
    var report = SyncReport()
    switch governor.obstacle {
    case .signedOut?, .updateRequired?:
      report.skipped = governor.obstacle
      return report
    default: break
    }
    do {
      report = try await express.withGate {
        await pass.run(
          SyncPass.Request(scope: .push, pulls: [], records: records, ignoresRetryTimes: true))
      }
    } catch {
      report.skipped = .cancelled
      return report
    }
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

  /// The loop's own life: passes when asked and when work remains, waits between failures. Ends when its task is
  /// cancelled.
  func run<C: Clock>(
    request: SyncPass.Request, startsWithWork: Bool, clock: C
  ) async where C.Duration == Duration {
    state.withLock { $0.isLooping = true }
    update { $0.phase = .idle }
    defer {
      state.withLock { $0.isLooping = false }
      update { $0.phase = .stopped }
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
        var request = takeAsked(request)
        request.heldTypes = governor.heldTypes
        request.isGoverned = true
        let report = await sync(request)
        action = machine.handle(.finished(await result(of: report)))
      case .wait(let attempt, let atLeast):
        update { $0.phase = .waiting(attempt: attempt) }
        let delay = pass.configuration.backoff.delay(attempt: attempt)
        let leastDelay = Duration.seconds(atLeast ?? 0)
        // Nobody's wish shortens the time that the server asked for.
        do { try await clock.sleep(until: clock.now.advanced(by: leastDelay), tolerance: nil) } catch {
          return
        }
        let isAsked = await wasAsked(within: max(.zero, delay - leastDelay), clock)
        action = machine.handle(isAsked ? .asked : .timerFired)
      case .none:
        update { $0.phase = self.governor.obstacle == nil ? .idle : .paused }
        guard await bell.wait() else { return }
        let isHeld = governor.obstacle != nil
        action = machine.handle(isHeld ? .paused : .asked)
        if !isHeld, action == .none { action = machine.handle(.resumed(hasWork: true)) }
      }
    }
  }

  private func result(of report: SyncReport) async -> SyncMachine.PassResult {
    switch report.skipped {
    case nil: return .complete
    case .some(let reason) where reason.isTransient: return .failed(retryAfter: report.retryAfter)
    case .cancelled: return .complete
    case .some: return .blocked
    }
  }

  /// Waits for the delay or for somebody to ask, whichever comes first.
  private func wasAsked<C: Clock>(within delay: Duration, _ clock: C) async -> Bool
  where C.Duration == Duration {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        // Cancelled means that somebody asked, or that the loop ends.
        try? await clock.sleep(until: clock.now.advanced(by: delay), tolerance: nil)
        return false
      }
      group.addTask { [bell] in await bell.wait() }
      let first = await group.next() ?? false
      group.cancelAll()
      return first
    }
  }
}
