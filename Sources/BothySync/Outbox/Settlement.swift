import BothyStore

/// Brings the outcomes of a batch into the store, inside the transaction of the answer: acknowledged entries are
/// cleared, conflicts decided, refusals kept with their reason.
struct Settlement {
  let transaction: WriteTransaction
  let clock: SyncClock
  let rejections: @Sendable (String) -> RejectionPolicy
  let backoff: Backoff
  /// The decisions on conflicts, made before the transaction, by operation id.
  let decisions: [String: ConflictDecision]
  /// Those on records of together-writes that a pull brings in other versions.
  var pullDecisions: [RecordID: PullDecision] = [:]
  /// The scopes that syncs pull as configured.
  var pulls: [PullScope] = []
  /// Together-writes whose conflicts wait for the pages that show what they are about.
  var undecided: [[Member]] = []
  var report: SyncReport
  var orphans = OrphanPolicy.deleteRule

  /// A decision is valid for the revision it was made on.
  struct ConflictDecision: Sendable {
    var revision: Int64
    var result: Result<MergeDecision, any Error>
  }

  /// The same for what a pull brought: also for this version of it alone.
  struct PullDecision: Sendable {
    var version: String
    var decision: ConflictDecision
  }

  mutating func settle(_ item: PushBatch.Item, _ verdict: Outcome.Verdict) throws {
    let id = item.operation.record
    guard let entry = try Outbox.entry(id, in: transaction), entry.operationID == item.operation.id else {
      return
    }
    let table = try transaction.catalog.table(id.type)
    switch verdict {
    case .applied(let version, let modified, let record), .duplicate(let version, let modified, let record):
      try acknowledge(item, entry, table, version: version, modified: modified, record)
    case .conflict(let current): try conflict(item, entry, table, current)
    case .rejected(let rejection): try reject(item, entry, table, rejection)
    case .waiting: try Outbox.recall(id, in: transaction)
    }
    let isBack = try entry.isLeaving && isInSight(verdict, item.operation, entry)
    if isBack { try Outbox.leave(id, isLeaving: false, in: transaction) }
    if try entry.isLeaving && !isBack || isMovedAway(item.operation, verdict, entry) { try letGo(id, table) }
  }

  // MARK: what this device does not follow

  /// Whether the server showed by its verdict that the record may be seen, where this device follows it.
  private func isInSight(
    _ verdict: Outcome.Verdict, _ operation: Operation, _ entry: OutboxEntry
  ) throws -> Bool {
    let container: String
    switch verdict {
    case .applied(_, _, let record), .duplicate(_, _, let record):
      container = record?.container ?? operation.container ?? entry.container ?? entry.record.type
    case .conflict(let current?) where !current.isDeleted: container = current.container
    case .conflict, .rejected, .waiting: return false
    }
    return try PullState.scopes(in: transaction).contains { $0.contains(container) }
  }

  /// Whether an operation moved the record out of all that is followed here, or others did, as a conflict tells.
  private func isMovedAway(
    _ operation: Operation, _ verdict: Outcome.Verdict, _ entry: OutboxEntry
  ) throws -> Bool {
    var destination = operation.kind == .update ? operation.container : nil
    if case .conflict(let current?) = verdict { destination = current.isDeleted ? nil : current.container }
    guard let container = destination else { return false }
    let scopes = try PullState.scopes(in: transaction)
    return scopes.contains { $0.contains(entry.container ?? entry.record.type) }
      && !scopes.contains { $0.contains(container) }
  }

  /// Removes the record unless something of it is still pending: then it goes when that is settled.
  private func letGo(_ id: RecordID, _ table: TypeTable) throws {
    guard let left = try Outbox.entry(id, in: transaction) else {
      try transaction.evict(table, id: id.id)
      return
    }
    let isMoved = try transaction.row(table, id: id.id).map { left.destination($0.container) != nil } ?? false
    if !isMoved { try Outbox.leave(id, in: transaction) }
  }

