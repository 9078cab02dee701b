import BothyStore

/// What becomes of an unsent record that refers to one which others have deleted meanwhile.
public enum OrphanPolicy: String, Sendable, Hashable, CaseIterable {
  /// What the reference's delete rule says: under `cascade` a record made here goes too, and the report has it; under
  /// `nullify` its reference is cleared; under `deny` it stays and the inbox tells why the server refuses it. The
  /// default.
  case deleteRule
  /// The deleted record is made again with what is here of it, for the sake of those that refer to it.
  case resurrect
  /// It stays as it is; the inbox tells why the server refuses it.
  case keepPending
}

/// Carries an orphan policy out, in the transaction in which the deletion by others arrives.
///
/// Only a deletion that the server told of counts: a reference that it does not know yet, because the parent is
/// refused or late, deletes nothing. Records that the server knows are left to whoever deleted.
struct Orphans {
  let transaction: WriteTransaction
  let policy: OrphanPolicy
  private(set) var overwritten: [Overwritten] = []

  init(_ transaction: WriteTransaction, _ policy: OrphanPolicy) {
    self.transaction = transaction
    self.policy = policy
  }

  /// The record is gone on the server. False when it stays here, to be made again.
  mutating func deletes(_ id: RecordID) throws -> Bool {
    guard policy != .keepPending, try !Outbox.isEmpty(in: transaction) else { return true }
    var queue = [id]
    while let target = queue.popLast() {
      for (entry, field, rule) in try unsentReferrers(of: target) {
        if policy == .resurrect {
          try resurrect(id)
          return false
        }
        switch (rule, entry.kind) {
        case (.cascade, .insert):
          try drop(entry)
          queue.append(entry.record)
        case (.nullify, _): try clear(field, of: entry, target.id)
        case (.cascade, _), (.deny, _): continue
        }
      }
    }
    return true
  }

  private typealias Referrer = (OutboxEntry, FieldSchema, FieldKind.DeleteRule)

  /// One index range for each field that may refer to the target.
  private func unsentReferrers(of target: RecordID) throws -> [Referrer] {
    guard let table = transaction.catalog.tableIfKnown(target.type) else { return [] }
    var found: [Referrer] = []
    for incoming in transaction.catalog.incoming[table.index] {
      let owner = transaction.catalog.tables[incoming.table]
      guard owner.schema.isSynced else { continue }
      let field = owner.schema.fields[incoming.field]
      for id in try transaction.referrers(of: target, from: owner, field, isList: incoming.isList) {
        let record = RecordID(type: owner.schema.name, id: id)
        guard let entry = try Outbox.entry(record, in: transaction), entry.kind != .delete,
          !entry.isHidden
        else { continue }
        found.append((entry, field, incoming.rule))
      }
    }
    return found
  }

  private mutating func drop(_ entry: OutboxEntry) throws {
    let table = try transaction.catalog.table(entry.record.type)
    guard let row = try transaction.row(table, id: entry.record.id) else { return }
    if entry.operationID == nil {
      var lost: [Overwritten] = []
      try Outbox.forget(entry.record, in: transaction) { other in
        let fields = try Outbox.localContent(of: other.record, in: transaction)
        lost.append(Overwritten(record: other.record, fields: fields))
        return try note(other)
      }
      overwritten += lost
      try transaction.evict(table, id: entry.record.id)
    } else {
      // It may have arrived: the deletion is sent after it.
      overwritten.append(Overwritten(record: entry.record, fields: table.document(row)))
      try note(entry)
      try transaction.evict(table, id: entry.record.id)
      try change(entry, kind: .delete)
    }
  }

  @discardableResult
  private func note(_ entry: OutboxEntry) throws -> Journal.Noted {
    let table = try transaction.catalog.table(entry.record.type)
    var row = Journal.Row(entry, .overwritten, .orphaned)
    row.loss = try Journal.Loss(
      entry, transaction.row(table, id: entry.record.id), table, now: entry.told)
    return try Journal.note(row, in: transaction)
  }

  private func clear(_ field: FieldSchema, of entry: OutboxEntry, _ target: String) throws {
    let table = try transaction.catalog.table(entry.record.type)
    guard var row = try transaction.row(table, id: entry.record.id),
      let index = table.schema.index(of: field.name)
    else { return }
    if case .list(let ids) = row.values[index] {
      row.values[index] = .list(ids.filter { $0 != target })
    } else {
      row.values[index] = .null
    }
    try transaction.replace(table, id: entry.record.id, row)
    try change(entry, kind: entry.kind)
  }

  /// The entry is another than what was sent of it, if it was.
  private func change(_ entry: OutboxEntry, kind: Operation.Kind) throws {
    let update = try PreparedStatement(
      """
      UPDATE bothy_outbox SET kind = ?3, revision = revision + 1, attempts = 0, retry_at = 0, reason = NULL,
        state = CASE state WHEN 2 THEN 0 ELSE state END WHERE type = ?1 AND id = ?2
      """, in: transaction.database)
    update.bind(entry.record.type, at: 1)
    update.bind(entry.record.id, at: 2)
    update.bind(kind.number, at: 3)
    try update.run()
  }

  /// The row stays, as one that is new to the server.
  private func resurrect(_ id: RecordID) throws {
    let table = try transaction.catalog.table(id.type)
    guard var row = try transaction.row(table, id: id.id) else { return }
    row.version = nil
    try transaction.replace(table, id: id.id, row)
    let insert = try PreparedStatement(
      """
      INSERT OR IGNORE INTO bothy_outbox (type, id, kind, revision, edited, state, attempts, retry_at)
      VALUES (?, ?, 0, \(Outbox.newRevision), 0, 0, 0, 0)
      """, in: transaction.database)
    insert.bind(id.type, at: 1)
    insert.bind(id.id, at: 2)
    try insert.run()
  }
}
