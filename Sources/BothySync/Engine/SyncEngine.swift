import BothyStore
import Foundation
import Synchronization

/// Runs syncs, and starts them by itself while `run()` is running. Syncs of different containers run side by side, and
/// callers join those that run.
final class SyncEngine: Sendable {
  let runner: SyncRunner
  /// The number of syncs that run side by side. Those whose scopes overlap wait for one another (`ContainerLocks`).
  static let sideBySide = 4
  private let permits = AsyncSemaphore(width: sideBySide)
  /// The number of awaited pushes that run beside the syncs that hold a permit.
  static let expressWidth = 8
  private let express = AsyncSemaphore(width: expressWidth)
  let retries: RetryWait
  let locks = ContainerLocks()
  let statuses = Broadcast<SyncStatus>()
  let reports: ReportFeed
  private let history: SyncHistoryWriter
  private let state: Mutex<State>
  private let syncs = JoinedSyncs()
  /// Rings for each event that the run loop must handle.
  private let bell = Signal()
  /// Lets one loop run at a time, as one task can wait for the bell.
  let loops = AsyncSemaphore()

  private struct State: ~Copyable {
    var status = SyncStatus()
    /// The scopes that the running syncs pull, and their progress, by the numbers of the syncs.
    var running: [Int: (scopes: [SyncScope], progress: SyncStatus.Progress)] = [:]
    var total: SyncStatus.Progress { SyncStatus.Progress(of: running.values.map { $0.progress }) }
    var lastNumber = 0
    /// The loop's phase when no sync runs.
    var resting = SyncStatus.Phase.stopped
    var isLooping = false
    /// The scopes that the loop was asked to pull, or all.
    var asked: Asked?
  }

  private enum Asked {
    case everything
    case only([SyncScope])
  }

  /// - Parameter decided: the number of the journal's newest entry when the store was opened.
  init(runner: SyncRunner, decided: Int64) {
    self.runner = runner
    reports = ReportFeed(decided: decided)
    history = SyncHistoryWriter(runner.store, logger: runner.configuration.logger)
    retries = RetryWait(runner.configuration.backoff, clock: runner.configuration.clock)
    state = Mutex(State())
  }

  var status: SyncStatus { state.withLock { $0.status } }
  private var governor: SyncConditions { runner.governor }
  /// True if a sync runs or waits for its turn.
  var isBusy: Bool { !syncs.isEmpty }
  /// True if `run()` is running.
  var isLooping: Bool { state.withLock { $0.isLooping } }
  /// True if the loop waits after failures, and tries again by itself.
  var isWaitingToRetry: Bool { isLooping && retries.end != nil }

  /// The number of callers that wait for the reports of others' syncs.
  var joinedCount: Int { syncs.waitingCount }

  func update(_ change: (inout SyncStatus) -> Void) {
    state.withLock { change(&$0.status) }
    publish()
  }

  /// Publishes the status after a change. It is read when it is sent, so that the last one is that of the last change.
  private func publish() { statuses.send(status) }

  /// Publishes the progress of a sync, together with that of the others that run.
  private func tell(_ progress: SyncStatus.Progress, of number: Int) {
    state.withLock { state in
      state.running[number]?.progress = progress
      state.status.phase = .syncing(state.total)
    }
    publish()
  }

  /// Sets the loop's phase for the times when no sync runs.
  private func rest(_ phase: SyncStatus.Phase) {
    state.withLock { state in
      state.resting = phase
      if state.running.isEmpty { state.status.phase = phase }
    }
    publish()
  }

  /// Notes the scopes of a sync that begins, or goes on with more. Returns its number.
  private func begin(_ scopes: [SyncScope], _ known: Int?) -> Int {
    let number = state.withLock { state in
      if known == nil { state.lastNumber += 1 }
      let number = known ?? state.lastNumber
      state.running[number] = (scopes, state.running[number]?.progress ?? SyncStatus.Progress())
      state.status.phase = .syncing(state.total)
      state.status.syncing = state.running.values.flatMap { $0.scopes }
      return number
    }
    publish()
    return number
  }

  // MARK: joined passes

  /// Runs a sync, or joins one for an equal request that is running or waits for its turn. Entries written after that
  /// one read the outbox are sent by a further round before callers get the report.
  ///
  /// A sync waits for a caller that runs in its merge policy: the caller's sync is skipped. Inside of a lock of its
  /// containers the caller gets its own sync, as a joined one may wait for the lock.
  func sync(_ named: SyncRunner.Request) async -> SyncReport {
    var request = named
    request.pulls = request.pulls.map { runner.store.catalog.wireNames.present($0) }
    if isInside { return SyncReport(stop: .alreadyRunning) }
    if locks.areHeldHere(request.pulls ?? [.everything]) { return await begin(request, isJoined: false) }
    if let joined = await syncs.join(request) {
      // The caller that ran it was cancelled; those that joined it were not.
      if joined.stop == .cancelled && !Task.isCancelled { return await sync(request) }
      return joined
    }
    return await begin(request, isJoined: true)
  }

