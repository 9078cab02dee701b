import BothyStore
import GRDB

/// The durable queue of pending changes. Records every local write in the transaction that makes it.
struct OutboxQueue: ChangeRecorder {
  /// The clock that stamps changes: the device's, corrected by the times that servers reported.
  let clock: SyncClock

  var tables: [String] { OutboxTables.all }
  var time: Int64 { clock.reading().time }

  /// SQL for the first revision of an entry. It is random and below 2^52, so that a decision about an entry never
  /// counts for a later entry of the same record.
  static let newRevision = "(random() & 4503599627370495)"

  /// SQL that makes a change ready to be sent again at once, whatever its last result was.
  static let triedAgain =
    "attempts = 0, retry_at = 0, reason = NULL, state = CASE state WHEN 2 THEN 0 ELSE state END"

  func record(_ changes: [Change], in transaction: WriteTransaction) throws {
    // The rows have the same time for their last edit.
    let now = SyncClock.Reading(time: transaction.time, isReliable: clock.reading().isReliable)
    let insert = try PreparedStatement(
      """
      INSERT OR IGNORE INTO bothy_outbox (type, id, kind, revision, edited, state, attempts, retry_at, edited_unsure,
        together)
      VALUES (?1, ?3, 0, \(Self.newRevision), ?2, 0, 0, 0, ?4, ?5)
      """, in: transaction.database)
    insert.bind(now.time, at: 2)
    insert.bind(now.isReliable ? 0 : 1, at: 4)
    insert.bind(transaction.group, at: 5)
    // A rehearsed save is laid on the last one by its caller.
    let isLeftBehind = try !transaction.isRehearsal && !StaleRows.isEmpty(in: transaction)
    var boundTable: Int?
    for change in changes {
      let table = transaction.catalog.tables[change.table]
      if table.schema.writeMode == .remoteOnly && !transaction.isRehearsal { throw Self.remoteOnly(table) }
      if change.kind == .insert && !isLeftBehind {
        if boundTable != change.table { insert.bind(table.schema.name, at: 1) }
        boundTable = change.table
        insert.bind(change.id, at: 3)
        try insert.run()
        if transaction.database.changedRows == 1 { continue }
      }
      try collapse(change, table, isLeftBehind, now, transaction)
    }
    if transaction.drafts != nil { try Self.hold(changes, in: transaction) }
  }

  func later(
    _ value: FieldValue, than earlier: FieldValue, readAs read: FieldValue, _ field: FieldSchema
  ) throws -> FieldValue {
    try FieldMerge.later(value, than: earlier, readAs: read, field)
  }

  /// Makes drafts of what a transaction of drafts has changed.
  private static func hold(_ changes: [Change], in transaction: WriteTransaction) throws {
    var known = Set(transaction.drafts ?? [])
    for change in changes {
      let id = RecordID(type: transaction.catalog.tables[change.table].schema.name, id: change.id)
      guard known.insert(id).inserted else { continue }
      try Self.hold(id, in: transaction)
      transaction.drafts?.append(id)
    }
  }

  private static func remoteOnly(_ table: TypeTable) -> BothyError {
    BothyError(
      .requiresNetwork,
      "Records of \(table.schema.name) are written on the server only. Use `save` and `delete` of the synced store."
    )
  }

