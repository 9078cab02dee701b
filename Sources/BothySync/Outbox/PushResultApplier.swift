import BothyStore

/// Applies the outcomes of a batch to the store, inside the transaction of the answer. Acknowledged entries are
/// deleted, conflicts are decided, and rejections are kept with their reasons.
struct PushResultApplier {
  let transaction: WriteTransaction
  let clock: SyncClock
  let configuration: SyncOptions
  /// The decisions on conflicts, made before the transaction.
  var decisions = Conflicts.Decisions()
  /// The history of the answer, or `nil` from a server without an identity.
  var history: ServerHistory?
  /// Transactions whose conflicts wait for the pages that show the server's versions.
  var undecided: [[Member]] = []
  /// Says which conflicts of single changes wait for a pull, and what syncs pull.
  var timing = ConflictTiming()
  /// The records whose conflicts were put off until a pull.
  var putOff: Set<RecordID> = []
  /// True if the next request pulls, because a conflict was met whose version no pull has shown yet.
  var needsPull = false
  /// Records of transactions that the server has rejected.
  var refusedTogether: [RecordID] = []
  var report = SyncReport()
  /// True if pages came with the answer.
  var isPulling = false
  /// The server's results of changes that were hidden until then. `outcomes` has their ends.
  var answers: [RecordID: ServerRecord] = [:]
  var outcomes: [RecordID: SentValues.Decided] = [:]
  /// The device's user as the server names it, who owns the records created here.
  var user: String?

  /// A decision is valid for the revision it was made on.
  struct ConflictDecision: Sendable {
    var revision: Int64
    var result: Result<MergeDecision, any Error>
  }

  /// Like `ConflictDecision`, but for a version that a pull brought, and valid for that version alone.
  struct PullDecision: Sendable {
    var version: String
    var decision: ConflictDecision
  }

  mutating func settle(_ item: PushBatch.Item, _ verdict: Outcome.Verdict) throws {
    let id = item.operation.record
    guard var entry = try OutboxQueue.entry(id, in: transaction), entry.operationID == item.operation.id
    else {
      switch verdict {
      case .applied(let version, _, let record), .duplicate(let version, _, let record):
        return try settle(ended: item.operation, version, record)
      // The operation belongs to a change on top of another that wasn't accepted.
      case .conflict, .rejected, .waiting:
        return try OutboxQueue.recall(id, item.operation.id, in: transaction)
      }
    }
    if case .conflict = verdict, try putsOff(item, verdict, entry) { return }
    let table = try transaction.catalog.table(id.type)
    // Read before the journal is trimmed, because its limits may leave nothing of the entry.
    defer {
      if entry.isHidden {
        outcomes[id] = (try? Journal.outcome(of: id, at: entry.revision, in: transaction))
          .map { SentValues.Decided(revision: entry.revision, outcome: $0) }
      }
    }
    if try entry.isLeaving && canSee(verdict, item.operation, entry) {
      try OutboxQueue.leave(id, isLeaving: false, in: transaction)
      entry.isLeaving = false
    }
    switch verdict {
    case .applied(let version, let modified, let record), .duplicate(let version, let modified, let record):
      try acknowledge(item, entry, table, version: version, modified: modified, record)
    case .conflict(let current):
      try conflict(item, GivenBack.merging(entry, with: current, in: transaction), table, current)
    case .rejected(let rejection): try reject(item, entry, table, rejection)
    case .waiting: try OutboxQueue.recall(id, in: transaction)
    }
    if try entry.isLeaving || isMovedAway(item.operation, verdict, entry) { try evict(id, table) }
  }

  /// Settles a batch with its outcomes. Operations without an outcome stay in doubt.
  mutating func settle(_ batch: PushBatch, _ outcomes: [Outcome]) throws {
    let verdicts = Dictionary(outcomes.map { ($0.operation, $0.verdict) }, uniquingKeysWith: { $1 })
    for unit in batch.units {
      let sent = try unit.compactMap { item in
        try verdicts[item.operation.id].map { (item: item, verdict: try judged(item, $0)) }
      }
      guard sent.count == unit.count, let first = sent.first else { continue }
      if let group = first.item.operation.group {
        try settle(group: group, sent)
      } else {
        try settle(first.item, first.verdict)
      }
    }
    try absorbRefused()
    guard !batch.items.isEmpty else { return }
    try Journal.trim(to: configuration.journal, at: clock.learnedNow, in: transaction)
  }

  // MARK: applied

