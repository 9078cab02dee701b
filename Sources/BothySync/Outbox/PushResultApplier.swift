import BothyStore

/// Applies the outcomes of a batch to the store, inside the transaction of the answer. Acknowledged entries are
/// deleted, conflicts are decided, and rejections are kept with their reasons.
struct PushResultApplier {
  let transaction: WriteTransaction
  let clock: SyncClock
  let configuration: SyncOptions
  /// The decisions on conflicts, made before the transaction.
  var decisions = Conflicts.Decisions()
  /// The scopes that syncs pull as configured.
  var pulls: [SyncScope] = []
  /// The history of the answer, or `nil` from a server without an identity.
  var history: ServerHistory?
  /// Transactions whose conflicts wait for the pages that show the server's versions.
  var undecided: [[Member]] = []
  /// Records of transactions that the server has rejected.
  var refusedTogether: [RecordID] = []
  var report = SyncReport()
  /// True if pages came with the answer.
  var isPulling = false
  /// The server's results of changes that were hidden until then. `outcomes` has their ends.
  var answers: [RecordID: ServerRecord] = [:]
  var outcomes: [RecordID: SentValues.Decided] = [:]
  /// The device's user as the server names it, who owns the records created here.
  var principal: String?

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
      // The operation belongs to a change on top of another that wasn't accepted.
      return verdict.isApplied ? () : try OutboxQueue.recall(id, item.operation.id, in: transaction)
    }
    let table = try transaction.catalog.table(id.type)
    // Read before the journal is trimmed, because its limits may leave nothing of the entry.
    defer { if entry.isHidden { outcomes[id] = try? decided(id, entry.revision) } }
    if try entry.isLeaving && isInSight(verdict, item.operation, entry) {
      try OutboxQueue.leave(id, isLeaving: false, in: transaction)
      entry.isLeaving = false
    }
    switch verdict {
    case .applied(let version, let modified, let record), .duplicate(let version, let modified, let record):
      try acknowledge(item, entry, table, version: version, modified: modified, record)
    case .conflict(let current):
      try conflict(item, GivenBack.merging(entry, in: transaction), table, current)
    case .rejected(let rejection): try reject(item, entry, table, rejection)
    case .waiting: try OutboxQueue.recall(id, in: transaction)
    }
    if try entry.isLeaving || isMovedAway(item.operation, verdict, entry) { try letGo(id, table) }
  }

  /// Settles a batch with its outcomes. Operations without an outcome stay in doubt.
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
    try absorbRefused()
    if !batch.items.isEmpty { try Journal.trim(to: configuration.journal, at: clock.now(), in: transaction) }
  }

  // MARK: applied

  private mutating func acknowledge(
    _ item: PushBatch.Item, _ entry: Outbox.Entry, _ table: TypeTable, version: String, modified: Int64,
    _ record: ServerRecord?
  ) throws {
    let id = item.operation.record
    report.pushed += 1
    let noted = try journal(accepted: item, entry, version: version)
    switch item.operation.kind {
    case .insert: report.note(id, .insertedOnServer)
    case .update: report.note(id, .updatedOnServer)
    case .delete: report.note(id, .deletedFromServer)
    }
    // The version that a pull reported after the operation was first applied, if the outcome arrives only now.
    let newer = entry.remoteVersion.flatMap { $0.version.isNewer(than: version) ? $0 : nil }
    let tombstone = ServerRecord(
      id: id, container: entry.container, version: version, modified: modified, isDeleted: true)
    let isDeletion = item.operation.kind == .delete
    if entry.revision == item.revision && !item.isPartial {
      let told = isDeletion ? tombstone : record
      if entry.isHidden {
        let made = try told ?? made(item.operation, entry, version, modified)
        answers[id] = made
        return try end(entry, newer ?? made, noted)
      }
      if entry.isBeneath {
        return try settle(
          beneath: entry, told ?? made(item.operation, entry, version, modified), newer, noted)
      }
      if let told = newer ?? told { return try end(entry, told, noted) }
      try OutboxQueue.remove(id, noted, in: transaction)
      try know(item.operation)
      // A record that was deleted and created again here is the one that the server had.
      let metadata = metadata(of: item.operation, modified).filled(from: entry.origin)
      try transaction.setMetadata(metadata, table, id: id.id)
      return try transaction.setVersion(version, table, id: id.id)
    }
    if isDeletion {
      // Deleted there as requested, and created again here since.
      try OutboxQueue.reopen(
        id, base: nil, told: tombstone, kind: entry.kind == .delete ? .delete : .insert, in: transaction)
    } else {
      let fields = try record?.fields ?? Self.result(of: item.operation, on: entry.base)
      try OutboxQueue.reopen(
        id,
        base: Outbox.Entry.Base(
          version: version, fields: fields, container: record?.container ?? item.operation.container,
          metadata: record?.metadata ?? metadata(of: item.operation, modified)),
        kind: entry.kind == .delete ? .delete : .update, in: transaction)
      try know(item.operation)
      try OutboxQueue.reduceSharing(of: entry, by: item.operation.sharing, in: transaction)
    }
    if let newer { try OutboxQueue.hear(newer, in: transaction) }
  }

  /// Returns the metadata of a record that the server answered without fields.
  private func metadata(of operation: SyncOperation, _ modified: Int64) -> RecordMetadata {
    let isNew = operation.kind == .insert
    return RecordMetadata(
      created: isNew ? modified : nil, modified: modified, owner: isNew ? principal : nil)
  }

  /// Returns the server's fields after an operation that it answered without fields.
  static func result(of operation: SyncOperation, on base: Outbox.Entry.Base?) throws -> FieldsDocument {
    guard operation.kind == .update, let base else { return FieldsDocument(operation.fields) }
    var members = try base.fields.members()
    for (name, value) in operation.fields { members[name] = value.isNull ? nil : value }
    return FieldsDocument(members)
  }

  // MARK: conflicts

  private mutating func conflict(
    _ item: PushBatch.Item, _ entry: Outbox.Entry, _ table: TypeTable, _ current: ServerRecord?
  ) throws {
    let id = item.operation.record
    let live = current?.live
    if entry.kind == .delete && live == nil { return try wasDeleted(entry, current) }
    if let live, entry.isWhole { return try lay(entry, on: live, table) }
    if let live, entry.kind != .delete, let row = try OutboxQueue.local(entry, table, in: transaction),
      table.document(row) == live.fields, row.container ?? id.type == live.container,
      try !Self.countsUp(row, entry.base, table)
    {
      report.note(id, .updatedCache)
      return try become(live, entry, journal(entry, .accepted, .agreed, version: live.version))
    }
    guard let decision = decisions.pushed[item.operation.id], decision.revision == entry.revision else {
      // Edited while the policy ran: the change is sent and decided again.
      return try OutboxQueue.recall(id, in: transaction)
    }
    switch decision.result {
    case .failure(let error):
      if let found = error as? UnreadableRecord { try setAside(found, current) }
      let rejection = Rejection(mergeError: error)
      if entry.isHidden {
        return try OutboxQueue.refuse(awaited: entry, rejection, at: clock.now(), in: transaction)
      }
      try postpone(entry, rejection)
    case .success(.server): try takeServer(entry, table, live, current)
    case .success(.client): try takeClient(entry, table, live, current)
    case .success(.merged(let fields)): try take(merged: fields, entry, table, live, current)
    }
  }

  /// Settles a record that both sides deleted.
  mutating func wasDeleted(_ entry: Outbox.Entry, _ current: ServerRecord?) throws {
    report.note(entry.record, .alreadyDeleted)
    try end(entry, current ?? .unknown(entry.record), journal(entry, .accepted, .agreed))
  }

  /// True if a counter was changed here. Then equal content doesn't mean that both sides made the same change.
  private static func countsUp(_ row: StoredRow, _ base: Outbox.Entry.Base?, _ table: TypeTable) throws
    -> Bool
  {
    let counters = table.schema.fields.filter { $0.merge == .counter }
    guard !counters.isEmpty else { return false }
    let changed = try PushBatchBuilder.changedFields(table.document(row), since: base)
    return counters.contains { changed[$0.name] != nil }
  }

  /// True if anything but the sharing of the record was changed here.
  func isEdited(_ entry: Outbox.Entry, _ row: StoredRow?, _ table: TypeTable) -> Bool {
    guard let row else { return true }
    return table.document(row) != entry.base?.fields || entry.destination(row.container) != nil
  }

  mutating func takeServer(
    _ entry: Outbox.Entry, _ table: TypeTable, _ live: ServerRecord?, _ current: ServerRecord?
  ) throws {
    let id = entry.record
    let row = try OutboxQueue.local(entry, table, in: transaction)
    let isSame =
      row.map { table.document($0) } == live?.fields && row?.container ?? id.type == live?.container
    let noted: Journal.Noted
    // Sharing alone doesn't concern fields. It stays pending while a record exists to share.
    if live != nil && (isSame || !isEdited(entry, row, table)) {
      noted = try journal(entry, .accepted, .agreed, version: live?.version)
    } else {
      let lost = row.map { table.document($0) }
      if isEdited(entry, row, table) {
        report.overwritten.append(SyncReport.ReplacedContent(record: id, fields: lost))
      }
      noted = try journal(entry, .overwritten, .merge, loses: true, to: current, version: live?.version)
      try OutboxQueue.takeOut(entry, in: transaction)
    }
    if let live {
      try become(live, entry, noted)
      report.note(id, .updatedCache)
    } else if entry.isBeneath {
      try end(entry, current ?? .unknown(id), noted)
    } else {
      var orphans = MissingParents(transaction, configuration.orphans)
      // Removes the entry first, because one that recreates the record may follow it.
      try OutboxQueue.remove(id, noted, in: transaction)
      if try orphans.deletes(id) {
        if try OutboxQueue.show(entry, told: current ?? .unknown(id), in: transaction) {
          report.repaired += 1
        }
        report.note(id, .removedFromCache)
      }
      report.overwritten += orphans.overwritten
    }
  }

  /// Keeps the local state pending, now against the server's version.
  mutating func takeClient(
    _ entry: Outbox.Entry, _ table: TypeTable, _ live: ServerRecord?, _ current: ServerRecord?
  ) throws {
    if let live, var row = try OutboxQueue.local(entry, table, in: transaction),
      entry.base != nil && entry.destination(row.container) == nil
    {
      // The record wasn't moved here, so the server decides about its container.
      row.container = live.container == table.schema.name ? nil : live.container
      if entry.awaited != nil {
        try OutboxQueue.setLocal(entry, table, row, in: transaction)
      } else {
        try transaction.setContainer(live.container, table, id: entry.record.id)
      }
    }
    if let live { try know(live) }
    let kind: ChangeKind = entry.kind == .delete ? .delete : live == nil ? .insert : .update
    try reopen(entry, live, current, kind)
  }

  /// Makes a change pending against the server's version. A record that is created again after others deleted it
  /// remembers the base of its edits. If others create it again too, it is merged against that base, and fields that
  /// weren't edited here are theirs.
  private mutating func reopen(
    _ entry: Outbox.Entry, _ live: ServerRecord?, _ current: ServerRecord?, _ kind: ChangeKind
  ) throws {
    let id = entry.record
    try OutboxQueue.reopen(
      id, base: live.map { Outbox.Entry.Base($0) }, told: live == nil ? current : nil, kind: kind,
      in: transaction)
    if live == nil, let base = entry.base {
      try GivenBack.note(id, GivenBack.State(base: base, position: nil), in: transaction)
    }
  }

  mutating func take(
    merged fields: [String: JSONValue], _ entry: Outbox.Entry, _ table: TypeTable, _ live: ServerRecord?,
    _ current: ServerRecord?
  ) throws {
    let id = entry.record
    var document = FieldsDocument(fields)
    if let live {
      if let carried = try table.carrying(live.fields, in: table.row(document), since: live.fields) {
        document = table.document(carried)
      }
    }
    let before = try OutboxQueue.local(entry, table, in: transaction)
    let isMovedThere = live.map { $0.container != entry.container ?? id.type } ?? false
    let moved = isMovedThere ? nil : before.flatMap { entry.destination($0.container) }
    let container = moved ?? live?.container ?? before?.container ?? id.type
    let lost = try before.flatMap { before in
      // The container is lost too if it was chosen here, for a record that was created or moved here.
      let isPlaced = entry.base == nil || entry.destination(before.container) != nil
      let losesPlace = isPlaced && before.container ?? id.type != container
      let mine = table.document(before)
      return try losesPlace || Self.losesEdit(mine, entry.base, document) ? mine : nil
    }
    if let lost { report.overwritten.append(SyncReport.ReplacedContent(record: id, fields: lost)) }
    if let live, live.fields == document && container == live.container {
      let isAsWritten = before.map { table.document($0) == document } ?? false
      let verdict: Journal.Verdict = lost != nil ? .overwritten : isAsWritten ? .accepted : .merged
      let noted = try journal(
        entry, verdict, isAsWritten ? .agreed : .merge, loses: lost != nil, to: live, version: live.version)
      try become(live, entry, noted)
      return report.note(id, .updatedCache)
    }
    try journal(entry, .merging, .merge, loses: lost != nil, to: live, merged: document)
    let row = try table.row(document, in: container, version: live?.version)
    try OutboxQueue.setLocal(entry, table, row, in: transaction)
    if entry.isBeneath {
      try OutboxQueue.rebase(id, from: before, to: row, movesDoubt: true, in: transaction)
    }
    if let live { try know(live) }
    try reopen(entry, live, current, live == nil ? .insert : .update)
  }

  /// True if a field edited here ends with another value than the local edit gave it.
  static func losesEdit(
    _ local: FieldsDocument, _ base: Outbox.Entry.Base?, _ merged: FieldsDocument
  ) throws -> Bool {
    let result = try merged.members()
    return try PushBatchBuilder.changedFields(local, since: base).contains {
      result[$0.key] ?? .null != $0.value
    }
  }

  // MARK: shared

  /// Makes the record the server's version. Sharing that the server lacks stays pending, because a conflict over fields
  /// or containers doesn't decide about it.
  private mutating func become(_ live: ServerRecord, _ entry: Outbox.Entry, _ noted: Journal.Noted) throws {
    guard entry.sharing?.rest(over: live.sharing) != nil, entry.kind != .delete else {
      return try end(entry, live, noted)
    }
    if entry.awaited == nil {
      try put(live)
    } else {
      let table = try transaction.catalog.table(entry.record.type)
      let before = try OutboxQueue.local(entry, table, in: transaction)
      try hide(live, entry)
      if entry.isBeneath, let now = try OutboxQueue.entry(entry.record, in: transaction) {
        let current = try OutboxQueue.local(now, table, in: transaction)
        try OutboxQueue.rebase(entry.record, from: before, to: current, movesDoubt: true, in: transaction)
      }
    }
    try OutboxQueue.reopen(entry.record, base: Outbox.Entry.Base(live), kind: .update, in: transaction)
  }

  private func know(_ operation: SyncOperation) throws {
    if operation.kind == .insert && operation.sharing != nil {
      var known = try AudienceTable(transaction)
      try known.set(.nobody, of: operation.record)
    }
    try AudienceTable.apply(operation.sharing, to: operation.record, in: transaction)
  }

  func know(_ live: ServerRecord) throws {
    var known = try AudienceTable(transaction)
    try known.set(live.sharing, of: live.id)
  }

  /// Ends the record's pending changes. The record becomes the newest version that was reported.
  mutating func end(_ entry: Outbox.Entry, _ told: ServerRecord, _ noted: Journal.Noted) throws {
    let isRepaired = try OutboxQueue.end(entry, told: told, isPulling: isPulling, noted, in: transaction)
    if isRepaired { report.repaired += 1 }
  }

  mutating func put(_ record: ServerRecord) throws {
    if try OutboxQueue.apply(record, in: transaction) { report.repaired += 1 }
  }
}
