import BothyStore
import Logging

/// One sync from beginning to end: exchanges until nothing is ready to be sent and no page is missing.
///
/// Each exchange is one transaction to make the batch, one round trip, and one transaction to apply the answer.
/// A crash between any two of these leaves a state from which the next pass goes on.
struct SyncPass: Sendable {
  let store: Store
  let remote: any RemoteStorage
  private(set) var configuration: SyncConfiguration
  let clock: SyncClock
  let device: String
  let blobs: BlobFolder
  let governor: SyncGovernor
  /// Whose file it is: the server refuses requests that come with somebody else's token.
  let owner: AccountID?
  let followed: FollowedScopes
  let lease = SyncLease()
  let heard = HeardScopes()
  let sent = SentValues()
  /// Saves of one record that go to the server first do so one after the other.
  let turns = KeyedGate<RecordID>()
  /// What is pending is sent by one sync at a time: another that runs beside it finds it settled.
  private let sending = Gate()
  /// Called after each exchange and each part of a blob.
  let progress: @Sendable (SyncProgress) -> Void

  struct Request: Sendable, Hashable {
    var scope: SyncScope
    /// Nil stands for all scopes that are followed when the pass begins.
    var pulls: [PullScope]?
    /// Only these records, or nil for all that is ready.
    var records: [RecordID]?
    /// Whether entries that wait for a retry time are sent too.
    var ignoresRetryTimes = false
    /// Types whose changes are not sent.
    var heldTypes: Set<String> = []
    /// Whether it ends before its next request when syncing is paused meanwhile, or the network becomes one that
    /// the sync policy excludes.
    var isGoverned = false
    /// Whether nothing is sent before the server's history was compared with what is here.
    var isComparing = false
  }

  /// A pass that may not go on, and why.
  private struct Held: Error { var reason: SkipReason }

  /// Called before each request. Throws when a governed pass may not go on.
  func checkMayGoOn(_ request: Request) throws {
    try Task.checkCancellation()
    if governor.isShut { throw Held(reason: .signedOut) }
    if request.isGoverned, let obstacle = governor.obstacle { throw Held(reason: obstacle) }
  }

  /// More exchanges without progress than this would mean that two parties keep undoing each other.
  static let fruitlessLimit = 25
  static let noProgress = RemoteError(
    .serverError,
    "The server answers, and its answers bring the sync no further. Try again; if that stays so, look at the server's "
      + "log.", code: "noProgress")

  /// Whether other processes may sync the file.
  var isShared: Bool { store.options.processes != .single }

  /// Throws nothing: whatever ends the pass early is in the report, and all that was done stays done.
  ///
  /// Where nothing is new on either side it makes one request and no commit. Otherwise each exchange makes one commit
  /// with what is sent, if anything is, and one with what the answer brought.
  ///
  /// - Parameter run: the row of the log that the exchanges keep up to date.
  func run(_ request: Request, _ run: SyncDiary.Running? = nil) async -> SyncReport {
    // What is set meanwhile is for the next one.
    var pass = self
    pass.configuration = governor.inForce(configuration)
    return await pass.carryOut(request, run)
  }

  private func carryOut(_ request: Request, _ run: SyncDiary.Running?) async -> SyncReport {
    if isShared { await awaitLease() }
    lease.begin()
    let report = await PassAllowance.$current.withValue(PassAllowance()) { await exchanges(request, run) }
    // A pass that ended early may hold it still. Not given up, it ends by the clock.
    if lease.end() && lease.isHeld { try? await store.write(origin: .remote) { try lease.release(in: $0) } }
    await remember(report.skipped)
    for failure in report.failures {
      configuration.logger.notice(
        "The server refused a change.",
        metadata: [
          "record": "\(failure.record)", "operation": "\(failure.operation)", "code": "\(failure.code)",
          "reason": "\(failure.message)",
        ])
    }
    return report
  }

