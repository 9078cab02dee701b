import BothyStore
import Logging

/// One sync from beginning to end: exchanges until no change is ready to be sent and no page is missing.
///
/// Each exchange is one transaction to make the batch, one round trip, and one transaction to apply the answer. After a
/// crash between any two of these the next sync continues.
struct SyncPass: Sendable {
  let store: LocalStore
  let remote: any RemoteStorage
  private(set) var configuration: SyncOptions
  let clock: SyncClock
  let device: String
  let blobs: BlobFolder
  let governor: SyncConditions
  /// The account that the file belongs to. The server refuses requests that have a token of another user.
  let owner: AccountID?
  let followed: SubscribedScopes
  let lease = SyncLease()
  let heard = HeardScopes()
  let sent = SentValues()
  /// Orders the online-first saves of one record one after the other.
  let turns = KeyedGate<RecordID>()
  /// Lets one sync at a time send pending changes. Another that runs beside it finds them settled.
  private let sending = Gate()
  /// Called after each exchange and each part of a blob.
  let progress: @Sendable (SyncStatus.Progress) -> Void

  struct Request: Sendable, Hashable {
    var scope: SyncDirection
    /// The scopes to pull; `nil` means all that are subscribed to when the sync begins.
    var pulls: [SyncScope]?
    /// The records to send, or `nil` for all that are ready.
    var records: [RecordID]?
    /// True if entries that wait for a retry time are sent too.
    var ignoresRetryTimes = false
    /// The types whose changes are not sent.
    var heldTypes: Set<String> = []
    /// True if the sync ends before its next request when syncing is paused, or the sync policy excludes the new
    /// network.
    var isGoverned = false
    /// True if nothing is sent before the server's history was compared with the file.
    var isComparing = false
  }

  /// Ends a sync that may not continue, and has the reason.
  private struct Held: Error { var reason: SyncStop }

  /// Throws if the sync may not continue, before each request. That concerns governed syncs, cancelled tasks and
  /// signed-out accounts.
  func checkMayGoOn(_ request: Request) throws {
    try Task.checkCancellation()
    if governor.isShut { throw Held(reason: .signedOut) }
    if request.isGoverned, let obstacle = governor.obstacle { throw Held(reason: obstacle) }
  }

  /// The number of exchanges without progress after which two parties probably keep undoing each other's changes.
  static let fruitlessLimit = 25
  static let noProgress = RemoteError(
    .serverError,
    "The server answers, and its answers bring the sync no further. Try again; if that stays so, look at the server's "
      + "log.", code: "noProgress")

  /// True if other processes may sync the file.
  var isShared: Bool { store.options.processes != .single }

  /// Runs the sync. Any error that ends it early is in the report, and completed work stays done.
  ///
  /// If neither side has changes, it makes one request and no commit. Otherwise each exchange makes one commit with the
  /// sent changes, if it sends any, and one with the answer's changes.
  ///
  /// - Parameter run: the row of the log that the exchanges keep up to date.
  func run(_ request: Request, _ run: SyncHistoryWriter.Running? = nil) async -> SyncReport {
    // Policies that are set meanwhile apply to the next sync.
    var pass = self
    pass.configuration = governor.inForce(configuration)
    return await pass.carryOut(request, run)
  }

