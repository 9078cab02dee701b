import BothyStore

/// Decides conflicts between changes made here and those of others, in the transaction of the answer.
extension PushResultApplier {
  mutating func conflict(
    _ item: PushBatch.Item, _ entry: Outbox.Entry, _ table: TypeTable, _ current: ServerRecord?
  ) throws {
    let id = item.operation.record
    let live = current?.live
    if entry.change == .delete && live == nil { return try wasDeleted(entry, current) }
    if let live, entry.isWhole { return try lay(entry, on: live, table) }
    if let live, entry.change != .delete, let row = try OutboxQueue.local(entry, table, in: transaction),
      table.document(row) == live.fields, row.container ?? id.type == live.container,
      try !Self.countsUp(row, entry.base, table)
    {
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
    case .success(let choice): try carryOut(choice, entry, current)
    }
  }

  /// Carries out the decision about a conflict. `current` is the server's version.
  mutating func carryOut(_ choice: MergeDecision, _ entry: Outbox.Entry, _ current: ServerRecord?) throws {
    let table = try transaction.catalog.table(entry.id.type)
    switch choice {
    case .client where entry.change == .delete && current?.live == nil: try wasDeleted(entry, current)
    case .client: try takeClient(entry, table, current)
    case .server: try giveWay(entry, to: current ?? .unknown(entry.id))
    case .merged(let fields): try take(merged: fields, entry, table, current)
    }
  }

  /// Settles a record that both sides deleted.
  private mutating func wasDeleted(_ entry: Outbox.Entry, _ current: ServerRecord?) throws {
    try end(entry, current ?? .unknown(entry.id), journal(entry, .accepted, .agreed))
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

  /// Lets the server's version win over a change, alone or with all of its transaction. The record becomes the newest
  /// version that the server has reported, because a pull doesn't report it again.
  ///
  /// - Parameters:
  ///   - current: the server's version, or `nil` if no answer was about the record.
  ///   - isTogether: true if all of a transaction gives way. Then its sharing is undone too.
  mutating func giveWay(_ entry: Outbox.Entry, to current: ServerRecord?, isTogether: Bool = false) throws {
    let (id, table) = (entry.id, try transaction.catalog.table(entry.id.type))
    let reported = try entry.reported(since: current) ?? OutboxQueue.reported(of: entry, in: transaction)
    let live = reported?.live
    let row = try OutboxQueue.local(entry, table, in: transaction)
    let isEdited = isEdited(entry, row, table)
    let isSame =
      row.map { table.document($0) } == live?.fields && row?.container ?? id.type == live?.container
    let version = entry.isLater ? nil : live?.version
    let noted: Journal.Noted
    // Sharing alone doesn't concern fields. It stays pending while a record exists to share.
    if !isTogether && live != nil && (isSame || !isEdited) {
      noted = try journal(entry, .accepted, .agreed, version: version)
    } else {
      noted = try journal(
        entry, .overwritten, isTogether ? .atomic : .merge, loses: true, to: reported, version: version)
      if !entry.isLater { try OutboxQueue.takeOut(entry, in: transaction) }
    }
    if entry.isLater {
      // Changes stacked on it by another transaction have lost their base.
      guard let next = try OutboxQueue.undo(later: entry, noted, in: transaction), let group = next.group
      else { return }
      try giveWay(OutboxQueue.members(of: group, in: transaction), to: [:])
    } else if let live, !isTogether {
      try become(live, entry, noted)
    } else if let reported, reported.isDeleted, !entry.isBeneath {
      var orphans = MissingParents(transaction, configuration.orphans)
      // Removes the entry first, because one that recreates the record may follow it.
      try OutboxQueue.remove(entry, noted, in: transaction)
      if try orphans.deletes(id), try OutboxQueue.show(entry, reported: reported, in: transaction) {
        report.repaired += 1
      }
      report.overwritten += orphans.overwritten
    } else {
      try OutboxDecision.revert(entry, reported: current, noted, in: transaction)
    }
  }

  /// Lets all of a transaction give way. Records that others deleted come last, because what happens to them depends on
  /// those that still refer to them.
  ///
  /// - Parameter known: the server's versions, as far as answers were about the records.
  mutating func giveWay(_ unit: [Outbox.Entry], to known: [RecordID: ServerRecord]) throws {
    let isGone = { (entry: Outbox.Entry) in (known[entry.id] ?? entry.remoteVersion)?.isDeleted ?? false }
    for entry in unit.filter({ !isGone($0) }) + unit.filter(isGone) {
      // A change that gave way with another of its transaction has already ended.
      guard let entry = try OutboxQueue.current(entry, in: transaction) else { continue }
      try giveWay(entry, to: known[entry.id], isTogether: true)
    }
  }

  /// Keeps the local state pending, now against the server's version.
  private mutating func takeClient(
    _ entry: Outbox.Entry, _ table: TypeTable, _ current: ServerRecord?
  ) throws {
    let live = current?.live
    if let live, var row = try OutboxQueue.local(entry, table, in: transaction),
      entry.base != nil && entry.destination(row.container) == nil
    {
      // The record wasn't moved here, so the server decides about its container.
      row.container = live.container == table.schema.name ? nil : live.container
      if entry.awaited != nil {
        try OutboxQueue.setLocal(entry, table, row, in: transaction)
      } else {
        try transaction.setContainer(live.container, table, id: entry.id.id)
      }
    }
    try reopen(entry, current, entry.change == .delete ? .delete : live == nil ? .insert : .update)
  }

  /// Makes a change pending against the server's version. A record that is created again after others deleted it
  /// remembers the base of its edits. If others create it again too, it is merged against that base, and fields that
  /// weren't edited here are theirs.
  private func reopen(_ entry: Outbox.Entry, _ current: ServerRecord?, _ kind: ChangeKind) throws {
    let (id, live) = (entry.id, current?.live)
    if let live { try know(live) }
    try OutboxQueue.reopen(
      id, base: live.map { Outbox.Entry.Base($0) }, reported: live == nil ? current : nil, kind: kind,
      in: transaction)
    if live == nil, let base = entry.base {
      try GivenBack.note(id, GivenBack.State(base: base, position: nil), in: transaction)
    }
  }

  private mutating func take(
    merged fields: [String: JSONValue], _ entry: Outbox.Entry, _ table: TypeTable, _ current: ServerRecord?
  ) throws {
    let (id, live) = (entry.id, current?.live)
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
      return try losesPlace || Self.losesEdit(mine, entry.base, live, document, table.schema) ? mine : nil
    }
    if let live, live.fields == document && container == live.container {
      let isAsWritten = before.map { table.document($0) == document } ?? false
      let verdict: Journal.Verdict = lost != nil ? .overwritten : isAsWritten ? .accepted : .merged
      let noted = try journal(
        entry, verdict, isAsWritten ? .agreed : .merge, loses: lost != nil, to: live, version: live.version)
      return try become(live, entry, noted)
    }
    try journal(entry, .merging, .merge, loses: lost != nil, to: live, merged: document)
    let row = try table.row(document, in: container, version: live?.version)
    try OutboxQueue.setLocal(entry, table, row, in: transaction)
    if entry.isBeneath {
      try OutboxQueue.rebase(id, from: before, to: row, movesDoubt: true, in: transaction)
    }
    try reopen(entry, current, live == nil ? .insert : .update)
  }

