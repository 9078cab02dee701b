import BothyStore
import GRDB

/// The durable queue of pending work: records every local write in the transaction that makes it.
struct Outbox: ChangeRecorder {
  /// The time a change is stamped with: the device's clock corrected by what servers told of theirs.
  let clock: SyncClock

  var tables: [String] { OutboxTables.all }

  /// SQL of an entry's first revision. Below 2^52 and random, so that what was decided about an entry is never taken for
  /// a decision about another that came after it for the same record.
  static let newRevision = "(random() & 4503599627370495)"

  func record(_ changes: [Change], in transaction: WriteTransaction) throws {
    let now = clock.reading()
    let insert = try PreparedStatement(
      """
      INSERT OR IGNORE INTO bothy_outbox (type, id, kind, revision, edited, state, attempts, retry_at, edited_unsure,
        together)
      VALUES (?1, ?3, 0, \(Self.newRevision), ?2, 0, 0, 0, ?4, ?5)
      """, in: transaction.database)
    insert.bind(now.time, at: 2)
    insert.bind(now.isReliable ? 0 : 1, at: 4)
    insert.bind(transaction.group, at: 5)
    var boundTable: Int?
    for change in changes {
      let table = transaction.catalog.tables[change.table]
      if table.schema.writeMode == .remoteOnly && !transaction.isRehearsal { throw Self.remoteOnly(table) }
      if change.kind == .insert {
        if boundTable != change.table { insert.bind(table.schema.name, at: 1) }
        boundTable = change.table
        insert.bind(change.id, at: 3)
        try insert.run()
        if transaction.database.changedRows == 1 { continue }
      }
      try collapse(change, table, now, transaction)
    }
    if transaction.drafts != nil { try Self.hold(changes, in: transaction) }
  }

  /// Makes drafts of what a transaction of drafts has changed.
  private static func hold(_ changes: [Change], in transaction: WriteTransaction) throws {
    var known = Set(transaction.drafts ?? [])
    for change in changes {
      let id = RecordID(type: transaction.catalog.tables[change.table].schema.name, id: change.id)
      guard known.insert(id).inserted else { continue }
      try SyncedStore.setState(.held, of: id, in: transaction)
      transaction.drafts?.append(id)
    }
  }

  private static func remoteOnly(_ table: TypeTable) -> SyncError {
    SyncError(
      .requiresNetwork,
      "Records of \(table.schema.name) are written on the server only. Use `save` and `delete` of the synced store."
    )
  }

  /// Any change but the insert of a record with nothing pending.
  private func collapse(
    _ change: Change, _ table: TypeTable, _ now: SyncClock.Reading, _ transaction: WriteTransaction
  ) throws {
    let id = RecordID(type: table.schema.name, id: change.id)
    let kind: Operation.Kind =
      switch change.kind {
      case .insert: .insert
      case .update: .update
      case .delete: .delete
      }
    let mark = try Self.mark(id, in: transaction)
    let last = kind == .delete ? change.before.map { table.document($0) } : nil
    let container = kind == .delete ? change.before?.container : nil
    var collapse = Collapse(
      mark?.kind, wasSent: mark?.wasSent ?? false, hasBase: mark?.hasBase ?? false, then: kind)
    // Made again in the same transaction: the row is the new one, and nothing that the server has replaces it.
    if try collapse == .annihilate && transaction.exists(id) { collapse = .become(.insert) }
    switch collapse {
    case .begin(let kind): try begin(kind, id, change.before, last, table, now, transaction)
    case .become(let kind):
      let update = try PreparedStatement(
        """
        UPDATE bothy_outbox SET kind = ?3, revision = revision + 1, edited = ?4, last = ?5, edited_unsure = ?7,
          attempts = 0, retry_at = 0, reason = NULL, state = CASE state WHEN 2 THEN 0 ELSE state END,
          container = CASE WHEN base_version IS NULL THEN ?6 ELSE container END
        WHERE type = ?1 AND id = ?2
        """, in: transaction.database)
      update.bind(id.type, at: 1)
      update.bind(id.id, at: 2)
      update.bind(kind.number, at: 3)
      update.bind(now.time, at: 4)
      update.bind(now.isReliable ? 0 : 1, at: 7)
      if let last { update.bind(utf8: last.bytes, at: 5) } else { update.bind(String?.none, at: 5) }
      update.bind(container, at: 6)
      try update.run()
      if let group = mark?.group { try Self.forgive(group, in: transaction) }
      if let group = transaction.group { try Self.join(id, to: group, from: mark?.group, in: transaction) }
    case .annihilate:
      // What made it and what deletes it share a record, and belong together though that is gone.
      if let group = transaction.group, let former = mark?.group {
        try Self.join(former, to: group, in: transaction)
      }
      try Self.drop(id, in: transaction)
    }
  }

