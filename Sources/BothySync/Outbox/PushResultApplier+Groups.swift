import BothyStore

/// Applies the server's answer to a transaction, of which all was applied or nothing. In the second case all of it is
/// sent again, waits, or gives way to the server's version.
extension PushResultApplier {
  /// One operation of a transaction, and the server's verdict on it.
  struct Member {
    var item: PushBatch.Item
    var verdict: Outcome.Verdict
    var entry: Outbox.Entry
  }

  mutating func settle(group: SyncOperation.Group, _ sent: [(item: PushBatch.Item, verdict: Outcome.Verdict)])
    throws
  {
    if try waitsBeneath(sent) { return }
    if sent.allSatisfy(\.verdict.isApplied) {
      for (item, verdict) in sent { try settle(item, verdict) }
      return
    }
    // A change that was decided about meanwhile no longer belongs to the transaction.
    let members = try sent.compactMap { item, verdict -> Member? in
      guard let entry = try OutboxQueue.entry(item.operation.record, in: transaction),
        entry.operationID == item.operation.id
      else { return nil }
      return Member(item: item, verdict: verdict, entry: entry)
    }
    if let doubt = sent.lazy.compactMap(\.verdict.rejection).first(where: \.leavesDoubt) {
      // All of it may have been applied after all, so it is sent again unchanged.
      for member in members { try postpone(member.entry, doubt) }
      return
    }
    for member in members { try OutboxQueue.recall(member.entry.id, in: transaction) }
    // Changes that were edited since are sent as they are now, and decided then.
    let isAsSent =
      members.count == sent.count
      && members.allSatisfy { $0.entry.revision == $0.item.revision && $0.entry.group == nil }
    let refused = members.compactMap { member -> (Outbox.Entry, Rejection)? in
      guard case .rejected(let rejection) = member.verdict, rejection.code != Rejection.incompleteGroup else {
        return nil
      }
      return (member.entry, rejection)
    }
    if !refused.isEmpty { return try refuse(refused, members.map(\.entry), isAsSent: isAsSent) }
    guard isAsSent else { return }
    // If the policy failed, no page shows the result, so the decision doesn't wait.
    let isDecided = members.allSatisfy { member in
      if case .failure? = decisions.pushed[member.item.operation.id]?.result { false } else { true }
    }
    if try isDecided && members.contains(where: { try isPulled($0.entry) }) {
      putOff(members)
    } else {
      try decide(members)
    }
  }

  /// Defers a conflict, because the server's version may be part of another transaction. The step that shows all pages
  /// of that transaction decides the conflict with `settleConflicts`.
  private mutating func putOff(_ members: [Member]) {
    for member in members {
      guard case .conflict(let current?) = member.verdict,
        let decision = decisions.pushed[member.item.operation.id]
      else { continue }
      decisions.pulled[member.entry.id] = PullDecision(version: current.version, decision: decision)
    }
    undecided.append(members)
  }

  /// Decides the deferred conflicts after all pages are shown. No page had their records, because they are out of
  /// sight.
  mutating func settleUndecided() throws {
    for members in undecided {
      let isOpen = try members.contains { member in
        guard case .conflict(let current) = member.verdict,
          let entry = try OutboxQueue.entry(member.entry.id, in: transaction)
        else { return false }
        // A deletion of a record that the server never had is open until it is decided.
        let isDecided = current != nil && entry.base?.version == current?.version
        return entry.base?.version == member.entry.base?.version && !isDecided
      }
      if isOpen { try decide(members) }
    }
    undecided = []
  }

  private func isPulled(_ entry: Outbox.Entry) throws -> Bool {
    let table = try transaction.catalog.table(entry.id.type)
    let row = try transaction.row(table, id: entry.id.id)
    let container = row?.container ?? entry.container ?? entry.id.type
    return try (timing.pulls + PullState.scopes(in: transaction)).contains { $0.contains(container) }
  }

  /// Treats a change that can't be sent like one that the server has rejected, with all of its transaction.
  ///
  /// - Parameter isForGood: true if no server accepts the change as it is. It then waits for an edit or a decision.
  mutating func refuse(unsent entry: Outbox.Entry, _ rejection: Rejection, isForGood: Bool = false) throws {
    if entry.isHidden {
      return try OutboxQueue.refuse(awaited: entry, rejection, at: clock.now(), in: transaction)
    }
    let unit = try entry.group == nil ? [entry] : OutboxQueue.unit(of: entry.id, in: transaction)
    try refuse([(entry, rejection)], unit, isAsSent: true, isForGood: isForGood)
    try absorbRefused()
  }

  /// Joins single changes to the rejected transactions that they are stacked on, because they may cure the rejection.
  mutating func absorbRefused() throws {
    for record in refusedTogether { try OutboxQueue.absorb(record, at: clock.now(), in: transaction) }
    refusedTogether = []
  }

  /// Stores the reasons with the rejected members. The others wait with them.
  private mutating func refuse(
    _ refused: [(entry: Outbox.Entry, rejection: Rejection)], _ members: [Outbox.Entry], isAsSent: Bool,
    isForGood: Bool = false
  ) throws {
    let isDiscarded = refused.contains {
      configuration.rejectionPolicy(for: $0.entry.id.type) == .discardAndRefetch
    }
    for (entry, rejection) in refused {
      if !isAsSent {
        try tell(entry, rejection, nextRetry: clock.now())
      } else if !isDiscarded {
        try postpone(entry, rejection, isForGood: isForGood)
      }
    }
    guard isAsSent else { return }
    if !isDiscarded { return refusedTogether += members.map(\.id) }
    let reasons = Dictionary(refused.map { ($0.entry.id, $0.rejection) }, uniquingKeysWith: { $1 })
    for entry in members {
      guard let reason = reasons[entry.id] ?? refused.first?.rejection else { continue }
      try discard(entry, reason)
    }
  }