  /// Waits while another process syncs the file, for at most `maxWait`: then both do, which costs work and harms
  /// nothing. Reads only: the lease is taken with the first thing that is written.
  private func awaitLease() async {
    var left = configuration.maxWait
    while left > .zero, !Task.isCancelled {
      let now = clock.now()
      // Nil when no other process holds it; unreadable: the exchange will say why.
      guard let end = try? await store.read({ try lease.end(ofOthersAt: now, in: $0) }) else { return }
      let wait = min(left, .milliseconds(max(1, min(100, end - now))))
      // Cancelled: the exchange will say so.
      try? await configuration.clock.sleep(for: wait)
      left -= wait
    }
  }

  private func exchanges(_ request: Request, _ run: SyncDiary.Running?) async -> SyncReport {
    var (request, report) = (request, SyncReport())
    var pulls = request.scope == .push ? [] : await pulls(for: request)
    var (open, fruitless, startedOver, comparisons) = (pulls, 0, false, 0)
    var uploads = BlobUploads(self, request)
    var wanted: Set<String> = []
    // What is refused during the pass is not tried again by it.
    let due = clock.now()
    report.skipped = await clearRetryTimes(for: request)
    if report.skipped == nil { report.skipped = await reasonToStayApart(&report) }
    if report.skipped != nil { return report }
    while true {
      do {
        try checkMayGoOn(request)
        let step = try await exchange(request, &pulls, due: due, &open, &report, run)
        if open.isEmpty { request.isComparing = false }
        wanted.formUnion(step.wantedBlobs)
        fruitless = step.madeProgress ? 0 : fruitless + 1
        if fruitless > Self.fruitlessLimit { throw Self.noProgress }
        // Blobs travel when all else is done, a few parts at a time, so that they hold up nobody.
        guard step.isDone else { continue }
        if try await refetch(pulls, &report) {
          open = pulls
          continue
        }
        let requests = report.requests
        guard try await uploads.advance(step.blobs, &report) else {
          try await BlobHealing(pass: self).run(wanted, request, &report)
          for scope in report.rebased { try await verify(scope, &report) }
          return report
        }
        if report.requests > requests { fruitless = 0 }
      } catch let error as RemoteError
        where error.code == BoundRemote.otherHistory && !request.isComparing && comparisons < 3
      {
        (request.isComparing, comparisons) = (true, comparisons + 1)
        pulls = await self.pulls(for: request)
        open = pulls
      } catch let loss as HistoryLoss {
        report.skipped = .otherServer(ServerHistory.loss(loss.count))
        return report
      } catch let error as RemoteError {
        if error.isUnknownCursor && !startedOver && request.scope != .push {
          startedOver = true
          if await startOver(pulls) {
            open = pulls
            continue
          }
        }
        report.skipped = Task.isCancelled ? .cancelled : SkipReason(error)
        report.retryAfter = error.retryAfter
        return report
      } catch let held as Held {
        report.skipped = held.reason
        return report
      } catch {
        report.skipped = Self.reason(for: error)
        return report
      }
    }
  }

  /// Why a pass ends that could not go on here. A store says in its own words that a task was cancelled.
  private static func reason(for error: any Error) -> SkipReason {
    Task.isCancelled || error is CancellationError ? .cancelled : .refused(code: "local", "\(error)")
  }

  private struct Step: Sendable {
    var isDone: Bool
    var madeProgress: Bool
    /// The blobs that records wait for.
    var blobs: [BlobNeed]
    /// The blobs that the server lacks.
    var wantedBlobs: [String] = []
  }

  private func exchange(
    _ request: Request, _ pulls: inout [PullScope], due: Int64, _ open: inout [PullScope],
    _ report: inout SyncReport, _ run: SyncDiary.Running?
  ) async throws -> Step {
    // What somebody waits for goes ahead of everything else.
    guard request.scope != .pull, request.pulls?.isEmpty != true else {
      let plan = try await plan(request, pulls, due: due, open)
      return try await exchange(plan, request, &pulls, &open, &report, run)
    }
    let (step, plan) = try await sending.withGate { () -> (Step?, Plan) in
      let plan = try await self.plan(request, pulls, due: due, open)
      if plan.batch.items.isEmpty { return (nil, plan) }
      return (try await exchange(plan, request, &pulls, &open, &report, run), plan)
    }
    if let step { return step }
    return try await exchange(plan, request, &pulls, &open, &report, run)
  }