  private mutating func acknowledge(
    _ item: PushBatch.Item, _ entry: Outbox.Entry, _ table: TypeTable, version: String, modified: Int64,
    _ record: ServerRecord?
  ) throws {
    let id = item.operation.record
    report.pushed += 1
    let noted = try journal(accepted: item, entry, version: version)
    // The version that a pull reported after the operation was first applied, if the outcome arrives only now.
    let newer = entry.remoteVersion.flatMap { $0.version.isNewer(than: version) ? $0 : nil }
    let tombstone = ServerRecord(
      id: id, container: entry.container, version: version, modified: modified, isDeleted: true)
    let isDeletion = item.operation.kind == .delete
    if entry.revision == item.revision && !item.isPartial {
      let reported = isDeletion ? tombstone : record
      if entry.isHidden {
        let made = try reported ?? made(item.operation, entry, version, modified)
        answers[id] = made
        return try end(entry, newer ?? made, noted)
      }
      if entry.isBeneath {
        return try settle(
          beneath: entry, reported ?? made(item.operation, entry, version, modified), newer, noted)
      }
      if let reported = newer ?? reported { return try end(entry, reported, noted) }
      try OutboxQueue.remove(entry, noted, in: transaction)
      try know(item.operation)
      // A record that was deleted and created again here is the one that the server had.
      let metadata = metadata(of: item.operation, modified).filled(from: entry.origin)
      try transaction.setMetadata(metadata, table, id: id.id)
      return try transaction.setVersion(version, table, id: id.id)
    }
    if isDeletion {
      // Deleted there as requested, and created again here since.
      try OutboxQueue.reopen(
        id, base: nil, reported: tombstone, kind: entry.change == .delete ? .delete : .insert, in: transaction
      )
    } else {
      let sent = try Self.result(of: item.operation, on: entry.base)
      if let record { try lay(entry, madeOn: sent, on: record.fields, table) }
      try OutboxQueue.reopen(
        id,
        base: Outbox.Entry.Base(
          version: version, fields: record?.fields ?? sent,
          container: record?.container ?? item.operation.container,
          metadata: record?.metadata ?? metadata(of: item.operation, modified)),
        kind: entry.change == .delete ? .delete : .update, in: transaction)
      if let record, newer == nil { try know(record) } else { try know(item.operation) }
      try OutboxQueue.reduceSharing(of: entry, by: item.operation.sharing, in: transaction)
    }
    if let newer { try OutboxQueue.hear(newer, in: transaction) }
  }

  /// Returns the metadata of a record that the server answered without fields.
  private func metadata(of operation: SyncOperation, _ modified: Int64) -> RecordMetadata {
    let isNew = operation.kind == .insert
    return RecordMetadata(
      created: isNew ? modified : nil, modified: modified, owner: isNew ? user : nil)
  }

  /// Returns the server's fields after an operation that it answered without fields.
  static func result(of operation: SyncOperation, on base: Outbox.Entry.Base?) throws -> FieldsDocument {
    guard operation.kind == .update, let base else { return FieldsDocument(operation.fields) }
    var members = try base.fields.members()
    for (name, value) in operation.fields { members[name] = value.isNull ? nil : value }
    return FieldsDocument(members)
  }

  /// Returns the record after an operation that the server answered without fields.
  func made(
    _ operation: SyncOperation, _ entry: Outbox.Entry, _ version: String, _ modified: Int64
  ) throws -> ServerRecord {
    let isNew = operation.kind == .insert
    let known = isNew ? .nobody : try AudienceTable.sharing(of: entry.id, in: transaction)
    return ServerRecord(
      id: entry.id,
      container: operation.container ?? (isNew ? nil : entry.base?.container ?? entry.container)
        ?? entry.id.type,
      version: version, modified: modified, created: isNew ? modified : entry.origin.createdTime,
      owner: isNew ? user : entry.origin.owner,
      fields: try Self.result(of: operation, on: entry.base),
      sharing: operation.sharing?.applied(to: known) ?? known)
  }

  /// Settles a change that the server has accepted. The next one continues from the record that the server made of it.
  ///
  /// - Parameter newer: the version that was reported since, or `nil`.
  mutating func settle(
    beneath entry: Outbox.Entry, _ made: ServerRecord, _ newer: ServerRecord?, _ noted: Journal.Noted
  ) throws {
    let table = try transaction.catalog.table(entry.id.type)
    if newer == nil, !made.isDeleted {
      let local = try OutboxQueue.local(entry, table, in: transaction)
      try OutboxQueue.rebase(
        entry.id, from: local, to: table.row(made), movesDoubt: true, in: transaction)
    }
    // The change was sent on top of one that was undone here, so the server's result of both is requested.
    if entry.base?.version == OutboxQueue.unsentVersion {
      try Refetch.mark(entry.id, in: made.container, in: transaction)
    }
    try end(entry, newer ?? made, noted)
  }

