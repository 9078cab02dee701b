import BothyStore
import GRDB

/// One exchange: the plan of its request, the answer, and what is kept of it.
extension SyncRunner {
  struct Step: Sendable {
    var isDone: Bool
    var madeProgress: Bool
    /// The batch, with the blobs that records wait for.
    var batch: PushBatch
    /// The blobs that the server lacks.
    var wantedBlobs: [String] = []
    /// The records whose conflicts wait for pages that are still to be pulled.
    var putOff: Set<RecordID> = []
    var waitsForPages = false
    /// The scopes without which the arrived pages aren't shown.
    var lacking: [SyncScope] = []
  }

  func exchange(
    _ request: Request, _ pulling: inout PullProgress, due: Int64, _ report: inout SyncReport,
    _ run: SyncHistoryWriter.Running?
  ) async throws -> Step {
    // Changes that a caller waits for are sent before everything else, and alone while a sync sends the others.
    guard request.scope != .pull, request.pulls?.isEmpty != true else {
      if request.isFilled {
        let step = try await sending.ifFree {
          let plan = try await self.plan(request, pulling, due: due)
          return try await exchange(plan, request, &pulling, &report, run)
        }
        if let step { return step }
      }
      var request = request
      request.isFilled = false
      let plan = try await plan(request, pulling, due: due)
      return try await exchange(plan, request, &pulling, &report, run)
    }
    let (step, plan) = try await sending.withPermit { () -> (Step?, Plan) in
      let plan = try await self.plan(request, pulling, due: due)
      if plan.batch.items.isEmpty { return (nil, plan) }
      return (try await exchange(plan, request, &pulling, &report, run), plan)
    }
    if let step { return step }
    return try await exchange(plan, request, &pulling, &report, run)
  }

  func exchange(
    _ plan: Plan, _ request: Request, _ pulling: inout PullProgress, _ report: inout SyncReport,
    _ run: SyncHistoryWriter.Running?
  ) async throws -> Step {
    report.repaired += plan.batch.repaired
    report.add(plan.refused)
    report.blocked = plan.batch.blocked.map { SyncReport.Blocked(record: $0.record, by: $0.by) }
    if plan.batch.items.isEmpty && plan.request.pulls.isEmpty {
      return Step(isDone: true, madeProgress: false, batch: plan.batch)
    }
    var sent = plan.request
    var withheld: [Outcome] = []
    if !plan.secrets.isEmpty {
      (sent.operations, withheld) = SecretAttachment.separated(
        sent.operations, with: plan.secrets, isConfidential: remote.isConfidential)
    }
    var response: SyncResponse
    var end: RemoteError?
    do {
      do { response = try await exchange(sent, &report) } catch let error as RemoteError {
        (response, end) = try await halved(sent, of: plan.batch, after: error, &report)
      }
    } catch {
      try await recall(plan.batch, after: error)
      throw error
    }
    response.outcomes += withheld
    response.pages.removeAll { !plan.asks(for: $0) }
    pulling.arrive(response, plan.states, hasSent: !plan.batch.items.isEmpty)
    let lacking = try await hold(&pulling, request, plan, response)
    response.pages += pulling.release()
    let timing = timing(of: response, request, pulling)
    let decisions = try await Conflicts(store: store, configuration: configuration, clock: clock)
      .decide(plan.batch, response, timing)
    try Task.checkCancellation()
    let applied = try await apply(plan, response, decisions, timing, run, after: report)
    let step = applied.report
    report.add(step)
    if let end { throw end }
    let givesBack = request.scope != .pull && !step.givenBack.isEmpty
    let sendsMore = plan.holdsBack || !plan.batch.items.isEmpty || givesBack
    let cameNearer = pulling.note(
      applied, response.pages, requested: requested(request), subscribed: followed.current,
      isPushing: sendsMore)
    let changed =
      step.pushed > 0 || step.pulled > 0 || response.pages.contains { plan.brings($0) }
      || !step.rejected.isEmpty || !step.synced.isEmpty || cameNearer
      || response.pages.contains { plan.stages($0, applied) }
    return Step(
      isDone: !sendsMore && pulling.open.isEmpty, madeProgress: changed, batch: plan.batch,
      wantedBlobs: response.wantedBlobs, putOff: applied.conflictsPutOff,
      waitsForPages: !applied.conflictsPutOff.isEmpty || plan.isWaiting && timing.hasMore,
      lacking: lacking)
  }