  private func begin(
    _ kind: Operation.Kind, _ id: RecordID, _ before: StoredRow?, _ last: FieldsDocument?, _ table: TypeTable,
    _ now: SyncClock.Reading, _ transaction: WriteTransaction
  ) throws {
    var kind = kind
    if before?.version == nil {
      // The server never acknowledged the row and nothing is pending: it is new to the server.
      if kind == .delete { return }
      kind = .insert
    }
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_outbox (type, id, kind, revision, edited, state, attempts, retry_at, base_version, base,
        last, container, edited_unsure, together) VALUES (?, ?, ?, \(Self.newRevision), ?, 0, 0, 0, ?, ?, ?, ?, ?, ?)
      """, in: transaction.database)
    insert.bind(id.type, at: 1)
    insert.bind(id.id, at: 2)
    insert.bind(kind.number, at: 3)
    insert.bind(now.time, at: 4)
    insert.bind(now.isReliable ? 0 : 1, at: 9)
    insert.bind(before?.version, at: 5)
    if let before, before.version != nil {
      insert.bind(utf8: table.document(before).bytes, at: 6)
    } else {
      insert.bind(String?.none, at: 6)
    }
    if let last { insert.bind(utf8: last.bytes, at: 7) } else { insert.bind(String?.none, at: 7) }
    insert.bind(before?.container, at: 8)
    insert.bind(transaction.group, at: 10)
    try insert.run()
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
}

extension Outbox {
  /// What of an entry decides how a change joins it.
  struct Mark {
    var kind: Operation.Kind
    var wasSent: Bool
    var hasBase: Bool
    var group: String?
    var sentGroup: String?
  }

  static func mark(_ id: RecordID, in transaction: ReadTransaction) throws -> Mark? {
    let select = try PreparedStatement(
      """
      SELECT kind, operation IS NOT NULL, base_version IS NOT NULL, together, sent_together FROM bothy_outbox
      WHERE type = ? AND id = ?
      """, in: transaction.database)
    select.bind(id.type, at: 1)
    select.bind(id.id, at: 2)
    defer { select.reset() }
    guard try select.step() else { return nil }
    return Mark(
      kind: Operation.Kind(number: select.int(at: 0)), wasSent: select.int(at: 1) != 0,
      hasBase: select.int(at: 2) != 0, group: select.text(at: 3), sentGroup: select.text(at: 4))
  }

  static func remove(_ id: RecordID, in transaction: WriteTransaction) throws {
    let delete = try PreparedStatement(
      "DELETE FROM bothy_outbox WHERE type = ? AND id = ?", in: transaction.database)
    delete.bind(id.type, at: 1)
    delete.bind(id.id, at: 2)
    try delete.run()
  }

  /// The smallest id of the operations whose outcome is unknown.
  static func oldestOperation(in transaction: ReadTransaction) throws -> String? {
    let select = try PreparedStatement(
      "SELECT min(operation) FROM bothy_outbox WHERE operation IS NOT NULL", in: transaction.database)
    defer { select.reset() }
    return try select.step() ? select.text(at: 0) : nil
  }

  /// Removes an entry of which the server will not hear; what a pull has told meanwhile of its record takes
  /// effect.
  static func drop(_ id: RecordID, in transaction: WriteTransaction) throws {
    let shadow = try entry(id, in: transaction)?.shadow
    try remove(id, in: transaction)
    if let shadow { try apply(shadow, in: transaction) }
  }

  /// Keeps what the server has of a record beside its entry. Only what can be read is kept so.
  static func keep(shadow: ServerRecord, in transaction: WriteTransaction) throws {
    var writer = JSONWriter()
    shadow.write(to: &writer)
    let update = try PreparedStatement(
      "UPDATE bothy_outbox SET shadow = ?3 WHERE type = ?1 AND id = ?2", in: transaction.database
    )
    update.bind(shadow.id.type, at: 1)
    update.bind(shadow.id.id, at: 2)
    update.bind(utf8: writer.bytes, at: 3)
    try update.run()
  }

  /// Notes whether the record has left what this device follows.
  static func leave(_ id: RecordID, isLeaving: Bool = true, in transaction: WriteTransaction) throws {
    let update = try PreparedStatement(
      "UPDATE bothy_outbox SET leaving = ?3 WHERE type = ?1 AND id = ?2", in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    update.bind(isLeaving ? 1 : 0, at: 3)
    try update.run()
  }

  /// Makes the row what the server has. True when a value had to be filled in or left aside. Of what can't be read the
  /// row stays as it is.
  @discardableResult
  static func apply(_ record: ServerRecord, in transaction: WriteTransaction) throws -> Bool {
    let table = try transaction.catalog.table(record.id.type)
    var known = try KnownSharing(transaction)
    if record.isDeleted {
      try known.set(.nobody, of: record.id)
      try transaction.evict(table, id: record.id.id)
      try UnreadableTable.remove(record.id, in: transaction)
      return false
    }
    try known.set(record.sharing, of: record.id)
    var repaired = false
    guard let row = try UnreadableTable.row(record, table, repaired: &repaired, in: transaction) else {
      return false
    }
    try transaction.replace(table, id: record.id.id, row)
    return repaired
  }

  /// What was sent of the entry was not applied: it is no longer in doubt, and is sent again by a new operation. What the
  /// server has told of the record stays known.
  static func recall(_ id: RecordID, in transaction: WriteTransaction) throws {
    let update = try PreparedStatement(
      """
      UPDATE bothy_outbox SET operation = NULL, sent = NULL, sent_revision = NULL,
        together = coalesce(together, sent_together), sent_together = NULL WHERE type = ?1 AND id = ?2
      """, in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    try update.run()
  }

  /// The entry is no longer in doubt and has this base; it is sent again by a new operation. What a pull has told before
  /// is forgotten, so this is for what the server told since.
  static func reopen(
    _ id: RecordID, base: OutboxEntry.Base?, kind: Operation.Kind, in transaction: WriteTransaction
  ) throws {
    let update = try PreparedStatement(
      """
      UPDATE bothy_outbox SET operation = NULL, sent = NULL, sent_revision = NULL, sent_together = NULL,
        shadow = NULL, kind = ?3, base_version = ?4, base = ?5, container = coalesce(?6, container)
      WHERE type = ?1 AND id = ?2
      """, in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    update.bind(kind.number, at: 3)
    update.bind(base?.version, at: 4)
    if let base { update.bind(utf8: base.fields.bytes, at: 5) } else { update.bind(String?.none, at: 5) }
    update.bind(base?.container, at: 6)
    try update.run()
    // The row carries the version too, for the day the entry is gone.
    if let base, kind != .delete {
      try transaction.setVersion(base.version, transaction.catalog.table(id.type), id: id.id)
    }
  }

  /// Notes that the entry, as it was at `revision`, was sent and that its outcome is unknown.
  static func setSent(_ operation: Operation, revision: Int64, in transaction: WriteTransaction) throws {
    var writer = JSONWriter(reserving: 256)
    operation.write(to: &writer)
    let update = try PreparedStatement(
      """
      UPDATE bothy_outbox SET operation = ?3, sent_revision = ?4, sent = ?5, together = NULL, sent_together = ?6
      WHERE type = ?1 AND id = ?2
      """, in: transaction.database)
    update.bind(operation.record.type, at: 1)
    update.bind(operation.record.id, at: 2)
    update.bind(operation.id, at: 3)
    update.bind(revision, at: 4)
    update.bind(utf8: writer.bytes, at: 5)
    update.bind(operation.group?.id, at: 6)
    try update.run()
  }

  /// The entry is in the inbox, and tried again after `time` unless its state says otherwise.
  ///
  /// - Parameter staysInDoubt: whether what was sent may have been applied after all: it is sent again as it was then.
  static func postpone(
    _ id: RecordID, _ rejection: Rejection, until time: Int64, state: OutboxEntry.State,
    staysInDoubt: Bool = false, in transaction: WriteTransaction
  ) throws {
    if !staysInDoubt { try recall(id, in: transaction) }
    let update = try PreparedStatement(
      """
      UPDATE bothy_outbox SET attempts = attempts + 1, retry_at = ?3, reason = ?4, state = ?5
      WHERE type = ?1 AND id = ?2
      """, in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    update.bind(time, at: 3)
    update.bind(rejection.json, at: 4)
    update.bind(Int64(state.rawValue), at: 5)
    try update.run()
  }

  /// Has a change that is in doubt sent after the others that are. Nothing is said of it.
  static func putLast(_ id: RecordID, in transaction: WriteTransaction) throws {
    let update = try PreparedStatement(
      "UPDATE bothy_outbox SET retry_at = max(retry_at, 1) WHERE type = ?1 AND id = ?2",
      in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    try update.run()
  }

  /// Entries that wait after a refusal may be sent at once; those in doubt after the others that are.
  static func clearRetryTimes(in transaction: WriteTransaction) throws {
    try PreparedStatement(
      "UPDATE bothy_outbox SET retry_at = 1 WHERE retry_at > 1 AND state = 0", in: transaction.database
    ).run()
  }

  /// Whether anything is to be sent, now or later: neither draft nor quarantined.
  static func hasWork(in transaction: ReadTransaction) throws -> Bool {
    let select = try PreparedStatement(
      "SELECT 1 FROM bothy_outbox WHERE state = 0 LIMIT 1", in: transaction.database)
    defer { select.reset() }
    return try select.step()
  }

  /// How much is to be sent, so that two looks tell whether something came or went between them: the number of entries,
  /// and the sum of the times of their last changes, cut so that it cannot overflow.
  struct Extent: Equatable {
    var entries: Int64
    var edited: Int64
    var isEmpty: Bool { entries == 0 }
  }

  /// A scan.
  static func extent(in transaction: ReadTransaction) throws -> Extent {
    let select = try PreparedStatement(
      "SELECT count(*), coalesce(sum(edited & 0x7fffffff), 0) FROM bothy_outbox WHERE state = 0",
      in: transaction.database)
    defer { select.reset() }
    return try select.step()
      ? Extent(entries: select.int(at: 0), edited: select.int(at: 1)) : Extent(entries: 0, edited: 0)
  }

  /// Whether nothing at all is pending.
  static func isEmpty(in transaction: ReadTransaction) throws -> Bool {
    let select = try PreparedStatement("SELECT 1 FROM bothy_outbox LIMIT 1", in: transaction.database)
    defer { select.reset() }
    return try !select.step()
  }
}

extension WriteTransaction {
  /// Makes a row what is given, whatever version it has now: a pending row's version says what it was made
  /// against, and after the server went back in time its state is the lower one.
  func replace(_ table: TypeTable, id: String, _ row: StoredRow) throws {
    try evict(table, id: id)
    try put(table, id: id, row)
  }
}