  /// Settles what a batch was answered; operations without an answer stay in doubt.
  mutating func settle(_ batch: PushBatch, _ outcomes: [Outcome]) throws {
    let verdicts = Dictionary(outcomes.map { ($0.operation, $0.verdict) }, uniquingKeysWith: { $1 })
    for unit in batch.units {
      let sent = unit.compactMap { item in verdicts[item.operation.id].map { (item: item, verdict: $0) } }
      guard sent.count == unit.count, let first = sent.first else { continue }
      if let group = first.item.operation.group {
        try settle(group: group, sent)
      } else {
        try settle(first.item, first.verdict)
      }
    }
    if !batch.items.isEmpty { try Journal.trim(in: transaction) }
  }

  // MARK: applied

  private mutating func acknowledge(
    _ item: PushBatch.Item, _ entry: OutboxEntry, _ table: TypeTable, version: String, modified: Int64,
    _ record: ServerRecord?
  ) throws {
    let id = item.operation.record
    report.pushed += 1
    try journal(accepted: item, version: version)
    switch item.operation.kind {
    case .insert: report.note(id, .insertedOnServer)
    case .update: report.note(id, .updatedOnServer)
    case .delete: report.note(id, .deletedFromServer)
    }
    // What a pull told after the operation was first applied, if it is told of only now.
    let newer = entry.shadow.flatMap { $0.version.isNewer(than: version) ? $0 : nil }
    if entry.revision == item.revision && !item.isPartial {
      try Outbox.remove(id, in: transaction)
      if let newer { return try put(newer) }
      if item.operation.kind == .delete { return }
      if let record { return try put(record) }
      try know(item.operation)
      return try transaction.setVersion(version, table, id: id.id)
    }
    if item.operation.kind == .delete {
      // Deleted there as asked; made again here since.
      try reopen(id, base: nil, kind: entry.kind == .delete ? .delete : .insert)
    } else {
      let fields = try record?.fields ?? Self.result(of: item.operation, on: entry.base)
      try reopen(
        id,
        base: OutboxEntry.Base(
          version: version, fields: fields, container: record?.container ?? item.operation.container),
        kind: entry.kind == .delete ? .delete : .update)
      try know(item.operation)
      try Outbox.reduceSharing(of: entry, by: item.operation.sharing, in: transaction)
    }
    if let newer { try Outbox.keep(shadow: newer, in: transaction) }
  }

  /// What the server has after applying an operation that it answered without fields.
  static func result(of operation: Operation, on base: OutboxEntry.Base?) throws -> FieldsDocument {
    guard operation.kind == .update, let base else { return FieldsDocument(operation.fields) }
    var members = try base.fields.members()
    for (name, value) in operation.fields { members[name] = value.isNull ? nil : value }
    return FieldsDocument(members)
  }

  // MARK: conflicts

  private mutating func conflict(
    _ item: PushBatch.Item, _ entry: OutboxEntry, _ table: TypeTable, _ current: ServerRecord?
  ) throws {
    let id = item.operation.record
    let live = current.flatMap { $0.isDeleted ? nil : $0 }
    if entry.kind == .delete && live == nil {
      report.note(id, .alreadyDeleted)
      try journal(entry, .accepted)
      return try Outbox.remove(id, in: transaction)
    }
    if let live, entry.kind != .delete, let row = try transaction.row(table, id: id.id),
      table.document(row) == live.fields, row.container ?? id.type == live.container,
      try !Self.countsUp(row, entry.base, table)
    {
      report.note(id, .updatedCache)
      try journal(entry, .accepted, version: live.version)
      return try become(live, entry)
    }
    guard let decision = decisions[item.operation.id], decision.revision == entry.revision else {
      // Edited while the policy was asked: it is sent again and asked again.
      return try Outbox.recall(id, in: transaction)
    }
    switch decision.result {
    case .failure(let error):
      if let found = error as? UnreadableRecord { try setAside(found, current) }
      try postpone(entry, Rejection(mergeError: error))
    case .success(.server): try takeServer(entry, table, live, current)
    case .success(.client): try takeClient(entry, table, live)
    case .success(.merged(let fields)): try take(merged: fields, entry, table, live)
    }
  }

  /// Whether a counter was changed here: then equal content does not mean that both made the same change.
  private static func countsUp(_ row: StoredRow, _ base: OutboxEntry.Base?, _ table: TypeTable) throws -> Bool
  {
    let counters = table.schema.fields.filter { $0.merge == .counter }
    guard !counters.isEmpty else { return false }
    let changed = try PushBatchBuilder.changedFields(table.document(row), since: base)
    return counters.contains { changed[$0.name] != nil }
  }

