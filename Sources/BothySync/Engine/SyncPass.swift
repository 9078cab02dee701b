import BothyStore
import Logging

/// One sync from beginning to end: exchanges until nothing is ready to be sent and no page is missing.
///
/// Each exchange is one transaction to make the batch, one round trip, and one transaction to apply the answer.
/// A crash between any two of these leaves a state from which the next pass goes on.
struct SyncPass: Sendable {
  let store: Store
  let remote: any RemoteStorage
  let configuration: SyncConfiguration
  let clock: SyncClock
  let device: String
  let blobs: BlobFolder
  let governor: SyncGovernor
  /// Whose file it is: the server refuses requests that come with somebody else's token.
  let owner: AccountID?
  let followed: FollowedScopes
  let lease = SyncLease()
  let unanswered = UnansweredWrites()
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
  private static let fruitlessLimit = 25

  /// Throws nothing: whatever ends the pass early is in the report, and all that was done stays done.
  func run(_ request: Request) async -> SyncReport {
    let isShared = store.options.processes != .single
    if isShared { await takeLease() }
    let report = await PassAllowance.$current.withValue(PassAllowance()) { await exchanges(request) }
    // Not given up, it ends by the clock.
    if isShared { try? await store.write(origin: .remote) { try lease.release(in: $0) } }
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

  /// Waits at most `maxWait` while another process syncs the file; then both do, which harms nothing.
  private func takeLease() async {
    var left = configuration.maxWait
    while left > .zero, !Task.isCancelled {
      let now = clock.now()
      // Nil when it is ours; unreadable: the exchange will say why.
      guard let end = try? await store.write(origin: .remote, { try lease.take(at: now, in: $0) }) else {
        return
      }
      let wait = min(left, .milliseconds(max(1, min(100, end - now))))
      // Cancelled: the exchange will say so.
      try? await configuration.clock.sleep(for: wait)
      left -= wait
    }
  }

  private func exchanges(_ request: Request) async -> SyncReport {
    var request = request
    var report = SyncReport()
    var pulls = request.scope == .push ? [] : request.pulls ?? followed.current
    var open = pulls
    var fruitless = 0
    var uploads = BlobUploads(self, request)
    var startedOver = false
    var wanted: Set<String> = []
    // What is refused during the pass is not tried again by it.
    let due = clock.now()
    report.skipped = await clearRetryTimes(for: request)
    if report.skipped != nil { return report }
    while true {
      do {
        try checkMayGoOn(request)
        let step = try await exchange(request, &pulls, due: due, &open, &report)
        if open.isEmpty { request.isComparing = false }
        wanted.formUnion(step.wantedBlobs)
        fruitless = step.madeProgress ? 0 : fruitless + 1
        if fruitless > Self.fruitlessLimit { return report }
        // Blobs travel when all else is done, a few parts at a time, so that they hold up nobody.
        guard step.isDone else { continue }
        let requests = report.requests
        guard try await uploads.advance(step.blobs, &report) else {
          try await BlobHealing(pass: self).run(wanted, request, &report)
          for scope in report.rebased { try await verify(scope, &report) }
          return report
        }
        if report.requests > requests { fruitless = 0 }
      } catch let error as RemoteError where error.code == BoundRemote.otherHistory && !request.isComparing {
        request.isComparing = true
        pulls = request.pulls ?? followed.current
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

  /// Has the scopes pulled from the start: the server does not know where they were pulled to. False where that can't be
  /// stored.
  private func startOver(_ scopes: [PullScope]) async -> Bool {
    // Not stored, the pass ends with the server's error.
    let done: Void? = try? await store.write(origin: .remote) { transaction in
      for scope in scopes { try PullState.reset(scope, in: transaction) }
    }
    return done != nil
  }

  /// Why a pass ends that could not go on here. A store says in its own words that a task was cancelled.
  private static func reason(for error: any Error) -> SkipReason {
    Task.isCancelled || error is CancellationError ? .cancelled : .refused(code: "local", "\(error)")
  }

  private struct Step {
    var isDone: Bool
    var madeProgress: Bool
    /// The blobs that records wait for.
    var blobs: [BlobNeed]
    /// The blobs that the server lacks.
    var wantedBlobs: [String] = []
  }

  private func exchange(
    _ request: Request, _ pulls: inout [PullScope], due: Int64, _ open: inout [PullScope],
    _ report: inout SyncReport
  ) async throws -> Step {
    let plan = try await plan(request, pulls, due: due, open)
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
    let decisions = try await Conflicts(store: store, configuration: configuration, clock: clock)
      .decide(plan.batch, response)
    try Task.checkCancellation()
    // What one exchange did is added at its end: handing the whole report down would copy it each time.
    let applied: Applied
    do { applied = try await apply(plan, response, decisions) } catch let loss as HistoryLoss {
      // What came is kept beside the records, for somebody to decide about.
      _ = try await apply(plan, response, decisions, isShowing: false)
      throw loss
    }
    let step = applied.report
    report.add(step)
    let asked = open.count
    open.removeAll { applied.upToDate.contains($0) }
    let cameNearer = open.count < asked
    open += response.pages.map(\.scope).filter { !applied.upToDate.contains($0) && !open.contains($0) }
    if applied.waitsForPages && pulls.isEmpty {
      pulls = followed.current
      open = pulls
    }
    // What is in doubt is known only after a push.
    if request.scope == .pull { open.removeAll { applied.putOff.contains($0) } }
    progress(SyncProgress(pushed: report.pushed, pulled: report.pulled, requests: report.requests))
    let sendsMore = plan.holdsBack || !plan.batch.items.isEmpty
    let changed =
      step.pushed > 0 || step.pulled > 0 || response.pages.contains { $0.more || !$0.changes.isEmpty }
      || !step.failures.isEmpty
      || !step.synced.isEmpty || cameNearer
    return Step(
      isDone: !sendsMore && open.isEmpty, madeProgress: changed, blobs: plan.batch.blobs,
      wantedBlobs: response.wantedBlobs)
  }

  /// A server of another history has applied nothing: what was first sent with this request is not in doubt.
  private func recall(_ batch: PushBatch, after error: any Error) async throws {
    guard (error as? RemoteError)?.code == BoundRemote.otherHistory else { return }
    try await store.write(origin: .remote) { transaction in
      for item in batch.items where !item.isInDoubt {
        try Outbox.recall(item.operation.record, in: transaction)
      }
    }
  }

  /// Makes what is to be tried again whatever its time ready. Returns why that failed.
  private func clearRetryTimes(for request: Request) async -> SkipReason? {
    guard request.ignoresRetryTimes else { return nil }
    do {
      try await store.write(origin: .remote) { try Outbox.clearRetryTimes(in: $0) }
      return nil
    } catch { return Self.reason(for: error) }
  }

  /// After a scope was brought anew: whether it is what the server has.
  private func verify(_ scope: PullScope, _ report: inout SyncReport) async throws {
    do { try await compare(scope, &report) } catch let error as RemoteError {
      // The scope has come whole; `repair` can be asked for at any time.
      configuration.logger.notice("A scope was not compared.", metadata: ["reason": "\(error.message)"])
    }
  }

  private func compare(_ scope: PullScope, _ report: inout SyncReport) async throws {
    let cursor = try await store.read { try PullState.load(scope, in: $0).cursor }
    let position = cursor.flatMap { Cursor(token: $0)?.position }
    let found = try await Comparison(store: store, remote: remote, scope: scope, position: position).repair()
    report.requests += found.requests
    report.repaired += found.repaired.count
  }

  // MARK: the request

  private struct Plan: Sendable {
    var request: SyncRequest
    var batch: PushBatch
    /// Whether operations were left for the next exchange.
    var holdsBack: Bool
    /// Which generation of each scope's validator the pages are asked by.
    var generations: [PullScope: Int64]
    /// Changes that no server takes as they are: they wait for an edit, and were not sent.
    var failures: [SyncFailure]
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
      if store.options.processes != .single { _ = try lease.take(at: now, in: transaction) }
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
      let failures = try batch.refused.map { try Self.refuse($0, $1, until: now, in: transaction) }
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
            ? nil : unanswered.oldest(and: Outbox.oldestOperation(in: transaction)),
          principal: owner?.principal),
        batch: batch, holdsBack: isReading && request.scope != .pull || batch.holdsGroups,
        generations: Dictionary(pulls.map { ($0.scope, $0.generation) }, uniquingKeysWith: { $1 }),
        failures: failures)
    }
  }

  /// Puts an entry into the inbox, until somebody edits it or decides.
  private static func refuse(
    _ entry: OutboxEntry, _ rejection: Rejection, until time: Int64, in transaction: WriteTransaction
  ) throws -> SyncFailure {
    try Outbox.postpone(entry.record, rejection, until: time, state: .quarantined, in: transaction)
    return SyncFailure(
      record: entry.record, operation: entry.kind, rejection: rejection, attempts: entry.attempts + 1,
      nextRetry: nil, revision: entry.revision,
      local: try Outbox.localContent(of: entry.record, in: transaction))
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

  // MARK: the answer

  private struct Applied: Sendable {
    var report: SyncReport
    var upToDate: [PullScope] = []
    /// Scopes whose last page has come and is not shown yet.
    var putOff: [PullScope] = []
    /// Whether conflicts can be decided only with what a pull brings.
    var waitsForPages = false
  }

  /// The scopes of an answer are shown in one step, when the last page of each has come: what somebody changed
  /// together may lie in two of them.
  private func apply(
    _ plan: Plan, _ response: SyncResponse, _ decisions: Conflicts.Decisions, isShowing: Bool = true
  ) async throws -> Applied {
    let now = clock.now()
    return try await store.write(origin: .remote) { transaction in
      transaction.source = .sync
      var settlement = Settlement(
        transaction: transaction, clock: clock, rejections: { configuration.rejectionPolicy(for: $0) },
        backoff: configuration.backoff, decisions: decisions.pushed, pullDecisions: decisions.pulled,
        pulls: configuration.scope == .push ? [] : followed.current, report: SyncReport())
      settlement.orphans = configuration.orphans
      try settlement.settle(plan.batch, response.outcomes)
      var pages = response.pages
      var isShown = isShowing && !pages.contains(where: \.more)
      for page in pages where isShown { isShown = try settlement.settleConflicts(with: page) }
      if isShown && !pages.isEmpty { try settlement.settleUndecided() }
      var applied = Applied(report: settlement.report)
      applied.waitsForPages = !settlement.undecided.isEmpty
      transaction.source = .remote
      try SecretWork.sweep(in: transaction)
      var pull = try PullApplication(transaction, now: now)
      pull.orphans = configuration.orphans
      pull.history = response.history
      for index in pages.indices {
        if !isShown && !pages[index].more {
          applied.putOff.append(pages[index].scope)
          pages[index].more = true
        }
        if try pull.take(pages[index], generation: plan.generations[pages[index].scope]) {
          applied.upToDate.append(pages[index].scope)
        }
      }
      try pull.comparison.end(response.history)
      applied.report.pulled += pull.pulled
      applied.report.lost += pull.comparison.lost
      applied.report.overwritten += pull.overwritten
      applied.report.repaired += pull.repaired
      applied.report.leaving += pull.leaving
      applied.report.rebased += pull.rebased
      applied.report.unreadable += pull.unreadable
      return applied
    }
  }
}