  /// True if a sync waits for the caller to return.
  var isInside: Bool { permits.isInside || express.isInside }

  private func begin(_ request: SyncRunner.Request, isJoined: Bool) async -> SyncReport {
    var pass = RunningSync(request, isJoined: isJoined)
    do {
      while !pass.isEnded {
        let begun = pass
        pass = try await locks.withSync(
          begun.locked, limits: ContainerLocks.Limits(runner.configuration)
        ) {
          try await permits.withPermit { await lead(begun) }
        }
      }
    } catch {
      let reason: SyncStop =
        error is ContainerLocks.Held ? .refused(code: "\(BothyError.Code.locked)", "\(error)") : .cancelled
      pass.report.stop = reason
      await end(pass, isJoined ? syncs.end(request) ?? [] : [])
    }
    return pass.report
  }

  /// Runs `body` while no sync runs. Throws `BothyError` `insideSync` if a sync waits for the caller, and
  /// `CancellationError`.
  func exclusively<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
    guard !isInside else { throw BothyError.insideSync }
    return try await permits.withPermit(places: .max, body)
  }

  /// Runs a sync until it ends, or until it needs the locks of more scopes.
  private func lead(_ begun: RunningSync) async -> RunningSync {
    var (pass, runner) = (begun, runner)
    let number = begin(pass.scopes, pass.number)
    pass.number = number
    runner.progress = { [self] in tell($0, of: number) }
    if pass.running == nil {
      let began = runner.clock.now()
      pass.running = SyncHistoryWriter.Running(history, began: began, process: runner.lease.process)
    }
    await pass.advance(runner)
    while pass.lacking.isEmpty {
      let joined = pass.isJoined ? syncs.total(pass.request) : 0
      let known = pass.mayGoOn ? joined : .max
      if pass.mayGoOn, pass.report.stop == nil, joined > 0, await hasNewWork(pass.request, pass.report) {
        await pass.advance(runner)
      } else if let joined = pass.isJoined ? syncs.end(pass.request, unlessMoreThan: known) : [] {
        await end(pass, joined)
        pass.isEnded = true
        return pass
      }
    }
    return pass
  }

  /// Notes the end of a sync, and delivers its report. A sync that has not begun isn't noted.
  private func end(_ pass: RunningSync, _ joined: [Wait<SyncReport>]) async {
    guard let number = pass.number, let running = pass.running else {
      for wait in joined { wait.end(with: .success(pass.report)) }
      return
    }
    await note(pass.report, began: running.began, running.row)
    finish(pass.report, number, joined)
  }

  /// True if entries are ready that the sync has not tried. This sync has ended its own waits for blobs, so one that waits
  /// is left by another sync.
  private func hasNewWork(_ request: SyncRunner.Request, _ report: SyncReport) async -> Bool {
    guard request.scope != .pull else { return false }
    let tried = Set(report.rejected.map(\.record)).union(report.blocked.map(\.record))
    let ready = try? await runner.store.read {
      try OutboxQueue.entries(
        where: "state = 0 AND (retry_at <= 1 OR retry_at = \(OutboxQueue.waitingForBlobs))", in: $0)
    }
    return ready?.contains { !tried.contains($0.id) && !request.heldTypes.contains($0.id.type) }
      ?? false  // unreadable: the next sync reports why
  }

  /// Notes in the file how a sync ended, also one that did not begin. `SyncHistoryRule` decides how much is kept.
  func note(_ report: SyncReport, began: Int64, _ row: SyncHistoryWriter.Row? = nil) async {
    let (end, process) = (runner.clock.now(), runner.lease.process)
    await history.note(.init(report, began: began, ended: end, process: process), after: row)
  }

  /// Delivers a report, with the journal's position if the report has decisions.
  func tell(_ report: SyncReport) {
    // Unreadable: the next report with a position covers this one.
    let end = report.hasDecisions ? try? runner.store.read { try Journal.end(in: $0) } : nil
    reports.send(report, decided: end)
  }

  /// Notifies all listeners of a sync that has ended.
  private func finish(_ report: SyncReport, _ number: Int, _ joined: [Wait<SyncReport>]) {
    let now = runner.clock.now()
    if report.stop == nil { governor.completed() }
    retry(after: report)
    state.withLock { state in
      state.running[number] = nil
      state.status.phase = state.running.isEmpty ? state.resting : .syncing(state.total)
      state.status.syncing = state.running.values.flatMap { $0.scopes }
      state.status.lastStop = report.stop
      if report.stop == nil { state.status.lastSync = Date(timeIntervalSince1970: Double(now) / 1000) }
    }
    publish()
    tell(report)
    for wait in joined { wait.end(with: .success(report)) }
  }

  /// Has the loop wait after a failure, or continue after a success.
  private func retry(after report: SyncReport) {
    guard retries.note(report) else { return }
    let isWaiting = state.withLock { state in
      if case .waiting = state.resting { true } else { false }
    }
    if isWaiting { bell.ring() }
  }

  /// Notes that the network is present again.
  func networkReturned() {
    retries.networkReturned()
    request()
  }

  /// Returns the report of a sync that may not begin. Makes no request.
  @discardableResult
  func skip(_ obstacle: SyncStop) async -> SyncReport {
    let report = SyncReport(stop: obstacle)
    update { $0.lastStop = obstacle }
    await note(report, began: runner.clock.now())
    return report
  }

  /// Ends syncing for good. A running sync ends after its present exchange, and waiting ones do nothing. Then `body`
  /// runs alone. If it throws, syncing may continue.
  func shut<Result: Sendable>(_ body: () throws -> Result) async throws -> Result {
    guard !isInside else { throw BothyError.insideSync }
    guard governor.shut() else {
      throw BothyError(.signedOut, "The account was signed out, or is just now. Open it again to use it.")
    }
    do {
      let result = try await permits.withPermit(places: .max) {
        try await express.withPermit(places: .max) { try body() }
      }
      governor.end()
      request()
      return result
    } catch {
      governor.reopen()
      request()
      throw error
    }
  }

  // MARK: awaited writes

  /// Sends pending changes of these records, or all of them, beside a running sync and ahead of it. Both use equal
  /// operation ids, so that the server applies an operation once. The answer that comes second finds its operation
  /// settled. A filled push sends other ready changes in the same request, unless a sync sends them. Without records it
  /// sends what a sync may send now.
  func push(_ records: [RecordID]?, isFilled: Bool = false) async -> SyncReport {
    // The caller is a merge policy that such a push called.
    if express.isInside { return SyncReport(stop: .alreadyRunning) }
    switch governor.obstacle {
    case .signedOut?, .updateRequired?: return SyncReport(stop: governor.obstacle)
    default: if records == nil, let obstacle = governor.obstacle { return SyncReport(stop: obstacle) }
    }
    let request = SyncRunner.Request(
      scope: .push, pulls: [], records: records, isFilled: isFilled, ignoresRetryTimes: true,
      heldTypes: records == nil ? governor.heldTypes : [])
    var report: SyncReport
    do {
      report = try await express.withPermit { await runner.run(request).report }
      // A push compares nothing. A sync does, unless it is not allowed or the server is another one.
      let comparison = SyncRunner.Request(scope: .pull, isGoverned: true, isComparing: true)
      if report.obstacle == .otherServer, await sync(comparison).stop == nil {
        report = try await express.withPermit { await runner.run(request).report }
      }
    } catch { return SyncReport(stop: .cancelled) }
    retry(after: report)
    tell(report)
    update { $0.lastStop = report.stop }
    return report
  }

  // MARK: the loop

  /// Notes that there may be something to sync. With scopes, only these are synced.
  func request(only scopes: [SyncScope]? = nil) {
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

  private func takeAsked(_ request: SyncRunner.Request) -> SyncRunner.Request {
    let asked = state.withLock { state in
      defer { state.asked = nil }
      return state.asked
    }
    var request = request
    if case .only(let scopes)? = asked { request.pulls = scopes }
    return request
  }

  /// Runs syncs on request and while changes are pending, and waits after failures. Ends when its task is cancelled.
  func run<C: Clock>(
    request: SyncRunner.Request, startsWithWork: Bool, clock: C
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
    while !Task.isCancelled && !governor.isOver {
      switch action {
      case .startRun:
        if let obstacle = await governor.obstacle(in: runner.store) {
          if obstacle != .signedOut { await skip(obstacle) }
          action = machine.handle(.paused)
          continue
        }
        if retries.end != nil {
          action = machine.handle(.failed)
          continue
        }
        var request = takeAsked(request)
        request.heldTypes = governor.heldTypes
        request.isGoverned = true
        state.withLock { $0.resting = .idle }
        action = machine.handle(await sync(request).stop?.isTransient == true ? .failed : .finished)
      case .wait:
        guard await waitOut() else { return }
        action = machine.handle(await governor.obstacle(in: runner.store) == nil ? .waited : .paused)
      case .none:
        rest(governor.obstacle == nil ? .idle : .paused)
        guard await bell.wait() else { return }
        action = machine.handle(await governor.obstacle(in: runner.store) == nil ? .asked : .paused)
      }
    }
  }

  /// Returns when the wait after failures is over, or syncing was paused. Requests meanwhile don't shorten it. Returns
  /// false if the loop must end.
  private func waitOut() async -> Bool {
    rest(.waiting(attempt: retries.attempt))
    while let end = retries.end {
      await ring(until: end)
      if Task.isCancelled || governor.isOver { return false }
      if governor.obstacle != nil { return true }
    }
    return true
  }

  /// Waits until the bell rings or the deadline passes.
  private func ring(until end: Deadline) async {
    await withTaskGroup(of: Void.self) { group in
      // Cancellation means that the bell rang, or that the loop ends.
      group.addTask { try? await end.sleep() }
      group.addTask { [bell] in _ = await bell.wait() }
      await group.next()
      group.cancelAll()
    }
  }
}
