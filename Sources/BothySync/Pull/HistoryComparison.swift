import BothyStore

/// What a complete snapshot of another history lacks of what is here. Where it lacks anything that a server had
/// acknowledged it is not shown before somebody has decided, or it is given back; what is pending stays in any case.
struct HistoryComparison {
  private let transaction: WriteTransaction
  /// What is done about a loss where nobody has decided.
  var policy = RestorePolicy.ask
  private var isOn = false
  private var isShown = false
  private var isCompared = false
  private var decision: ServerBinding.Decision?
  /// Whether the versions here were given out by the server that the snapshot is of.
  private var isSameServer = true
  private var position: String?
  /// The highest position known of the history that was followed.
  private var known: Int64 = 0
  /// The highest position of that history that the snapshot has.
  private var kept: Int64 = 0
  /// Acknowledged records that would go.
  private var gone: [RecordID] = []
  /// Those that would go back, with the versions that they had. What a later page brings anew does not go back.
  private var older: [RecordID: String] = [:]
  /// Records with pending work that are sent as new.
  private var resent: [RecordID] = []
  /// Records that the server lacks, or has as they were before, and gets back.
  private(set) var givenBack: [RecordID] = []
  /// Acknowledged states in whose place the snapshot has what others wrote since.
  private var replaced: [(record: RecordID, version: Int64, loss: Journal.Loss)] = []
  /// Records with pending work that the snapshot tells of.
  private var mentioned: Set<RecordID> = []

  init(_ transaction: WriteTransaction) { self.transaction = transaction }

  /// What the server had acknowledged and does not have any more.
  var lost: [RecordID] { missing + resent }
  private var missing: [RecordID] { gone + older.keys.sorted { ($0.type, $0.id) < ($1.type, $1.id) } }

  private var givesBack: Bool { isOn && decision == .uploadMine }

  /// Whether a snapshot is of another history than the one that the file has followed.
  func isOther(_ page: SyncResponse.Page, _ history: ServerHistory?) throws -> Bool {
    let binding = try ServerBinding.load(in: transaction)
    guard !page.isOtherHistory, !binding.isAdopting else { return true }
    guard let known = binding.history else { return false }
    return history.map { !known.isContinued(by: $0) } ?? true
  }

  mutating func begin(_ page: SyncResponse.Page, _ history: ServerHistory?, isOtherHistory: Bool) throws {
    isOn = isOtherHistory
    isShown = true
    isCompared = isCompared || isOn
    mentioned = []
    guard isOn else { return }
    let binding = try ServerBinding.load(in: transaction)
    decision =
      binding.decision ?? (policy == .giveBack ? .uploadMine : policy == .adopt ? .adopt : nil)
    // While a decision is being carried out the file may be bound to the server that answers already.
    let former = binding.former ?? binding.history
    isSameServer = former == nil || former?.server == history?.server && former?.space == history?.space
    position = Cursor(token: page.cursor).map { String($0.position) }
    known = max(known, former?.position ?? 0)
  }

  /// Looks at a change of the snapshot before it takes the place of what is here. True if it does not: what is here is
  /// given back.
  mutating func keeps(_ change: ServerRecord, _ table: TypeTable) throws -> Bool {
    guard isOn else { return false }
    if let version = Int64(change.version), version <= known { kept = max(kept, version) }
    guard givesBack else {
      if let version = older[change.id] {
        if change.version.isNewer(than: version) { older[change.id] = nil }
      } else if let version = try SnapshotReplacement.lost(change, table, in: transaction) {
        older[change.id] = version
      }
      return false
    }
    guard let (row, version) = try SnapshotReplacement.replaced(change.id, table, in: transaction) else {
      return false
    }
    let mine = table.document(row)
    if !change.isDeleted && mine == change.fields && row.container ?? change.id.type == change.container {
      return false
    }
    guard isSameServer else {
      if change.isDeleted { return false }
      let common = try Self.common(mine, change.fields, table)
      try offer(change.id, table, row, version, fields: common, over: nil)
      return true
    }
    if change.version.isNewer(than: version) {
      if !change.isDeleted, let number = Int64(version) {
        let loss = try Journal.Loss(mine, since: nil, now: change, in: table.schema)
        replaced.append((change.id, number, loss))
      }
      return false
    }
    try offer(change.id, table, row, version, fields: mine, over: change.isDeleted ? nil : change)
    return true
  }

  /// The same for a record with pending work: what was acknowledged of it is its base.
  mutating func keeps(_ change: ServerRecord, _ entry: OutboxEntry) throws -> Bool {
    guard isOn else { return false }
    mentioned.insert(change.id)
    guard let base = entry.base, base.version.isNewer(than: change.version),
      change.isDeleted || base.fields != change.fields
    else { return false }
    guard givesBack else {
      older[change.id] = base.version
      return false
    }
    guard isSameServer else { return false }
    if change.isDeleted && entry.kind == .delete {
      let row = Journal.Row(entry, .accepted, .otherHistory)
      try end(entry, change, Journal.note(row, in: transaction))
      return true
    }
    try Outbox.forgetTold(entry.record, in: transaction)
    try Outbox.reopen(
      entry.record, base: change.isDeleted ? nil : OutboxEntry.Base(change),
      kind: change.isDeleted ? .insert : entry.kind, in: transaction)
    if entry.kind != .delete {
      try GivenBack.note(entry.record, GivenBack.State(base: base, position: position), in: transaction)
      givenBack.append(entry.record)
    }
    return true
  }