  /// True if a field edited here ends without the local edit, neither as its value nor merged into it.
  static func losesEdit(
    _ local: FieldsDocument, _ base: Outbox.Entry.Base?, _ theirs: ServerRecord?, _ merged: FieldsDocument,
    _ schema: TypeSchema
  ) throws -> Bool {
    let result = try merged.members()
    let kept = try Journal.Loss.kept(local, since: base?.fields, theirs?.fields, now: merged)
    return try PushBatchBuilder.changedFields(local, since: base).contains { name, value in
      result[name] ?? .null != value && !(schema[name].map(kept) ?? false)
    }
  }

  /// Makes the record the server's version. Sharing that the server lacks stays pending, because a conflict over fields
  /// or containers doesn't decide about it.
  private mutating func become(_ live: ServerRecord, _ entry: Outbox.Entry, _ noted: Journal.Noted) throws {
    guard entry.sharing?.rest(over: live.sharing) != nil, entry.change != .delete else {
      if entry.isHidden { answers[entry.id] = live }
      return try end(entry, live, noted)
    }
    if entry.awaited == nil {
      if try OutboxQueue.apply(live, in: transaction) { report.repaired += 1 }
    } else {
      let table = try transaction.catalog.table(entry.id.type)
      let before = try OutboxQueue.local(entry, table, in: transaction)
      try OutboxQueue.setLocal(entry, table, table.row(live), in: transaction)
      try know(live)
      if entry.isBeneath, let now = try OutboxQueue.entry(entry.id, in: transaction) {
        let current = try OutboxQueue.local(now, table, in: transaction)
        try OutboxQueue.rebase(entry.id, from: before, to: current, movesDoubt: true, in: transaction)
      }
    }
    try OutboxQueue.reopen(entry.id, base: Outbox.Entry.Base(live), kind: .update, in: transaction)
  }