  private mutating func decide(_ members: [Member]) throws {
    var choices: [(entry: Outbox.Entry, current: ServerRecord?, choice: MergeDecision)] = []
    var failures: [(entry: Outbox.Entry, error: any Error)] = []
    for member in members {
      guard case .conflict(let current) = member.verdict else { continue }
      guard let decision = decisions.pushed[member.item.operation.id],
        decision.revision == member.entry.revision
      else {
        return
      }
      switch decision.result {
      case .success(let choice): choices.append((member.entry, current, choice))
      case .failure(let error): failures.append((member.entry, error))
      }
    }
    for (entry, error) in failures {
      if let found = error as? UnreadableRecord {
        let current = members.first { $0.entry.id == entry.id }?.verdict.current
        try setAside(found, current)
      }
      try postpone(entry, Rejection(mergeError: error))
    }
    if failures.isEmpty { try carryOut(choices, of: members.map(\.entry)) }
  }

  /// Carries out the decisions. If the server's state stays for one record that was changed here, it stays for all.
  mutating func carryOut(
    _ choices: [(entry: Outbox.Entry, current: ServerRecord?, choice: MergeDecision)], of unit: [Outbox.Entry]
  ) throws {
    if try unit.count > 1 && choices.contains(where: { try keepsServer($0.choice, $0.entry, $0.current) }) {
      let known = choices.map { ($0.entry.id, $0.current ?? .unknown($0.entry.id)) }
      return try giveWay(unit, to: Dictionary(known, uniquingKeysWith: { $1 }))
    }
    for (entry, current, choice) in choices { try carryOut(choice, entry, current) }
  }

  private func keepsServer(
    _ choice: MergeDecision, _ entry: Outbox.Entry, _ current: ServerRecord?
  ) throws -> Bool {
    let table = try transaction.catalog.table(entry.id.type)
    let row = try OutboxQueue.local(entry, table, in: transaction)
    switch choice {
    case .server: return isEdited(entry, row, table)
    case .client: return false
    case .merged(let fields):
      guard let current, !current.isDeleted, current.fields == FieldsDocument(fields) else { return false }
      guard let row else { return true }
      return try entry.destination(row.container) == nil
        && Self.losesEdit(table.document(row), entry.base, current, current.fields, table.schema)
    }
  }
}

/// Decides conflicts between pulls and pending transactions. A page can bring another version of a record that waits
/// with others. The conflict is decided before the page is shown, so that readers never see half of another user's
/// transaction.
extension PushResultApplier {
  /// Settles the conflicts of a last page. Returns false if that isn't possible yet. The page is then staged until no
  /// change is in doubt, or the policies have decided about the current state.
  mutating func settleConflicts(with page: SyncResponse.Page) throws -> Bool {
    // Another history is compared with the local records. Conflicts with it are decided when they are sent.
    let isOtherHistory =
      try page.reset
      ? HistoryComparison(transaction).isOther(page, history)
      : PullState.load(page.scope, in: transaction).isOtherHistory
    if isOtherHistory { return true }
    let conflicts = try Self.pullConflicts(page, in: transaction)
    if conflicts.isEmpty { return true }
    for conflict in conflicts {
      let unit = try OutboxQueue.unit(of: conflict.entry.id, in: transaction)
      if unit.contains(where: { $0.operationID != nil }) { return false }
      if try decision(on: conflict.entry, conflict.change) == nil { return false }
    }
    // The change stacked on one that gives way becomes the entry, and its conflict is decided, in the same step.
    var done: [RecordID: Int64] = [:]
    while true {
      let open = Dictionary(
        try Self.pullConflicts(page, in: transaction).filter { done[$0.entry.id] != $0.entry.revision }
          .map { ($0.entry.id, $0) }, uniquingKeysWith: { $1 })
      if open.isEmpty { return true }
      // One round settles all that share no transaction. What a decision changed is looked at again in the next.
      var touched: Set<RecordID> = []
      for conflict in open.values where !touched.contains(conflict.entry.id) {
        touched.formUnion(try OutboxQueue.closure(of: conflict.entry.id, in: transaction).map(\.id))
        try settle(conflict, open, &done)
      }
    }
  }

  private mutating func settle(
    _ first: PullConflict, _ open: [RecordID: PullConflict], _ done: inout [RecordID: Int64]
  ) throws {
    let unit = try OutboxQueue.unit(of: first.entry.id, in: transaction)
    var choices: [(entry: Outbox.Entry, current: ServerRecord?, choice: MergeDecision)] = []
    var isFailed = false
    for entry in unit where !entry.isLater {
      guard let conflict = open[entry.id] else { continue }
      done[entry.id] = entry.revision
      switch try decision(on: entry, conflict.change) {
      case .success(let choice)?: choices.append((entry, conflict.change, choice))
      // The policy decides again when the change is sent. Until then the record stays as it is.
      case .failure?, nil: isFailed = true
      }
    }
    if !isFailed { try carryOut(choices, of: unit) }
  }

  /// Returns the policy's decision about a change of a page, or `nil` if it can't be known now.
  private func decision(
    on entry: Outbox.Entry, _ change: ServerRecord
  ) throws -> Result<MergeDecision, any Error>? {
    if let known = decisions.pulled[entry.id], known.version == change.version,
      known.decision.revision == entry.revision
    {
      return known.decision.result
    }
    guard try Conflicts.unreadable(entry.id, change, in: transaction) == nil,
      case .success(let context)? = try Conflicts.context(entry.id, change, true, in: transaction)?.0
    else { return nil }
    return Conflicts.decided(context, configuration).map { .success($0) }
  }
}