  /// True if any of these operations belongs to a change on top of one that wasn't accepted. Then all of them wait
  /// again. If the server has applied them nevertheless, they stay in doubt.
  func waitsBeneath(_ sent: [(item: PushBatch.Item, verdict: Outcome.Verdict)]) throws -> Bool {
    let isBlocked = try sent.contains { item, _ in
      let id = item.operation.record
      guard let entry = try OutboxQueue.entry(id, in: transaction), entry.isBeneath,
        entry.operationID != item.operation.id
      else { return false }
      return try !OutboxQueue.laterEntries(
        where: "type = ? AND id = ? AND operation = ?",
        [id, item.operation.id], limit: 1, in: transaction
      ).isEmpty
    }
    guard isBlocked else { return false }
    if !sent.contains(where: \.verdict.isApplied) {
      for (item, _) in sent {
        try OutboxQueue.recall(item.operation.record, item.operation.id, in: transaction)
      }
    }
    return true
  }

  // MARK: shared

  private func know(_ operation: SyncOperation) throws {
    if operation.kind == .insert && operation.sharing != nil {
      try AudienceTable.set(.nobody, of: operation.record, in: transaction)
    }
    try AudienceTable.apply(operation.sharing, to: operation.record, in: transaction)
  }

  func know(_ live: ServerRecord) throws {
    try AudienceTable.set(live.sharing, of: live.id, in: transaction)
  }

  /// Ends the record's pending changes. The record becomes the newest version that was reported.
  mutating func end(_ entry: Outbox.Entry, _ reported: ServerRecord, _ noted: Journal.Noted) throws {
    let isRepaired = try OutboxQueue.end(
      entry, reported: reported, isPulling: isPulling, noted, in: transaction)
    if isRepaired { report.repaired += 1 }
  }
}

/// Handles records that leave the scopes of this device by the server's answers, and those that return.
extension PushResultApplier {
  /// True if the verdict shows that the record is visible, in a scope that this device pulls. The result of an operation
  /// that was applied before doesn't show it, because the record may have left since.
  func canSee(
    _ verdict: Outcome.Verdict, _ operation: SyncOperation, _ entry: Outbox.Entry
  ) throws -> Bool {
    let container: String
    switch verdict {
    case .applied(_, _, let record):
      container = record?.container ?? operation.container ?? entry.container ?? entry.id.type
    case .conflict(let current?) where !current.isDeleted: container = current.container
    case .duplicate, .conflict, .rejected, .waiting: return false
    }
    return try PullState.scopes(in: transaction).contains { $0.contains(container) }
  }

  /// True if an operation moved the record out of all scopes that this device pulls, or a conflict shows that others
  /// did.
  func isMovedAway(
    _ operation: SyncOperation, _ verdict: Outcome.Verdict, _ entry: Outbox.Entry
  ) throws -> Bool {
    var destination = operation.kind == .update ? operation.container : nil
    if case .conflict(let current?) = verdict { destination = current.isDeleted ? nil : current.container }
    guard let container = destination else { return false }
    let scopes = try PullState.scopes(in: transaction)
    return scopes.contains { $0.contains(entry.container ?? entry.id.type) }
      && !scopes.contains { $0.contains(container) }
  }

  /// Evicts the record. If changes of it are still pending, it is evicted when they are settled.
  func evict(_ id: RecordID, _ table: TypeTable) throws {
    guard let left = try OutboxQueue.entry(id, in: transaction) else {
      try QueryCompleteness.forget(id.type, in: transaction)
      try transaction.evict(table, id: id.id)
      return
    }
    let here = try OutboxQueue.local(left, table, in: transaction)
    let isMoved = here.map { left.destination($0.container) != nil } ?? false
    if !isMoved { try OutboxQueue.leave(id, in: transaction) }
  }
}

/// Handles changes that the server rejects, and those that can't be decided.
extension PushResultApplier {
  /// Keeps a server's version that can't be read here. Nothing is decided about it.
  mutating func setAside(_ found: UnreadableRecord, _ current: ServerRecord?) throws {
    try UnreadableTable.keep(found, current, in: transaction)
    report.unreadable.append(found)
  }