  /// Whether a record that the snapshot lacks stays, to be given back. Nobody has deleted it.
  mutating func keeps(_ id: RecordID, _ table: TypeTable) throws -> Bool {
    guard givesBack, let (row, version) = try SnapshotReplacement.replaced(id, table, in: transaction)
    else { return false }
    guard try isOurs(row, table) else {
      // Its owner's device gives it back, and keeps it. Until then it stays here as it is.
      try transaction.setVersion(Outbox.agedVersion, table, id: id.id)
      return true
    }
    try offer(id, table, row, version, fields: table.document(row), over: nil)
    return true
  }

  /// Whether the record may be made anew from here: where the rights of a type depend on who owns a record, its owner
  /// alone does that.
  private func isOurs(_ row: StoredRow, _ table: TypeTable) throws -> Bool {
    guard let permissions = table.schema.permissions, permissions.knowsOwners,
      let owner = row.metadata.owner
    else { return true }
    return try ServerBinding.load(in: transaction).owner?.principal ?? owner == owner
  }

  private mutating func offer(
    _ id: RecordID, _ table: TypeTable, _ row: StoredRow, _ version: String, fields: FieldsDocument,
    over current: ServerRecord?
  ) throws {
    let base = OutboxEntry.Base(version: version, fields: fields, container: row.container ?? id.type)
    try GivenBack.offer(
      id, table, GivenBack.State(base: base, position: position), over: current, in: transaction)
    givenBack.append(id)
    mentioned.insert(id)
  }

  /// What two records of different servers have in common: the nearest to a state that both came from. Of counters the
  /// smaller number, so that none counts twice.
  private static func common(
    _ mine: FieldsDocument, _ theirs: FieldsDocument, _ table: TypeTable
  ) throws -> FieldsDocument {
    let other = try theirs.members()
    var common: [String: JSONValue] = [:]
    for (name, value) in try mine.members() {
      if other[name] == value { common[name] = value }
      guard table.schema[name]?.merge == .counter, let there = other[name] else { continue }
      if let a = value.intValue, let b = there.intValue { common[name] = .int(min(a, b)) }
    }
    return FieldsDocument(common)
  }

  /// Ends a deletion of what the server does not have. One that readers do not see yet has a row.
  private func end(_ entry: OutboxEntry, _ told: ServerRecord, _ noted: Journal.Noted) throws {
    if entry.isBeneath {
      try Outbox.end(entry, told: told, noted, in: transaction)
    } else {
      try Outbox.remove(entry.record, noted, in: transaction)
      guard entry.isHidden else { return }
      try transaction.evict(transaction.catalog.table(entry.record.type), id: entry.record.id)
    }
  }

  /// Ends the snapshot of a scope: what it lacks nobody has deleted, so pending changes of it become inserts, whatever
  /// the merge policy.
  mutating func finish(_ scope: PullScope, gone: [RecordID]) throws {
    guard isOn else { return }
    self.gone += gone
    for entry in try Outbox.entries(where: "base_version IS NOT NULL AND leaving = 0", in: transaction) {
      guard scope.contains(entry.container ?? entry.record.type), !mentioned.contains(entry.record) else {
        continue
      }
      if entry.kind == .delete {
        let row = Journal.Row(entry, .accepted, .otherHistory)
        try end(entry, .unknown(entry.record), Journal.note(row, in: transaction))
        continue
      }
      try Outbox.reopen(entry.record, base: nil, kind: .insert, in: transaction)
      // It may have moved to where this file does not look: then what was not edited here is as it is there.
      if let base = entry.base {
        try GivenBack.note(entry.record, GivenBack.State(base: base, position: position), in: transaction)
      }
      if givesBack { givenBack.append(entry.record) } else { resent.append(entry.record) }
    }
  }

  /// Ends what an answer brought: the file follows its history from now on. Throws `HistoryLoss`, to undo all of it, when
  /// something would be lost that nobody has given up.
  ///
  /// Returns what was acknowledged here last, lost by the server, and written anew by others since: none where the server
  /// lost nothing.
  mutating func end(_ history: ServerHistory?) throws -> [Overwritten] {
    guard isShown else { return [] }
    let isDecided = try ServerBinding.isAdopting(in: transaction)
    guard missing.isEmpty || isDecided || decision == .adopt else { throw HistoryLoss(count: missing.count) }
    if givesBack && isDecided { try offerRest() }
    if isDecided || isCompared { try ServerBinding.take(history, in: transaction) }
    guard !givenBack.isEmpty else { return [] }
    return try replaced.filter { $0.version > kept }.map { record, _, loss in
      var row = Journal.Row(record, .update, .overwritten, .otherHistory)
      row.loss = loss
      try Journal.note(row, in: transaction)
      return Overwritten(record: record, fields: loss.local)
    }
  }

  /// What lies outside of all that is pulled was compared with nothing: it is offered as new, and where the server has it
  /// the merge policy decides.
  private mutating func offerRest() throws {
    let scopes = try PullState.scopes(in: transaction)
    for table in transaction.catalog.tables where table.schema.isSynced {
      let type = table.schema.name
      let select = try PreparedStatement(
        """
        SELECT _id, coalesce(_container, ?1) FROM \(table.name) WHERE _version IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM bothy_outbox WHERE type = ?1 AND id = \(table.name)._id)
        """, in: transaction.database)
      select.bind(type, at: 1)
      var rest: [String] = []
      while try select.step() {
        let container = select.text(at: 1) ?? type
        if !scopes.contains(where: { $0.contains(container) }) { rest.append(select.text(at: 0) ?? "") }
      }
      select.reset()
      for id in rest {
        guard let row = try transaction.row(table, id: id), try isOurs(row, table) else { continue }
        try offer(
          RecordID(type: type, id: id), table, row, row.version ?? "", fields: .empty, over: nil)
      }
    }
  }
}

/// A snapshot of another history lacks so many records, or has them as they were before.
struct HistoryLoss: Error { var count: Int }
