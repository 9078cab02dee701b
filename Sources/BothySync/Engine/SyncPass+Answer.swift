import BothyStore
import GRDB

/// Applies an answer of the server to the file, in one transaction.
extension SyncPass {
  struct Applied: Sendable {
    var report: SyncReport
    var upToDate: [SyncScope] = []
    /// The scopes whose last page has arrived and isn't shown yet.
    var putOff: [SyncScope] = []
    /// True if conflicts can be decided only with the pages of a pull.
    var waitsForPages = false
    /// The server's versions after the changes that callers wait for.
    var answers: [RecordID: ServerRecord] = [:]
    var outcomes: [RecordID: SentValues.Decided] = [:]
  }

  /// Applies an answer. Its scopes are shown in one step, after the last page of each, because a user's transaction may
  /// span two of them.
  func apply(
    _ plan: Plan, _ response: SyncResponse, _ decisions: Conflicts.Decisions,
    _ run: SyncHistoryWriter.Running?, after report: SyncReport,
    isShowing: Bool
  ) async throws -> Applied {
    let now = clock.now()
    let (applied, closing) = try await store.write(origin: .remote) { transaction in
      let changes = transaction.database.totalChangesCount
      transaction.source = .sync
      var applier = PushResultApplier(
        transaction: transaction, clock: clock, configuration: configuration, decisions: decisions)
      applier.pulls = configuration.scope == .push ? [] : followed.current
      applier.history = response.history
      applier.principal = response.principal
      applier.isPulling = !plan.request.pulls.isEmpty
      try applier.settle(plan.batch, response.outcomes)
      var pages = response.pages
      var isShown = isShowing && !pages.contains(where: \.more)
      for page in pages where isShown { isShown = try applier.settleConflicts(with: page) }
      if isShown && !pages.isEmpty { try applier.settleUndecided() }
      try applier.decideLater()
      var applied = Applied(report: applier.report)
      (applied.answers, applied.outcomes) = (applier.answers, applier.outcomes)
      applied.waitsForPages = !applier.undecided.isEmpty
      transaction.source = .remote
      try SecretAttachment.sweep(in: transaction)
      try GivenBack.sweep(in: transaction)
      var pull = try PullApplication(transaction, now: now)
      pull.orphans = configuration.orphans
      pull.history = response.history
      pull.comparison.policy = configuration.restored
      pull.leavesUnchanged = true
      for index in pages.indices {
        if !isShown && !pages[index].more {
          applied.putOff.append(pages[index].scope)
          pages[index].more = true
        }
        if try pull.take(pages[index], generation: plan.generations[pages[index].scope]) {
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
        !plan.holdsBack && applied.putOff.isEmpty && !response.pages.contains(where: \.more)
        && plan.batch.items.count < configuration.batchSize
      try close(&closing, [report, applied.report], run, isLast: isLast, now, in: transaction)
      return (applied, closing)
    }
    if let estimate = closing.estimate { clock.noteSaved(estimate) }
    if let row = closing.row { run?.confirm(row) }
    for state in closing.unchanged { heard.note(state.scope, at: now) }
    for (record, outcome) in applied.outcomes { sent.decide(record, outcome, applied.answers[record]) }
    return applied
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
    }
    closing.row = try run?.note(reports, at: now, in: transaction)
    if isLast && lease.isLast { try lease.release(in: transaction) }
  }
}