  /// Whether anything but the sharing of the record was changed here.
  func isEdited(_ entry: OutboxEntry, _ row: StoredRow?, _ table: TypeTable) -> Bool {
    guard let row else { return true }
    return table.document(row) != entry.base?.fields || entry.destination(row.container) != nil
  }

  mutating func takeServer(
    _ entry: OutboxEntry, _ table: TypeTable, _ live: ServerRecord?, _ current: ServerRecord?
  ) throws {
    let id = entry.record
    let row = try transaction.row(table, id: id.id)
    let isSame =
      row.map { table.document($0) } == live?.fields && row?.container ?? id.type == live?.container
    if live != nil && isSame {
      try journal(entry, .accepted, version: live?.version)
    } else if isEdited(entry, row, table) {
      let lost = row.map { table.document($0) }
      report.overwritten.append(Overwritten(record: id, fields: lost))
      try journal(entry, .overwritten, version: live?.version, lost: lost)
    }
    if let live {
      try become(live, entry)
      report.note(id, .updatedCache)
    } else {
      try Outbox.remove(id, in: transaction)
      var orphans = Orphans(transaction, orphans)
      if try orphans.deletes(id) {
        try transaction.evict(table, id: id.id)
        report.note(id, .removedFromCache)
      }
      report.overwritten += orphans.overwritten
    }
  }

  /// The local state stays pending, now against what the server has.
  mutating func takeClient(_ entry: OutboxEntry, _ table: TypeTable, _ live: ServerRecord?) throws {
    let base = live.map { OutboxEntry.Base($0) }
    if let live, let row = try transaction.row(table, id: entry.record.id),
      entry.base != nil && entry.destination(row.container) == nil
    {
      // It was not moved here: where it is, is for the server to say.
      try transaction.setContainer(live.container, table, id: entry.record.id)
    }
    if let live { try know(live) }
    let kind: Operation.Kind = entry.kind == .delete ? .delete : base == nil ? .insert : .update
    try reopen(entry.record, base: base, kind: kind)
  }

  mutating func take(
    merged fields: [String: JSONValue], _ entry: OutboxEntry, _ table: TypeTable, _ live: ServerRecord?
  ) throws {
    let id = entry.record
    let document = FieldsDocument(fields)
    let before = try transaction.row(table, id: id.id)
    let isMovedThere = live.map { $0.container != entry.container ?? id.type } ?? false
    let moved = isMovedThere ? nil : before.flatMap { entry.destination($0.container) }
    let container = moved ?? live?.container ?? before?.container ?? id.type
    let lost = try before.flatMap { before in
      // The place is lost too where it was chosen here: of a record made here, or moved here.
      let isPlaced = entry.base == nil || entry.destination(before.container) != nil
      let losesPlace = isPlaced && before.container ?? id.type != container
      let mine = table.document(before)
      return try losesPlace || Self.losesEdit(mine, entry.base, document) ? mine : nil
    }
    if let lost { report.overwritten.append(Overwritten(record: id, fields: lost)) }
    if let live, live.fields == document && container == live.container {
      let isAsWritten = before.map { table.document($0) == document } ?? false
      let verdict: Journal.Verdict = lost != nil ? .overwritten : isAsWritten ? .accepted : .merged
      try journal(entry, verdict, version: live.version, lost: lost)
      try become(live, entry)
      return report.note(id, .updatedCache)
    }
    try journal(entry, .merging, lost: lost)
    var repaired = false
    let row = try table.row(
      document, container: container, version: live?.version, repaired: &repaired)
    try transaction.replace(table, id: id.id, row)
    if let live { try know(live) }
    try reopen(
      id, base: live.map { OutboxEntry.Base($0) },
      kind: live == nil ? .insert : .update)
  }

  /// Whether a field edited here ends with another value than it was given here.
  static func losesEdit(
    _ local: FieldsDocument, _ base: OutboxEntry.Base?, _ merged: FieldsDocument
  ) throws -> Bool {
    let result = try merged.members()
    return try PushBatchBuilder.changedFields(local, since: base).contains {
      result[$0.key] ?? .null != $0.value
    }
  }

  // MARK: refusals

  /// The server has the record as it can't be read here: nothing is decided about it.
  mutating func setAside(_ found: UnreadableRecord, _ current: ServerRecord?) throws {
    try UnreadableTable.keep(found, current, in: transaction)
    report.unreadable.append(found)
  }

