import BothyStore

/// Compares the local records with a complete snapshot of another history. If the snapshot lacks acknowledged content,
/// it isn't shown before a decision, or the content is returned to the server. Pending changes stay in any case.
struct HistoryComparison {
  private let transaction: WriteTransaction
  /// The policy for a loss without a decision.
  var policy = SyncOptions.RestorePolicy.ask
  private var isOn = false
  private var isShown = false
  private var isCompared = false
  private var decision: ServerBinding.Decision?
  /// True if the local versions come from the server of the snapshot.
  private var isSameServer = true
  private var position: String?
  /// The highest known position of the history that the file followed.
  private var known: Int64 = 0
  /// The highest position of that history that the snapshot has.
  private var kept: Int64 = 0
  /// Acknowledged records that the snapshot removes.
  private var gone: [RecordID] = []
  /// Acknowledged records that the snapshot reverts, with their versions. A later page that has a newer version drops
  /// the record.
  private var older: [RecordID: String] = [:]
  /// Records with pending work that are sent as new.
  private var resent: [RecordID] = []
  /// Records that the server lacks, or has in an older version, and gets back.
  private(set) var givenBack: [RecordID] = []
  /// Acknowledged states that the snapshot replaces by what others wrote since.
  private var replaced: [(record: RecordID, version: Int64, loss: Journal.Loss)] = []
  /// Records with pending work that the snapshot mentions.
  private var mentioned: Set<RecordID> = []

  init(_ transaction: WriteTransaction) { self.transaction = transaction }

  /// The records that the server had acknowledged and no longer has.
  var lost: [RecordID] { missing + resent }
  private var missing: [RecordID] { gone + older.keys.sorted { ($0.type, $0.id) < ($1.type, $1.id) } }

  private var givesBack: Bool { isOn && decision == .uploadMine }

  /// True if a snapshot is of another history than the one that the file has followed.
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
    // While a decision is being carried out, the file may already be bound to the server that answers.
    let former = binding.former ?? binding.history
    isSameServer = former == nil || former?.server == history?.server && former?.space == history?.space
    position = Cursor(token: page.cursor).map { String($0.position) }
    known = max(known, former?.position ?? 0)
  }

  /// Compares a change of the snapshot with the local record that it replaces. Returns true if the local record stays,
  /// to be returned to the server.
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

  /// Like the comparison of a record without pending work, but of an entry, whose base is the acknowledged state.
  mutating func keeps(_ change: ServerRecord, _ entry: Outbox.Entry) throws -> Bool {
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
      try end(entry, change)
      return true
    }
    try OutboxQueue.setTold(nil, of: entry.record, in: transaction)
    try OutboxQueue.reopen(
      entry.record, base: change.isDeleted ? nil : Outbox.Entry.Base(change),
      kind: change.isDeleted ? .insert : entry.kind, in: transaction)
    if entry.kind != .delete {
      try GivenBack.note(entry.record, GivenBack.State(base: base, position: position), in: transaction)
      givenBack.append(entry.record)
    }
    return true
  }

  /// True if a record that the snapshot lacks stays, to be returned to the server. No device has deleted it.
  mutating func keeps(_ id: RecordID, _ table: TypeTable) throws -> Bool {
    guard givesBack, let (row, version) = try SnapshotReplacement.replaced(id, table, in: transaction)
    else { return false }
    guard try isOurs(row, table) else {
      // The owner's device returns the record to the server, and keeps it. Until then it stays here as it is.
      try transaction.setVersion(OutboxQueue.agedVersion, table, id: id.id)
      return true
    }
    try offer(id, table, row, version, fields: table.document(row), over: nil)
    return true
  }

  /// True if this device may recreate the record. If the rights of a type depend on the owner of a record, only its
  /// owner recreates it.
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
    let base = Outbox.Entry.Base(version: version, fields: fields, container: row.container ?? id.type)
    try GivenBack.offer(
      id, table, GivenBack.State(base: base, position: position), over: current, in: transaction)
    givenBack.append(id)
    mentioned.insert(id)
  }

  /// Returns the fields that two records of different servers have in common, which come nearest to a common base. Of
  /// counters it takes the smaller number, so that none counts twice.
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

  /// Ends a deletion of a record that the server doesn't have. A hidden deletion still has a row.
  private func end(_ entry: Outbox.Entry, _ told: ServerRecord) throws {
    let noted = try Journal.note(entry, .accepted, .otherHistory, in: transaction)
    if entry.isBeneath {
      try OutboxQueue.end(entry, told: told, noted, in: transaction)
    } else {
      try OutboxQueue.remove(entry.record, noted, in: transaction)
      guard entry.isHidden else { return }
      try transaction.evict(transaction.catalog.table(entry.record.type), id: entry.record.id)
    }
  }

  /// Ends the snapshot of a scope. Records that it lacks weren't deleted, so their pending changes become inserts,
  /// whatever the merge policy.
  mutating func finish(_ scope: SyncScope, gone: [RecordID]) throws {
    guard isOn else { return }
    self.gone += gone
    for entry in try OutboxQueue.entries(where: "base_version IS NOT NULL AND leaving = 0", in: transaction) {
      guard scope.contains(entry.container ?? entry.record.type), !mentioned.contains(entry.record) else {
        continue
      }
      if entry.kind == .delete {
        try end(entry, .unknown(entry.record))
        continue
      }
      try OutboxQueue.reopen(entry.record, base: nil, kind: .insert, in: transaction)
      // The record may have moved out of the scopes of this file. Then fields that weren't edited here are as they are
      // there.
      if let base = entry.base {
        try GivenBack.note(entry.record, GivenBack.State(base: base, position: position), in: transaction)
      }
      if givesBack { givenBack.append(entry.record) } else { resent.append(entry.record) }
    }
  }

  /// Ends the comparison of an answer, whose history the file follows from now on. Throws `HistoryLoss`, to undo all of
  /// it, if acknowledged content is lost without a decision.
  ///
  /// Returns the last acknowledged states that the server lost and that others have written again since. Empty if the
  /// server lost nothing.
  mutating func end(_ history: ServerHistory?) throws -> [SyncReport.ReplacedContent] {
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
      return SyncReport.ReplacedContent(record: record, fields: loss.local)
    }
  }

  /// Offers the records outside all pulled scopes as new, because they were compared with nothing. If the server has
  /// such a record, the merge policy decides.
  private mutating func offerRest() throws {
    let scopes = try PullState.scopes(in: transaction)
    for table in transaction.catalog.tables where table.schema.isSynced {
      let type = table.schema.name
      let rest = try transaction.rows(
        """
        SELECT _id, coalesce(_container, ?1) FROM \(table.name) WHERE _version IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM bothy_outbox WHERE type = ?1 AND id = \(table.name)._id)
        """, type
      ) { row in
        let container = row.text(at: 1) ?? type
        return scopes.contains { $0.contains(container) } ? nil : row.text(at: 0)
      }
      for id in rest {
        guard let row = try transaction.row(table, id: id), try isOurs(row, table) else { continue }
        try offer(
          RecordID(type: type, id: id), table, row, row.version ?? "", fields: .empty, over: nil)
      }
    }
  }
}

/// The number of records that a snapshot of another history lacks, or has in older versions.
struct HistoryLoss: Error { var count: Int }