  /// Handles any change but the insert of a record with nothing pending.
  private func collapse(
    _ change: Change, _ table: TypeTable, _ isLeftBehind: Bool, _ now: SyncClock.Reading,
    _ transaction: WriteTransaction
  ) throws {
    var change = change
    let id = RecordID(type: table.schema.name, id: change.id)
    var kind: ChangeKind =
      switch change.kind {
      case .insert: .insert
      case .update: .update
      case .delete: .delete
      }
    let mark = try Self.mark(id, in: transaction)
    var before = change.before
    if mark?.isHidden == true {
      before = try Self.entry(id, in: transaction).flatMap { try Self.local($0, table, in: transaction) }
      guard let laid = try Self.lay(change, on: id, table, in: transaction) else { return }
      (kind, change.stale) = laid
    } else if isLeftBehind, mark == nil,
      let left = try StaleRows.row(id, over: before, table, in: transaction)
    {
      if kind != .delete {
        let theirs = before?.values
        // A value that is new here replaces what the save left.
        change.before = before ?? left
        change.stale = try Self.lay(change, of: id, on: left, theirs: theirs, table, in: transaction)
        kind = .update
      }
      before = left
    }
    let last = kind == .delete ? before.map { table.document($0) } : nil
    if let mark, try stacks(kind, on: id, mark, table, change, before: before, last, now, transaction) {
      return
    }
    let container = kind == .delete ? change.before?.container : nil
    var collapse = ChangeCoalescing(
      mark?.kind, wasSent: mark?.wasSent ?? false, hasBase: mark?.hasBase ?? false, then: kind)
    // Created again in the same transaction: the row is the new one, and no version of the server replaces it.
    if try collapse == .annihilate && transaction.exists(id) { collapse = .become(.insert) }
    switch collapse {
    case .begin(let kind):
      try begin(kind, id, before, last, table, now, transaction)
      if let stale = change.stale { try Self.rebase(id, to: stale, table, at: now.time, in: transaction) }
    case .become(let kind):
      try transaction.run(
        """
        UPDATE bothy_outbox SET kind = ?3, revision = revision + 1, edited = ?4, last = ?5, edited_unsure = ?7,
          \(Self.triedAgain),
          container = CASE WHEN base_version IS NULL THEN ?6 ELSE container END
        WHERE type = ?1 AND id = ?2
        """, id, kind.number, now.time, last, container, !now.isReliable)
      if change.kind == .insert, let made = try Self.entry(id, in: transaction) {
        try Self.carry(into: made, in: transaction)
      }
      if let stale = change.stale { try Self.rebase(id, to: stale, table, at: now.time, in: transaction) }
      if let group = mark?.group { try Self.forgive(group, in: transaction) }
    case .annihilate:
      guard let entry = try Self.entry(id, in: transaction) else { return }
      let noted = try Journal.note(entry, .withdrawn, .takenBack, at: now.time, in: transaction)
      try Self.end(entry, noted, in: transaction)
    }
  }

  /// Stacks the change on the pending ones of the record, or joins it to the last of these. Returns false if neither
  /// applies.
  private func stacks(
    _ kind: ChangeKind, on id: RecordID, _ mark: Mark, _ table: TypeTable, _ change: Change,
    before: StoredRow?, _ last: FieldsDocument?, _ now: SyncClock.Reading, _ transaction: WriteTransaction
  ) throws -> Bool {
    let isPlain = mark.group == nil && mark.sentGroup == nil && transaction.group == nil
    // A change of a value that was read before newer versions arrived isn't part of what was sent after them.
    let isStaleOnSent = change.stale != nil && mark.wasSent
    guard mark.awaiting == .beneath || !isPlain || isStaleOnSent,
      let top = try Self.top(of: id, mark, in: transaction)
    else { return false }
    if try isStaleOnSent && !top.isLater || Self.liesOnTop(of: top, in: transaction) {
      try Self.stack(kind, on: top, table, before: before, last: last, at: now, in: transaction)
    } else if top.isLater {
      try Self.amend(top, table, by: kind, last: last, at: now, in: transaction)
    } else {
      return false
    }
    if let stale = change.stale, stale.deletion == nil {
      try Self.age(id, to: stale, table, in: transaction)
    }
    return true
  }

  private func begin(
    _ kind: ChangeKind, _ id: RecordID, _ before: StoredRow?, _ last: FieldsDocument?,
    _ table: TypeTable,
    _ now: SyncClock.Reading, _ transaction: WriteTransaction
  ) throws {
    var kind = kind
    if before?.version == nil {
      // The server never acknowledged the row and nothing is pending: it is new to the server.
      if kind == .delete { return }
      kind = .insert
    }
    try Self.begin(
      id, kind, at: now, base: before?.base(table), container: before?.container, metadata: before?.metadata,
      last: last, group: transaction.group, in: transaction)
  }

  /// Makes a pending update of a record with nothing pending, so that its secrets are sent. No field counts as changed.
  func touch(_ id: RecordID, in transaction: WriteTransaction) throws {
    guard let table = transaction.catalog.tableIfKnown(id.type), try Self.mark(id, in: transaction) == nil,
      let row = try transaction.row(table, id: id.id)
    else { return }
    try begin(.update, id, row, nil, table, clock.reading(), transaction)
  }

  func migrate(_ step: Migration.Step, in database: Database) throws {
    try OutboxMigration(database: database).run(step)
  }

  func convert(
    _ field: String, of type: String, in database: Database, _ value: (JSONValue) throws -> JSONValue
  ) throws {
    try OutboxMigration(database: database).convert(field, of: type, value)
  }