  private func carryOut(_ request: Request, _ run: SyncHistoryWriter.Running?) async -> SyncReport {
    if isShared { await awaitLease() }
    lease.begin()
    let report = await SyncBudget.$current.withValue(SyncBudget()) { await exchanges(request, run) }
    // A sync that ended early may still hold the lease. If it isn't released, it expires.
    if lease.end() && lease.isHeld { try? await store.write(origin: .remote) { try lease.release(in: $0) } }
    await remember(report.stop)
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

  /// Waits while another process syncs the file, for at most `maxWait`. After it both sync, which costs work and is
  /// harmless. Reads only, because the lease is acquired with the first write.
  private func awaitLease() async {
    var left = configuration.maxWait
    while left > .zero, !Task.isCancelled {
      let now = clock.now()
      // `nil` if no other process holds the lease. Unreadable: the exchange reports why.
      guard let end = try? await store.read({ try lease.end(ofOthersAt: now, in: $0) }) else { return }
      let wait = min(left, .milliseconds(max(1, min(100, end - now))))
      // Cancelled: the exchange reports it.
      try? await configuration.clock.sleep(for: wait)
      left -= wait
    }
  }

  private func exchanges(_ request: Request, _ run: SyncHistoryWriter.Running?) async -> SyncReport {
    var (request, report) = (request, SyncReport())
    var pulls = request.scope == .push ? [] : await pulls(for: request)
    var (open, fruitless, startedOver, comparisons) = (pulls, 0, false, 0)
    var uploads = BlobUploads(self, request)
    var wanted: Set<String> = []
    // A change that is rejected during the sync isn't tried again by it.
    let due = clock.now()
    report.stop = await clearRetryTimes(for: request)
    if report.stop == nil { report.stop = await reasonToStayApart(&report) }
    if report.stop != nil { return report }
    while true {
      do {
        try checkMayGoOn(request)
        let step = try await exchange(request, &pulls, due: due, &open, &report, run)
        if open.isEmpty { request.isComparing = false }
        wanted.formUnion(step.wantedBlobs)
        fruitless = step.madeProgress ? 0 : fruitless + 1
        if fruitless > Self.fruitlessLimit { throw Self.noProgress }
        // Blobs travel after everything else, a few parts at a time, so that other work doesn't wait for them.
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
        report.stop = .otherServer(ServerHistory.loss(loss.count))
        return report
      } catch let error as RemoteError {
        if error.isUnknownCursor && !startedOver && request.scope != .push {
          startedOver = true
          if await startOver(pulls) {
            open = pulls
            continue
          }
        }
        report.stop = Task.isCancelled ? .cancelled : SyncStop(error)
        report.retryAfter = error.retryAfter
        return report
      } catch let held as Held {
        report.stop = held.reason
        return report
      } catch {
        report.stop = Self.reason(for: error)
        return report
      }
    }
  }

  /// Returns the reason of a sync that could not continue here. A cancelled task may end with a store's own error.
  private static func reason(for error: any Error) -> SyncStop {
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
    _ request: Request, _ pulls: inout [SyncScope], due: Int64, _ open: inout [SyncScope],
    _ report: inout SyncReport, _ run: SyncHistoryWriter.Running?
  ) async throws -> Step {
    // Changes that a caller waits for are sent before everything else.
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
    _ plan: Plan, _ request: Request, _ pulls: inout [SyncScope], _ open: inout [SyncScope],
    _ report: inout SyncReport, _ run: SyncHistoryWriter.Running?
  ) async throws -> Step {
    report.repaired += plan.batch.repaired
    report.failures += plan.failures
    report.blocked = plan.batch.blocked.map { SyncReport.Blocked(record: $0.record, by: $0.by) }
    if plan.batch.items.isEmpty && plan.request.pulls.isEmpty {
      return Step(isDone: true, madeProgress: false, blobs: plan.batch.blobs)
    }
    var sent = plan.request
    let separated = try SecretAttachment(store: store)
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
    // A scope that was pulled once more has no cursor of its own.
    pulls.removeAll { applied.upToDate.contains($0) && !requested(request).contains($0) }
    let cameNearer = open.count < asked
    open += response.pages.map(\.scope).filter { !applied.upToDate.contains($0) && !open.contains($0) }
    if applied.waitsForPages && pulls.isEmpty {
      pulls = followed.current
      open = pulls
    }
    // Entries in doubt are known only after a push.
    if request.scope == .pull { open.removeAll { applied.putOff.contains($0) } }
    progress(SyncStatus.Progress(pushed: report.pushed, pulled: report.pulled, requests: report.requests))
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

  /// Applies an answer. The report so far is released before it grows, so that appending to it copies nothing.
  private func apply(
    _ plan: Plan, _ response: SyncResponse, _ decisions: Conflicts.Decisions,
    _ run: SyncHistoryWriter.Running?,
    after report: SyncReport
  ) async throws -> Applied {
    do {
      return try await apply(plan, response, decisions, run, after: report, isShowing: true)
    } catch let loss as HistoryLoss {
      // The arrived records are kept beside the others until the user decides.
      _ = try await apply(plan, response, decisions, run, after: report, isShowing: false)
      throw loss
    }
  }

  /// Clears the sent state of operations that a server of another history has not applied, so that they aren't in
  /// doubt.
  private func recall(_ batch: PushBatch, after error: any Error) async throws {
    guard (error as? RemoteError)?.code == BoundRemote.otherHistory else { return }
    try await store.write(origin: .remote) { transaction in
      for item in batch.items where !item.isInDoubt {
        try OutboxQueue.recall(item.operation.record, item.operation.id, in: transaction)
      }
    }
  }

  /// Makes entries ready that have a retry time in the future. Returns the reason if that failed.
  private func clearRetryTimes(for request: Request) async -> SyncStop? {
    guard request.ignoresRetryTimes else { return nil }
    do {
      try await store.write(origin: .remote) { try OutboxQueue.clearRetryTimes(of: request.records, in: $0) }
      return nil
    } catch { return Self.reason(for: error) }
  }

  // MARK: the request

  struct Plan: Sendable {
    var request: SyncRequest
    var batch: PushBatch
    /// True if operations were left for the next exchange.
    var holdsBack: Bool
    /// The generation of each scope's validator at the time of the request.
    var generations: [SyncScope: Int64]
    /// Changes that no server accepts as they are. They wait for an edit and were not sent.
    var failures: [SyncReport.Failure]

    /// Returns true if the page was requested.
    func asks(for page: SyncResponse.Page) -> Bool { pull(of: page) != nil }

    /// Returns true if the page has progress: changes, or another cursor.
    func brings(_ page: SyncResponse.Page) -> Bool {
      guard page.more else { return !page.changes.isEmpty }
      return pull(of: page)?.cursor != page.cursor
    }

    private func pull(of page: SyncResponse.Page) -> SyncRequest.Pull? {
      request.pulls.first { $0.scope == page.scope }
    }
  }

  /// Makes the plan of an exchange.
  ///
  /// A first pull is begun before anything is sent, so that a device doesn't receive its own changes in it. While
  /// further pages of a snapshot are missing, operations travel in requests of their own, so that every row they make
  /// is part of the snapshot too. Otherwise every request with operations pulls. Its answer leaves out the changes that
  /// they made, and the cursor passes them.
  private func plan(
    _ request: Request, _ scopes: [SyncScope], due: Int64, _ open: [SyncScope]
  ) async throws -> Plan {
    let now = clock.now()
    return try await store.write(origin: .remote) { transaction in
      governor.isPaused = try SyncValues.isPaused(in: transaction)
      if request.isGoverned && governor.isPaused { throw Held(reason: .paused) }
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
      // A first pull is work that other processes need not repeat beside this one.
      if isShared, !batch.items.isEmpty || isReading || isFilling { try lease.take(at: now, in: transaction) }
      let missing = states.filter { open.contains($0.scope) || $0.cursor == nil }
      let wanted = batch.items.isEmpty ? missing : isFilling ? [] : states
      // Scopes that are still to request come first. Those beyond the limit follow with the next request.
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
            ? nil : sent.oldest(and: OutboxQueue.oldestOperation(in: transaction)),
          principal: owner?.principal),
        batch: batch, holdsBack: isReading && request.scope != .pull || batch.holdsGroups,
        generations: Dictionary(pulls.map { ($0.scope, $0.generation) }, uniquingKeysWith: { $1 }),
        failures: failures)
    }
  }

  /// The most scopes that one request pulls from, as servers limit them.
  static let pullLimit = 64

  /// Remembers that the server requires a newer version of the app. It is remembered across relaunches, until the
  /// schema's version rises or a forced sync gets another answer.
  private func remember(_ reason: SyncStop?) async {
    let message: String? = if case .updateRequired(let words) = reason { words } else { nil }
    guard reason == nil || message != nil, governor.updateRequired != message else { return }
    governor.updateRequired = message
    let version = store.schema.version
    // If this isn't stored, the server is asked again after a relaunch, which is harmless.
    try? await store.write(origin: .remote) { try SyncValues.setUpdateRequired(message, at: version, in: $0) }
  }
}