  private func timing(
    of response: SyncResponse, _ request: Request, _ pulling: PullProgress
  ) -> ConflictTiming {
    ConflictTiming(
      pulls: configuration.direction == .push ? [] : followed.current,
      shown: pulling.hasMore ? [] : Set(response.pages.map(\.scope)), hasMore: pulling.hasMore,
      isShowing: pulling.isShowing, records: request.records, putOff: request.putOff)
  }

  /// Applies an answer. The report so far is released before it grows, so that appending to it copies nothing.
  private func apply(
    _ plan: Plan, _ response: SyncResponse, _ decisions: Conflicts.Decisions, _ timing: ConflictTiming,
    _ run: SyncHistoryWriter.Running?, after report: SyncReport
  ) async throws -> Applied {
    do {
      return try await apply(plan, response, decisions, timing, run, after: report, isShowing: true)
    } catch let loss as HistoryLoss {
      // The arrived records are kept beside the others until the user decides.
      _ = try await apply(plan, response, decisions, timing, run, after: report, isShowing: false)
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

  struct Plan: Sendable {
    var request: SyncRequest
    var batch: PushBatch
    /// The secrets of the operations, by their ids.
    var secrets: [String: Secrets]
    /// True if operations were left for the next exchange.
    var holdsBack: Bool
    /// True if nothing was sent, because conflicts wait for the pages that are still missing.
    var isWaiting: Bool
    /// True if a decision about another history is carried out.
    var isDeciding: Bool
    /// The sync's scopes in the file at the time of the request.
    var states: [SyncScope: PullState]
    /// The changes that no server accepts as they are and that were not sent, and what became of them.
    var refused: SyncReport

    /// Returns true if the page was requested.
    func asks(for page: SyncResponse.Page) -> Bool { pull(of: page) != nil }

    /// Returns true if the page has progress: changes, or another cursor.
    func brings(_ page: SyncResponse.Page) -> Bool {
      guard page.more else { return !page.changes.isEmpty }
      return pull(of: page)?.cursor != page.cursor
    }

    /// Returns true if the page is its scope's last one so far and is staged, which none of this position was before.
    func stages(_ page: SyncResponse.Page, _ applied: Applied) -> Bool {
      applied.putOff.contains(page.scope) && states[page.scope]?.staged != page.cursor
    }

    /// Returns true if the scopes of all pages with changes are as they were at the time of the request. A page that
    /// isn't taken would be missing among the others.
    func areTaken(_ pages: [SyncResponse.Page], in transaction: ReadTransaction) throws -> Bool {
      let shown = pages.filter { !isQuiet($0) }
      guard shown.count > 1 else { return true }
      return try shown.allSatisfy { page in
        try states[page.scope]?.generation == PullState.load(page.scope, in: transaction).generation
      }
    }

    /// Returns true if the page shows nothing, whenever it is taken.
    func isQuiet(_ page: SyncResponse.Page) -> Bool { states[page.scope]?.isQuiet(page) ?? false }

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
  private func plan(_ request: Request, _ pulling: PullProgress, due: Int64) async throws -> Plan {
    let now = clock.now()
    let open = Set(pulling.open)
    return try await store.write(origin: .remote) { transaction in
      governor.isPaused = try SyncValues.isPaused(in: transaction)
      if request.isGoverned && governor.isPaused { throw Held(reason: .paused) }
      let states = try pulling.scopes.map { try PullState.load($0, in: transaction) }
      let isBeginning = states.contains { $0.cursor == nil && $0.staged == nil }
      let isFilling = states.contains { $0.staged != nil }
      let isWaiting = request.waitsForPages && states.contains { $0.staged != nil && open.contains($0.scope) }
      var isComparing = request.isComparing
      var isDeciding = try ServerBinding.isAdopting(in: transaction)
      if (isComparing || isDeciding) && states.isEmpty && request.scope != .pull {
        try endComparison(in: transaction)
        (isComparing, isDeciding) = (false, false)
      }
      // Pages of the history that the file follows may wait for the outcome of an operation.
      let isUndecided = isDeciding && !(isFilling && pulling.hasArrived)
      let isReading =
        isBeginning || isComparing || isUndecided || states.contains(where: \.isOtherHistory)
      var batch = PushBatch()
      if request.scope != .pull && request.records == nil {
        try OutboxQueue.endWaits(of: request.arrived, in: transaction)
      }
      if request.scope != .pull && !isReading && !isWaiting {
        var builder = PushBatchBuilder(
          transaction, limit: configuration.batchSize, now: due, heldTypes: request.heldTypes,
          holdsGroups: isFilling, sendsTimes: configuration.sendsLocalTimes,
          makeID: configuration.makeOperationID)
        batch = try builder.build(only: request.records, thenBut: unfilled(request, in: transaction))
      }
      var applier = PushResultApplier(transaction: transaction, clock: clock, configuration: configuration)
      for (entry, rejection) in batch.refused {
        try applier.refuse(unsent: entry, rejection, isForGood: true)
      }
      // A first pull is work that other processes need not repeat beside this one.
      if isShared, !batch.items.isEmpty || isReading || isFilling { try lease.take(at: now, in: transaction) }
      let missing = states.filter { open.contains($0.scope) || $0.cursor == nil }
      let wanted = batch.items.isEmpty ? missing : isFilling ? [] : states
      let pulls = wanted.count <= Self.pullLimit ? wanted : Self.first(missing, of: wanted, pulling)
      let other = isDeciding ? try ServerBinding.load(in: transaction).followedCursor : nil
      return Plan(
        request: SyncRequest(
          device: device, schemaVersion: store.schema.version, operations: batch.operations,
          pulls: pulls.map { SyncRequest.Pull($0.scope, cursor: $0.next ?? other) },
          limit: configuration.pageSize,
          oldestOpen: try batch.items.isEmpty ? nil : OutboxQueue.oldestOperation(in: transaction),
          user: owner?.user),
        batch: batch,
        secrets: try transaction.catalog.keepsSecrets
          ? SecretAttachment.secrets(of: batch.operations, in: transaction) : [:],
        holdsBack: (isReading || isWaiting) && request.scope != .pull || batch.holdsGroups,
        isWaiting: isWaiting,
        isDeciding: isDeciding,
        states: Dictionary(states.map { ($0.scope, $0) }, uniquingKeysWith: { $1 }),
        refused: applier.report)
    }
  }

  /// The most scopes that one request pulls from, as servers limit them.
  static let pullLimit = 64

  // MARK: applying an answer to the file, in one transaction

  struct Applied: Sendable {
    var report: SyncReport
    var upToDate: [SyncScope] = []
    /// The scopes whose last page has arrived and isn't shown yet.
    var putOff: [SyncScope] = []
    /// True if they wait for the outcomes of entries in doubt, which only a push brings.
    var waitsForPush = false
    /// The scopes that the next requests pull, because conflicts were met whose versions no pull has shown yet.
    var waitsFor: [SyncScope] = []
    var conflictsPutOff: Set<RecordID> = []
    /// The server's versions after the changes that callers wait for.
    var answers: [RecordID: ServerRecord] = [:]
    var outcomes: [RecordID: SentValues.Decided] = [:]
  }

  /// Applies an answer. Its scopes are shown in one step, after the last page of each, because a user's transaction may
  /// span two of them.
  func apply(
    _ plan: Plan, _ response: SyncResponse, _ decisions: Conflicts.Decisions, _ timing: ConflictTiming,
    _ run: SyncHistoryWriter.Running?, after report: SyncReport,
    isShowing: Bool
  ) async throws -> Applied {
    let now = clock.now()
    let (applied, closing) = try await store.write(origin: .remote) { transaction in
      let changes = transaction.database.totalChangesCount
      transaction.source = .sync
      var applier = PushResultApplier(
        transaction: transaction, clock: clock, configuration: configuration, decisions: decisions)
      applier.history = response.history
      applier.user = response.user
      applier.isPulling = !plan.request.pulls.isEmpty
      applier.timing = timing
      try applier.settle(plan.batch, response.outcomes)
      let ended = try ended(response.pages, plan, in: transaction)
      var pages = response.pages.filter { !ended.contains($0.scope) }
      let mayShow = try isShowing && timing.isShowing && plan.areTaken(pages, in: transaction)
      var isShown = mayShow
      for page in pages where isShown { isShown = try applier.settleConflicts(with: page) }
      if isShown && !timing.hasMore && !pages.isEmpty { try applier.settleUndecided() }
      try applier.decideLater()
      var applied = Applied(report: applier.report, upToDate: ended, waitsForPush: mayShow && !isShown)
      (applied.answers, applied.outcomes) = (applier.answers, applier.outcomes)
      applied.conflictsPutOff = applier.putOff
      if !applier.undecided.isEmpty && pages.isEmpty { applied.waitsFor = followed.current }
      if applier.needsPull { applied.waitsFor += try ConflictTiming.complete(timing.pulls, in: transaction) }
      transaction.source = .remote
      if store.catalog.keepsSecrets {
        try SecretAttachment(store: store).sweep(after: plan.batch.operations, in: transaction)
      }
      // States left behind count for nothing, and the last exchange of a sync has room.
      if !plan.batch.isFull { try GivenBack.sweep(in: transaction) }
      var pull = try PullApplication(transaction, now: now)
      pull.orphans = configuration.orphans
      pull.history = response.history
      pull.comparison.policy = configuration.restored
      // A decision has been carried out even if the server has no news.
      pull.leavesUnchanged = !plan.isDeciding
      for index in pages.indices {
        if !isShown && !pages[index].more && !plan.isQuiet(pages[index]) {
          applied.putOff.append(pages[index].scope)
          pages[index].more = true
        }
        if try pull.take(pages[index], generation: plan.states[pages[index].scope]?.generation) {
          applied.upToDate.append(pages[index].scope)
        }
      }
      applied.report.overwritten += try pull.comparison.end(response.history)
      applied.report.lost += pull.comparison.lost
      applied.report.givenBack += pull.comparison.givenBack
      applied.report.add(pull.report)
      var closing = Closing()
      closing.unchanged = pull.unchanged
      closing.isWriting = transaction.database.totalChangesCount != changes
      let isLast =
        !plan.holdsBack && applied.putOff.isEmpty && !timing.hasMore && !plan.batch.isFull
      try close(&closing, [report, applied.report], run, isLast: isLast, now, in: transaction)
      return (applied, closing)
    }
    if let estimate = closing.estimate { clock.noteSaved(estimate) }
    if let row = closing.row { run?.confirm(row) }
    for scope in applied.upToDate { heard.note(scope, at: now) }
    for (record, outcome) in applied.outcomes { sent.decide(record, outcome, applied.answers[record]) }
    return applied
  }

  /// Returns the scopes of an answer that another process has forgotten since the request. It has ended the
  /// subscription, or pulled a scope that was to be pulled once more. The sync continues without them.
  private func ended(
    _ pages: [SyncResponse.Page], _ plan: Plan, in transaction: ReadTransaction
  ) throws -> [SyncScope] {
    guard isShared else { return [] }
    let ended = try pages.map(\.scope).filter { try plan.states[$0]?.isForgotten(in: transaction) ?? false }
    if !ended.isEmpty, let stored = try SubscriptionTable.stored(in: transaction) {
      followed.current = stored
    }
    return ended
  }

  /// The values that an exchange saves beside its changes, and only if it has changes.
  private struct Closing: Sendable {
    var isWriting = false
    var unchanged: [PullState] = []
    var estimate: SyncClock.Estimate?
    var row: SyncHistoryWriter.Row?
  }

  /// Writes the clock's estimate, the time of the pull, the log's row and the end of the lease. It uses a transaction
  /// that writes something anyway. An idle transaction stays empty and makes no commit.
  private func close(
    _ closing: inout Closing, _ reports: [SyncReport], _ run: SyncHistoryWriter.Running?, isLast: Bool,
    _ now: Int64,
    in transaction: WriteTransaction
  ) throws {
    for var state in closing.unchanged {
      let age = now.subtractingClamped(state.pulledAt ?? 0)
      guard closing.isWriting || !(0..<HeardScopes.interval).contains(age) else { continue }
      state.pulledAt = now
      try state.save(in: transaction)
      closing.isWriting = true
    }
    guard closing.isWriting || clock.mustSave else { return }
    if let estimate = clock.unsaved {
      try SyncValues.save(estimate, in: transaction)
      closing.estimate = estimate
      // Also on a device that only pulls, entries grow older.
      try Journal.trim(to: configuration.journal, at: clock.learnedNow, in: transaction)
    }
    closing.row = try run?.note(reports, at: now, in: transaction)
    if isLast && lease.isLast { try lease.release(in: transaction) }
  }
}

extension SyncRunner {
  /// Sends a request once, and samples the server's clock.
  func exchange(_ request: SyncRequest, _ report: inout SyncReport) async throws -> SyncResponse {
    let sentAt = clock.now()
    let response = try await remote.exchange(request)
    report.requests += 1
    // The sample is written with the answer's changes.
    _ = clock.sample(serverTime: response.serverTime, sentAt: sentAt, receivedAt: clock.now())
    return response
  }
}
