import BothyStore

extension SyncOptions {
  /// The treatment of an unsent record that refers to a record which others have deleted meanwhile.
  public enum MissingParentPolicy: String, Sendable, Hashable, CaseIterable {
    /// Follows the delete rule of the reference. Under `cascade` a record created here is deleted too, and the report
    /// lists it. Under `nullify` its reference is cleared. Under `deny` it stays, and its entry says why the server
    /// rejects it. The default.
    case deleteRule
    /// Recreates the deleted record with its local content, for the sake of those that refer to it.
    ///
    /// The next sync sends it as an insert.
    case resurrect
    /// Keeps the record as it is. Its entry of the outbox says why the server rejects it.
    ///
    /// The app then changes its reference, or decides with `Outbox.resolve(_:_:)`.
    case keepPending
  }
}

/// Carries out an orphan policy, in the transaction in which the deletion by others arrives.
///
/// Only a deletion that the server reported counts. A reference to a record that the server doesn't know yet, because
/// the parent is rejected or late, deletes nothing. Records that the server has are left to the device that deleted.
struct MissingParents {
  let transaction: WriteTransaction
  let policy: SyncOptions.MissingParentPolicy
  private(set) var overwritten: [SyncReport.ReplacedContent] = []

  init(_ transaction: WriteTransaction, _ policy: SyncOptions.MissingParentPolicy) {
    self.transaction = transaction
    self.policy = policy
  }

  /// Handles a record that was deleted on the server. Returns false if it stays here, to be recreated.
  mutating func deletes(_ id: RecordID) throws -> Bool {
    guard policy != .keepPending, try !OutboxQueue.isEmpty(in: transaction) else { return true }
    var queue = [id]
    while let target = queue.popLast() {
      for (entry, field, rule) in try unsentReferrers(of: target) {
        if policy == .resurrect {
          try resurrect(id)
          return false
        }
        switch (rule, entry.change) {
        case (.cascade, .insert):
          try drop(entry)
          queue.append(entry.id)
        case (.nullify, _): try clear(field, of: entry.id, target.id)
        case (.cascade, _), (.deny, _): continue
        }
      }
    }
    return true
  }

  private typealias Referrer = (Outbox.Entry, FieldSchema, FieldKind.DeleteRule)

  /// Returns the unsent records that refer to the target. Reads one index range for each field that may refer to it.
  private func unsentReferrers(of target: RecordID) throws -> [Referrer] {
    guard let table = transaction.catalog.tableIfKnown(target.type) else { return [] }
    var found: [Referrer] = []
    for incoming in transaction.catalog.incoming[table.index] {
      let owner = transaction.catalog.tables[incoming.table]
      guard owner.schema.isSynced else { continue }
      let field = owner.schema.fields[incoming.field]
      for id in try transaction.referrers(of: target, from: owner, field, isList: incoming.isList) {
        let record = RecordID(type: owner.schema.name, id: id)
        guard let entry = try OutboxQueue.entry(record, in: transaction), entry.change != .delete,
          !entry.isHidden
        else { continue }
        found.append((entry, field, incoming.rule))
      }
    }
    return found
  }

  private mutating func drop(_ entry: Outbox.Entry) throws {
    let id = entry.id
    let table = try transaction.catalog.table(id.type)
    var lost: [SyncReport.ReplacedContent] = []
    if entry.operationID == nil {
      try OutboxQueue.forget(id, in: transaction) { try note($0, &lost) }
      try transaction.evict(table, id: id.id)
      try transaction.followDeletion(of: id, isOwn: false)
    } else {
      // The record may have arrived on the server, so its deletion is sent after it. It is of this content alone.
      try OutboxQueue.forgetLater(of: id, in: transaction) { try note($0, &lost) }
      let content = try OutboxQueue.local(entry, table, in: transaction).map { table.document($0) }
      _ = try note(entry, &lost)
      try transaction.evict(table, id: id.id)
      try transaction.followDeletion(of: id, isOwn: false)
      try OutboxQueue.setContent(of: entry, nil, table, keeping: nil, in: transaction)
      try change(entry, kind: .delete, of: content)
    }
    overwritten += lost
  }

  private func note(_ entry: Outbox.Entry, _ lost: inout [SyncReport.ReplacedContent]) throws -> Journal.Noted
  {
    let table = try transaction.catalog.table(entry.id.type)
    let local = try OutboxQueue.local(entry, table, in: transaction)
    lost.append(SyncReport.ReplacedContent(record: entry.id, fields: local.map { table.document($0) }))
    return try Journal.note(
      entry, .overwritten, .orphaned, loss: Journal.Loss(entry, now: entry.reported, in: transaction),
      in: transaction)
  }

  /// Removes the reference from all pending changes of a record.
  private func clear(_ field: FieldSchema, of id: RecordID, _ target: String) throws {
    let table = try transaction.catalog.table(id.type)
    guard let index = table.schema.index(of: field.name) else { return }
    var former: (before: OutboxQueue.Content, after: OutboxQueue.Content)?
    for entry in try OutboxQueue.changes(of: id, in: transaction) {
      // The base of a change is the result of the change beneath it.
      if let former, entry.base.map({ OutboxQueue.Content($0, id.type) }) == former.before {
        try OutboxQueue.setBase(of: entry, former.after, in: transaction)
      }
      former = nil
      guard let row = try OutboxQueue.local(entry, table, in: transaction) else { continue }
      var cleared = row
      if case .list(let ids) = row.values[index] {
        cleared.values[index] = .list(ids.filter { $0 != target })
      } else if row.values[index] == .text(target) {
        cleared.values[index] = .null
      }
      former = (OutboxQueue.Content(row, table), OutboxQueue.Content(cleared, table))
      guard cleared.values[index] != row.values[index] else { continue }
      try OutboxQueue.setLocal(entry, table, cleared, in: transaction)
      try change(entry, kind: entry.change)
    }
  }

  /// Makes a rejected change ready to be sent again as it is now. If it is the record's last one, it gets a new
  /// revision, so that it differs from what was sent.
  ///
  /// - Parameter content: the record as it was, if the change has become its deletion.
  private func change(_ entry: Outbox.Entry, kind: ChangeKind, of content: FieldsDocument? = nil) throws {
    let isLast = entry.awaited == nil || kind == .delete
    try OutboxQueue.update(
      entry, "SET kind = ?4, revision = revision + ?5, last = ?6, \(OutboxQueue.triedAgain)", kind.number,
      isLast, content, in: transaction)
    if let group = entry.group { try OutboxQueue.forgive(group, in: transaction) }
  }

  /// Keeps the row as one that is new to the server.
  private func resurrect(_ id: RecordID) throws {
    let table = try transaction.catalog.table(id.type)
    guard var row = try transaction.row(table, id: id.id) else { return }
    row.version = nil
    try transaction.replace(table, id: id.id, row)
    guard try OutboxQueue.mark(id, in: transaction) == nil else { return }
    try OutboxQueue.begin(id, .insert, at: SyncClock.Reading(time: 0, isReliable: true), in: transaction)
  }
}