  func rename(_ type: String, from old: NameMap, to new: NameMap, in database: Database) throws {
    try OutboxMigration(database: database).rename(type, from: old, to: new)
  }
}

extension OutboxQueue {
  /// The parts of an entry that decide how a change joins it.
  struct Mark {
    var kind: ChangeKind
    var wasSent: Bool
    var hasBase: Bool
    var group: String?
    var sentGroup: String?
    var awaiting: Outbox.Entry.Awaited.Keeping?

    var isHidden: Bool { awaiting != nil && awaiting != .beneath }
  }

  static func mark(_ id: RecordID, in transaction: ReadTransaction) throws -> Mark? {
    try transaction.first(
      """
      SELECT kind, operation IS NOT NULL, base_version IS NOT NULL, together, sent_together, awaiting
      FROM bothy_outbox
      WHERE type = ? AND id = ?
      """, id
    ) { row in
      Mark(
        kind: ChangeKind(number: row.int(at: 0)), wasSent: row.int(at: 1) != 0, hasBase: row.int(at: 2) != 0,
        group: row.text(at: 3), sentGroup: row.text(at: 4),
        awaiting: Outbox.Entry.Awaited.Keeping(rawValue: row.int(at: 5)))
    }
  }

  /// Begins the entry of a record that has none.
  ///
  /// - Parameters:
  ///   - revision: the first revision, or `nil` for a random one.
  ///   - now: the time of the change.
  ///   - container: the server's container, or `nil` for the type's own.
  ///   - metadata: the metadata of the base.
  ///   - last: the record as it was when it was deleted.
  static func begin(
    _ id: RecordID, _ kind: ChangeKind, revision: Int64? = nil, at now: SyncClock.Reading,
    base: Outbox.Entry.Base? = nil, container: String? = nil, metadata: RecordMetadata? = nil,
    last: FieldsDocument? = nil, group: String? = nil, sharing: SharingChange? = nil,
    awaited: Outbox.Entry.Awaited? = nil, in transaction: WriteTransaction
  ) throws {
    try transaction.run(
      """
      INSERT INTO bothy_outbox (type, id, kind, revision, edited, edited_unsure, state, attempts, retry_at,
        base_version, base, container, last, together, share, awaiting, awaited, awaited_in, base_created,
        base_modified, base_owner)
      VALUES (?, ?, ?, coalesce(?, \(newRevision)), ?, ?, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, id, kind.number, revision, now.time, !now.isReliable, base?.version, base?.fields, container, last,
      group, sharing?.json, awaited?.keeping.rawValue ?? 0, awaited?.fields, awaited?.container, metadata)
  }

  /// True if the record is here, or was here and its deletion is still pending.
  static func knows(_ id: RecordID, in transaction: ReadTransaction) throws -> Bool {
    if try transaction.exists(id) { return true }
    return try mark(id, in: transaction) != nil
  }

  /// Queues the deletion of a record that was never seen here.
  static func assumeDeleted(_ id: RecordID, at time: Int64, in transaction: WriteTransaction) throws {
    try begin(id, .delete, at: SyncClock.Reading(time: time, isReliable: true), in: transaction)
  }

  /// Removes the entry of a record, which is the only way to end pending work. Requires a row of the journal that says
  /// how.
  static func remove(_ id: RecordID, _: Journal.Noted, in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_outbox WHERE type = ? AND id = ?", id)
  }

  /// Returns the smallest id of the operations whose outcome is unknown, or `nil`.
  static func oldestOperation(in transaction: ReadTransaction) throws -> String? {
    try transaction.first(
      """
      SELECT min(operation) FROM (SELECT min(operation) AS operation FROM bothy_outbox WHERE operation IS NOT NULL
        UNION ALL SELECT min(operation) FROM bothy_later WHERE operation IS NOT NULL)
      """
    ) { $0.text(at: 0) }
  }

  /// Ends the doubt about an entry whose sent operation wasn't applied, so that a new operation sends it again. What
  /// the server has reported about the record stays known.
  ///
  /// - Parameter operation: the operation to recall, of the entry or of a change on top of it, or `nil` for the
  ///   entry's.
  static func recall(_ id: RecordID, _ operation: String? = nil, in transaction: WriteTransaction) throws {
    for table in operation == nil ? ["bothy_outbox"] : ["bothy_outbox", "bothy_later"] {
      try transaction.run(
        """
        UPDATE \(table) SET operation = NULL, sent = NULL, sent_revision = NULL,
          together = coalesce(together, sent_together), sent_together = NULL
        WHERE type = ?1 AND id = ?2\(operation == nil ? "" : " AND operation = ?3")
        """, id, operation)
    }
  }

  /// Copies the parts of the server's record that this schema can't read into a change.
  ///
  /// - Parameter server: the server's fields, or `nil` for those of the change's base if the record was created again.
  static func carry(
    _ server: FieldsDocument? = nil, into change: Outbox.Entry, in transaction: WriteTransaction
  ) throws {
    let table = try transaction.catalog.table(change.record.type)
    let base = change.base?.fields
    guard let server = server ?? base, let row = try local(change, table, in: transaction) else { return }
    // The caller keeps a record aside that can't be read at all.
    guard let carried = try? table.carrying(server, in: row, since: base) else { return }
    try setLocal(change, table, carried, in: transaction)
  }

  /// Notes that the entry was sent as it was at `revision`, and that its outcome is unknown.
  static func setSent(
    _ operation: SyncOperation, of entry: Outbox.Entry, revision: Int64, in transaction: WriteTransaction
  ) throws {
    var writer = JSONWriter(reserving: 256)
    operation.write(to: &writer)
    try update(
      entry, "SET operation = ?4, sent_revision = ?5, sent = ?6, sent_together = ?7, together = NULL",
      operation.id, revision, writer.bytes, operation.group?.id, in: transaction)
  }

  /// Keeps the entry in the inbox, and retries it after `time` unless its state says otherwise.
  ///
  /// - Parameter staysInDoubt: true if the sent operation may have been applied after all. It is then sent again
  ///   unchanged.
  static func postpone(
    _ id: RecordID, _ rejection: Rejection, _: Journal.Noted, until time: Int64, state: Outbox.Entry.State,
    staysInDoubt: Bool = false, in transaction: WriteTransaction
  ) throws {
    if !staysInDoubt { try recall(id, in: transaction) }
    try transaction.run(
      """
      UPDATE bothy_outbox SET attempts = attempts + 1, retry_at = ?3, reason = ?4, state = ?5
      WHERE type = ?1 AND id = ?2
      """, id, time, rejection.json, state.rawValue)
  }

  /// Moves a change in doubt behind the others in doubt. Readers of the entry don't see this.
  static func putLast(_ id: RecordID, in transaction: WriteTransaction) throws {
    try transaction.run(
      "UPDATE bothy_outbox SET retry_at = max(retry_at, 1) WHERE type = ?1 AND id = ?2", id)
  }

  /// Allows entries that wait after a rejection to be sent at once. Those in doubt are sent after the others in doubt.
  ///
  /// - Parameter records: the records whose entries are meant, or `nil` for all.
  static func clearRetryTimes(of records: [RecordID]?, in transaction: WriteTransaction) throws {
    let sql = "UPDATE bothy_outbox SET retry_at = 1 WHERE retry_at > 1 AND state = 0"
    guard let records else { return try transaction.run(sql) }
    for record in records { try transaction.run(sql + " AND type = ? AND id = ?", record) }
  }

  /// True if any entry can be sent, now or later. Drafts and quarantined entries don't count.
  static func hasWork(in transaction: ReadTransaction) throws -> Bool {
    try transaction.has("SELECT 1 FROM bothy_outbox WHERE state = 0 LIMIT 1")
  }

  /// A measure of the work to send that differs after changes: the number of entries, and the sum of the times of their
  /// last changes. The sum is cut so that it can't overflow.
  struct Extent: Equatable {
    var entries: Int64
    var edited: Int64
    var isEmpty: Bool { entries == 0 }
  }

  /// Returns the measure by a scan.
  static func extent(in transaction: ReadTransaction) throws -> Extent {
    try transaction.first(
      """
      SELECT count(*), coalesce(sum(edited & 0x7fffffff), 0)
      FROM (SELECT edited FROM bothy_outbox WHERE state = 0 UNION ALL SELECT edited FROM bothy_later WHERE state = 0)
      """
    ) { Extent(entries: $0.int(at: 0), edited: $0.int(at: 1)) } ?? Extent(entries: 0, edited: 0)
  }

  /// True if nothing is pending.
  static func isEmpty(in transaction: ReadTransaction) throws -> Bool {
    try !transaction.has("SELECT 1 FROM bothy_outbox LIMIT 1")
  }
}