  private mutating func reject(
    _ item: PushBatch.Item, _ entry: OutboxEntry, _ table: TypeTable, _ rejection: Rejection
  ) throws {
    guard entry.revision == item.revision else {
      // Edited since: it is sent as it is now, where the server has answered.
      try report.failures.append(failure(entry, rejection, nextRetry: clock.now()))
      return rejection.leavesDoubt ? () : try Outbox.recall(entry.record, in: transaction)
    }
    if rejections(entry.record.type) == .discardAndRefetch && !rejection.leavesDoubt {
      try report.failures.append(failure(entry, rejection, nextRetry: nil))
      return try discard(entry, table, rejection)
    }
    try postpone(entry, rejection)
  }

  /// Undoes the local change: the row is what the server last told, and the next pull of its container is whole.
  mutating func discard(_ entry: OutboxEntry, _ table: TypeTable, _ rejection: Rejection) throws {
    let lost = try transaction.row(table, id: entry.record.id).map { table.document($0) }
    report.overwritten.append(Overwritten(record: entry.record, fields: lost))
    try journal(entry, .rejected, reason: rejection, lost: lost)
    try InboxDecision.revert(entry, table, in: transaction)
    try PullState.resetAll(in: transaction)
  }

  /// Keeps the entry with the reason, to be tried later or, when it was refused as often as its type allows, not
  /// until somebody decides. A change on which the server failed inside was not refused, and is always tried later.
  mutating func postpone(_ entry: OutboxEntry, _ rejection: Rejection) throws {
    var state = OutboxEntry.State.pending
    if case .quarantine(let limit) = rejections(entry.record.type), entry.attempts + 1 >= limit,
      rejection.code != Rejection.mergeFailed && !rejection.leavesDoubt
    {
      state = .quarantined
    }
    let retryAt = clock.now() + backoff.milliseconds(attempt: entry.attempts + 1)
    try report.failures.append(failure(entry, rejection, nextRetry: state == .pending ? retryAt : nil))
    try Outbox.postpone(
      entry.record, rejection, until: retryAt, state: state, staysInDoubt: rejection.leavesDoubt,
      in: transaction)
  }

  func failure(_ entry: OutboxEntry, _ rejection: Rejection, nextRetry: Int64?) throws -> SyncFailure {
    SyncFailure(
      record: entry.record, operation: entry.kind, rejection: rejection, attempts: entry.attempts + 1,
      nextRetry: nextRetry, revision: entry.revision,
      local: try Outbox.localContent(of: entry.record, in: transaction))
  }

  // MARK: shared

  private func reopen(_ id: RecordID, base: OutboxEntry.Base?, kind: Operation.Kind) throws {
    let known = try Outbox.entry(id, in: transaction)?.shadow
    try Outbox.reopen(id, base: base, kind: kind, in: transaction)
    // What was told since the answer was made stays known.
    if let known, let base, !known.isAbsence, known.version.isNewer(than: base.version) {
      try Outbox.keep(shadow: known, in: transaction)
    }
  }

  /// The record is what the server has. What of its sharing the server has not is still pending: a conflict over
  /// fields or containers decides nothing about it.
  private mutating func become(_ live: ServerRecord, _ entry: OutboxEntry) throws {
    let rest = entry.sharing.map { SharingChange(from: live.sharing, to: $0.applied(to: live.sharing)) }
    guard let rest, !rest.isEmpty, entry.kind != .delete else {
      try Outbox.remove(entry.record, in: transaction)
      return try put(live)
    }
    try put(live)
    try reopen(entry.record, base: OutboxEntry.Base(live), kind: .update)
  }

  private func know(_ operation: Operation) throws {
    if operation.kind == .insert && operation.sharing != nil {
      var known = try KnownSharing(transaction)
      try known.set(.nobody, of: operation.record)
    }
    try KnownSharing.apply(operation.sharing, to: operation.record, in: transaction)
  }

  private func know(_ live: ServerRecord) throws {
    var known = try KnownSharing(transaction)
    try known.set(live.sharing, of: live.id)
  }

  mutating func put(_ record: ServerRecord) throws {
    if try Outbox.apply(record, in: transaction) { report.repaired += 1 }
  }
}