  /// Lays what was edited since an operation was sent on the record that the server made of it. Otherwise the next
  /// operation undoes what the server has set.
  func lay(
    _ entry: Outbox.Entry, madeOn sent: FieldsDocument, on made: FieldsDocument, _ table: TypeTable
  ) throws {
    guard made != sent, let row = try OutboxQueue.local(entry, table, in: transaction) else { return }
    let members = try table.document(row).members()
      .laid(on: made.members(), since: sent.members(), table.schema)
    // What can't be read here stays in the base alone.
    guard var laid = try? table.row(FieldsDocument(members), in: row.container, version: row.version) else {
      return
    }
    laid.metadata = row.metadata
    try OutboxQueue.setLocal(entry, table, laid, in: transaction)
    guard entry.isBeneath else { return }
    try OutboxQueue.rebase(entry.id, from: row, to: laid, movesDoubt: true, in: transaction)
  }

  /// Lays a change of all fields on the server's record, of which nothing was kept here. Members without a field in
  /// this schema stay as the server has them.
  func lay(_ entry: Outbox.Entry, on live: ServerRecord, _ table: TypeTable) throws {
    guard let mine = try OutboxQueue.local(entry, table, in: transaction) else { return }
    var members = try live.fields.members().filter { table.schema[$0.key] == nil }
    members.merge(try table.document(mine).members()) { $1 }
    let row = try table.row(
      FieldsDocument(members), in: mine.container ?? live.container, version: live.version)
    try OutboxQueue.setLocal(entry, table, row, in: transaction)
    try know(live)
    try OutboxQueue.reopen(entry.id, base: Outbox.Entry.Base(live), kind: .update, in: transaction)
  }

  /// Decides the conflicts of changes that became entries because those beneath them ended in another state. Runs in
  /// the same step, so that no reader sees a part of a transaction that is being undone. Conflicts that a policy of the
  /// app's own decides wait until the change is sent.
  mutating func decideLater() throws {
    var left: Set<RecordID> = []
    while true {
      // A decision may end other changes, and bring further conflicts.
      let open = try OutboxQueue.undecided(in: transaction).filter { !left.contains($0) }
      if open.isEmpty { return }
      for id in open where try !decideLater(id) { left.insert(id) }
    }
  }

  /// Decides the conflict of one such change, if it still has one. Returns false if the conflict waits.
  private mutating func decideLater(_ id: RecordID) throws -> Bool {
    guard let entry = try OutboxQueue.entry(id, in: transaction), entry.operationID == nil,
      entry.stage == .pending, entry.base?.version == OutboxQueue.unsentVersion
    else { return true }
    let current = entry.remoteVersion
    guard try Conflicts.unreadable(id, current, in: transaction) == nil,
      case .success(let context)? = try Conflicts.context(id, current, entry.group != nil, in: transaction)?.0,
      let choice = Conflicts.decided(context, configuration)
    else { return false }
    let unit = entry.group == nil ? [entry] : try OutboxQueue.unit(of: id, in: transaction)
    if unit.contains(where: { $0.operationID != nil }) { return false }
    try carryOut([(entry, current, choice)], of: unit)
    guard let now = try OutboxQueue.entry(id, in: transaction) else { return true }
    return now.revision != entry.revision || now.base?.version != OutboxQueue.unsentVersion
  }
}

extension PushResultApplier {
  /// Returns the verdict on an operation, as one that waits if the server lacks a record that is new here. An operation in
  /// doubt is sent again just as it was, whatever became of the records that it refers to.
  func judged(_ item: PushBatch.Item, _ verdict: Outcome.Verdict) throws -> Outcome.Verdict {
    guard item.isInDoubt, let rejection = verdict.rejection, rejection.kind == .unknownReference,
      let table = transaction.catalog.tableIfKnown(item.operation.record.type)
    else { return verdict }
    let isEarly = try table.targets(of: item.operation.fields).contains {
      try OutboxQueue.mark($0, in: transaction)?.kind == .insert
    }
    return isEarly ? .waiting(on: item.operation.id) : verdict
  }

  /// Recalls a change whose conflict is decided after a pull, and returns true.
  mutating func putsOff(
    _ item: PushBatch.Item, _ verdict: Outcome.Verdict, _ entry: Outbox.Entry
  ) throws -> Bool {
    guard case .conflict(let current?) = verdict, item.operation.group == nil else { return false }
    let result = decisions.pushed[item.operation.id]?.result
    if case .failure? = result { return false }
    switch try timing.choice(current, over: entry, in: transaction, { try? result?.get() }) {
    case .now: return false
    case .nowAndPull:
      needsPull = true
      return false
    case .afterPull:
      needsPull = true
      putOff.insert(entry.id)
      try OutboxQueue.recall(entry.id, item.operation.id, in: transaction)
      return true
    }
  }
}