  mutating func reject(
    _ item: PushBatch.Item, _ entry: Outbox.Entry, _ table: TypeTable, _ rejection: Rejection
  ) throws {
    if entry.isHidden && !rejection.leavesDoubt {
      return try OutboxQueue.refuse(awaited: entry, rejection, at: clock.now(), in: transaction)
    }
    guard entry.revision == item.revision else {
      // Edited since: it is sent as it is now, unless the rejection leaves it in doubt.
      try tell(entry, rejection, nextRetry: clock.now())
      return rejection.leavesDoubt ? () : try OutboxQueue.recall(entry.id, in: transaction)
    }
    if configuration.rejectionPolicy(for: entry.id.type) == .discardAndRefetch && !rejection.leavesDoubt {
      return try discard(entry, rejection)
    }
    try postpone(entry, rejection)
  }

  /// Undoes the local change. The row becomes what the server last reported, and the next pull requests the record.
  mutating func discard(_ entry: Outbox.Entry, _ rejection: Rejection) throws {
    let noted = try journal(
      entry, .rejected, .rejectionPolicy, loses: true, to: entry.reported, reason: rejection)
    let container = try OutboxQueue.serverContainer(of: entry, in: transaction)
    try OutboxDecision.undo(entry, noted, in: transaction)
    try Refetch.mark(entry.id, in: container, in: transaction)
  }

  /// Keeps the entry with the reason and retries it later. An entry that was rejected as often as its type allows is
  /// quarantined until a decision. A change on which the server failed inside wasn't rejected, and is always retried.
  mutating func postpone(_ entry: Outbox.Entry, _ rejection: Rejection, isForGood: Bool = false) throws {
    var state = isForGood ? Outbox.Entry.Stage.quarantined : .pending
    if case .quarantine(let limit) = configuration.rejectionPolicy(for: entry.id.type),
      entry.attempts + 1 >= limit,
      rejection.code != Rejection.mergeFailed && !rejection.leavesDoubt
    {
      state = .quarantined
    }
    let retryAt = clock.now() + configuration.backoff.milliseconds(attempt: entry.attempts + 1)
    let noted = try tell(entry, rejection, nextRetry: state == .pending ? retryAt : nil)
    try OutboxQueue.postpone(
      entry.id, rejection, noted, until: retryAt, state: state, staysInDoubt: rejection.leavesDoubt,
      in: transaction)
  }

  /// Notes a rejection that leaves the change pending.
  @discardableResult
  mutating func tell(_ entry: Outbox.Entry, _ rejection: Rejection, nextRetry: Int64?) throws -> Journal.Noted
  {
    var row = Journal.Row(entry.id, entry.change, .refused, .rejected, revision: entry.revision)
    (row.reason, row.attempts, row.retryAt) = (rejection, entry.attempts + 1, nextRetry)
    return try note(row)
  }
}

/// Notes the results of a settlement in the journal, and with the same value in the report.
extension PushResultApplier {
  private mutating func note(_ row: Journal.Row) throws -> Journal.Noted {
    try report.add(JournalEntry(row), in: transaction)
    return try Journal.note(row, at: clock.correctedNow(), in: transaction)
  }

  /// Notes the result for an entry as it is here.
  ///
  /// - Parameters:
  ///   - loses: true if local content gives way, to `merged` or to `current`. That is the server's version, or `nil` if
  ///     the server doesn't have the record.
  @discardableResult
  mutating func journal(
    _ entry: Outbox.Entry, _ verdict: Journal.Verdict, _ cause: JournalEntry.Cause, loses: Bool = false,
    to current: ServerRecord? = nil, merged: FieldsDocument? = nil, version: String? = nil,
    reason: Rejection? = nil
  ) throws -> Journal.Noted {
    let (kind, type) = (entry.change, entry.id.type)
    let schema = try transaction.catalog.table(type).schema
    var row = Journal.Row(
      entry.id, kind, verdict, entry.isHidden ? .online : cause, revision: entry.revision)
    (row.version, row.reason, row.attempts) = (version, reason, reason == nil ? 0 : entry.attempts + 1)
    row.group = entry.group ?? entry.sentGroup
    if loses { row.loss = try Journal.Loss(entry, now: current, fields: merged, in: transaction) }
    if cause == .merge { row.policy = Conflicts.policy(for: kind, of: type, schema, configuration).name }
    return try note(row)
  }

  /// Notes that the server has what was sent. After an operation that sent a part, the rest is still pending.
  mutating func journal(
    accepted item: PushBatch.Item, _ entry: Outbox.Entry, version: String
  ) throws -> Journal.Noted {
    let operation = item.operation
    let cause = entry.isHidden ? JournalEntry.Cause.online : .acknowledged
    var row = Journal.Row(operation.record, operation.kind, .accepted, cause)
    row.revision = item.isPartial ? item.revision - 1 : item.revision
    row.version = operation.kind == .delete ? "" : version
    return try note(row)
  }
}