  private func exchange(
    _ plan: Plan, _ request: Request, _ pulls: inout [PullScope], _ open: inout [PullScope],
    _ report: inout SyncReport, _ run: SyncDiary.Running?
  ) async throws -> Step {
    report.repaired += plan.batch.repaired
    report.failures += plan.failures
    report.blocked = plan.batch.blocked.map { Blocked(record: $0.record, by: $0.by) }
    if plan.batch.items.isEmpty && plan.request.pulls.isEmpty {
      return Step(isDone: true, madeProgress: false, blobs: plan.batch.blobs)
    }
    var sent = plan.request
    let separated = try SecretWork(store: store)
      .separated(sent.operations, isConfidential: remote.isConfidential)
    sent.operations = separated.operations
    var response: SyncResponse
    do { response = try await answer(to: sent, of: plan.batch, &report) } catch {
      try await recall(plan.batch, after: error)
      throw error
    }
    response.outcomes += separated.withheld
    response.pages.removeAll { !plan.asks(for: $0) }
    let decisions = try await Conflicts(store: store, configuration: configuration, clock: clock)
      .decide(plan.batch, response)
    try Task.checkCancellation()
    let applied = try await apply(plan, response, decisions, run, after: report)
    let step = applied.report
    report.add(step)
    let asked = open.count
    open.removeAll { applied.upToDate.contains($0) }
    // What was pulled once more has no cursor of its own.
    pulls.removeAll { applied.upToDate.contains($0) && !requested(request).contains($0) }
    let cameNearer = open.count < asked
    open += response.pages.map(\.scope).filter { !applied.upToDate.contains($0) && !open.contains($0) }
    if applied.waitsForPages && pulls.isEmpty {
      pulls = followed.current
      open = pulls
    }
    // What is in doubt is known only after a push.
    if request.scope == .pull { open.removeAll { applied.putOff.contains($0) } }
    progress(SyncProgress(pushed: report.pushed, pulled: report.pulled, requests: report.requests))
    let givesBack = request.scope != .pull && !step.givenBack.isEmpty
    let sendsMore = plan.holdsBack || !plan.batch.items.isEmpty || givesBack
    let changed =
      step.pushed > 0 || step.pulled > 0 || response.pages.contains { plan.brings($0) }
      || !step.failures.isEmpty
      || !step.synced.isEmpty || cameNearer
    return Step(
      isDone: !sendsMore && open.isEmpty, madeProgress: changed, blobs: plan.batch.blobs,
      wantedBlobs: response.wantedBlobs)
  }

  /// Takes an answer in. The report so far is let go of before it grows, so that adding to it copies nothing.
  private func apply(
    _ plan: Plan, _ response: SyncResponse, _ decisions: Conflicts.Decisions, _ run: SyncDiary.Running?,
    after report: SyncReport
  ) async throws -> Applied {
    let sofar = SyncDiary.Progress(run, report)
    do { return try await apply(plan, response, decisions, sofar) } catch let loss as HistoryLoss {
      // What came is kept beside the records, for somebody to decide about.
      _ = try await apply(plan, response, decisions, sofar, isShowing: false)
      throw loss
    }
  }

  /// A server of another history has applied nothing: what was first sent with this request is not in doubt.
  private func recall(_ batch: PushBatch, after error: any Error) async throws {
    guard (error as? RemoteError)?.code == BoundRemote.otherHistory else { return }
    try await store.write(origin: .remote) { transaction in
      for item in batch.items where !item.isInDoubt {
        try Outbox.recall(item.operation.record, item.operation.id, in: transaction)
      }
    }
  }

  /// Makes what is to be tried again whatever its time ready. Returns why that failed.
  private func clearRetryTimes(for request: Request) async -> SkipReason? {
    guard request.ignoresRetryTimes else { return nil }
    do {
      try await store.write(origin: .remote) { try Outbox.clearRetryTimes(of: request.records, in: $0) }
      return nil
    } catch { return Self.reason(for: error) }
  }

  // MARK: the request

  struct Plan: Sendable {
    var request: SyncRequest
    var batch: PushBatch
    /// Whether operations were left for the next exchange.
    var holdsBack: Bool
    /// Which generation of each scope's validator the pages are asked by.
    var generations: [PullScope: Int64]
    /// Changes that no server takes as they are: they wait for an edit, and were not sent.
    var failures: [SyncFailure]

    /// Whether a page was asked for.
    func asks(for page: SyncResponse.Page) -> Bool { pull(of: page) != nil }

    /// Whether a page brings the sync further: changes, or another place in the history to go on from.
    func brings(_ page: SyncResponse.Page) -> Bool {
      guard page.more else { return !page.changes.isEmpty }
      return pull(of: page)?.cursor != page.cursor
    }

    private func pull(of page: SyncResponse.Page) -> SyncRequest.Pull? {
      request.pulls.first { $0.scope == page.scope }
    }
  }

  /// A first pull is begun before anything is sent, so that a device does not get its own work back in it. While
  /// the further pages of a snapshot are missing, operations travel in requests of their own, so that every row
  /// they make is part of the snapshot too. Otherwise every request with operations pulls, so that its answer leaves
  /// out what they made and the cursor passes it.
  private func plan(
    _ request: Request, _ scopes: [PullScope], due: Int64, _ open: [PullScope]
  ) async throws -> Plan {
    let now = clock.now()
    return try await store.write(origin: .remote) { transaction in
      let states = try scopes.map { try PullState.load($0, in: transaction) }
      let isBeginning = states.contains { $0.cursor == nil && $0.staged == nil }
      let isFilling = states.contains { $0.staged != nil }
      let isComparing = try request.isComparing || ServerBinding.isAdopting(in: transaction)
      let isReading = isBeginning || isComparing || states.contains(where: \.isOtherHistory)
      var batch = PushBatch()
      if request.scope != .pull && !isReading {
        var builder = PushBatchBuilder(
          transaction, limit: configuration.batchSize, now: due, heldTypes: request.heldTypes,
          holdsGroups: isFilling, sendsTimes: configuration.sendsLocalTimes,
          makeID: configuration.makeOperationID)
        batch = try builder.build(only: request.records)
      }
      let failures = try batch.refused.compactMap { try Self.refuse($0, $1, until: now, in: transaction) }
      // A first pull is work that no other process need do beside this one.
      if isShared, !batch.items.isEmpty || isReading || isFilling { try lease.take(at: now, in: transaction) }
      let missing = states.filter { open.contains($0.scope) || $0.cursor == nil }
      let wanted = batch.items.isEmpty ? missing : isFilling ? [] : states
      // The scopes that are still to be asked for come first; more than fit follow by the next request.
      let pulls =
        wanted.count <= Self.pullLimit
        ? wanted
        : Array(
          (missing + wanted.filter { !open.contains($0.scope) && $0.cursor != nil }).prefix(Self.pullLimit))
      return Plan(
        request: SyncRequest(
          device: device, schemaVersion: store.schema.version, operations: batch.operations,
          pulls: pulls.map { SyncRequest.Pull($0.scope, cursor: $0.next) }, limit: configuration.pageSize,
          oldestOpen: try batch.items.isEmpty
            ? nil : sent.oldest(and: Outbox.oldestOperation(in: transaction)),
          principal: owner?.principal),
        batch: batch, holdsBack: isReading && request.scope != .pull || batch.holdsGroups,
        generations: Dictionary(pulls.map { ($0.scope, $0.generation) }, uniquingKeysWith: { $1 }),
        failures: failures)
    }
  }

  /// The most scopes that one request pulls from: what servers take.
  static let pullLimit = 64

  /// That the server wants a newer version of the app is known until the schema's version rises, also after a
  /// relaunch; an answer that says otherwise, to a forced sync, ends it.
  private func remember(_ reason: SkipReason?) async {
    let message: String? = if case .updateRequired(let words) = reason { words } else { nil }
    guard reason == nil || message != nil, governor.updateRequired != message else { return }
    governor.updateRequired = message
    let version = store.schema.version
    // Not remembered, it is asked again after a relaunch: no harm.
    try? await store.write(origin: .remote) { try SyncValues.setUpdateRequired(message, at: version, in: $0) }
  }
}
