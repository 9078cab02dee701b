import BothyStore

/// Stores what the server last reported about each record with pending changes, whatever the source. That may be an
/// answer, a page, a snapshot, a query, a pushed change or a save that was sent to the server first.
///
/// The columns of the record's entry hold it. `base_version`, `base` and `container` have the state that the changes were
/// made against. `remote_version` has what was reported since, deletions and absences included, and `leaving` says if the
/// record left the scopes of this device. Once the entry has begun, this file alone writes them, except for the bases of
/// changes that are stacked or of values that were read before. When the changes end, in any way, the row becomes what was
/// reported last.
extension OutboxQueue {
  /// Notes the server's version of a record. Only a version that can be read is noted like this.
  static func hear(_ record: ServerRecord, in transaction: WriteTransaction) throws {
    try setReported(record, of: record.id, in: transaction)
  }

  /// Notes that the record has left the scopes that this device pulls, or is back in them.
  static func leave(_ id: RecordID, isLeaving: Bool = true, in transaction: WriteTransaction) throws {
    try transaction.run("UPDATE bothy_outbox SET leaving = ?3 WHERE type = ?1 AND id = ?2", id, isLeaving)
  }

  /// Makes an entry in doubt ready to be sent again by a new operation, against what an answer has reported. What was
  /// reported since that answer stays known.
  ///
  /// - Parameter answer: the deletion that was reported if no base exists, or `nil` if nothing of the record is known.
  static func reopen(
    _ id: RecordID, base: Outbox.Entry.Base?, reported answer: ServerRecord? = nil, kind: ChangeKind,
    in transaction: WriteTransaction
  ) throws {
    var reported = answer
    let entry = try entry(id, in: transaction)
    if let kept = entry?.remoteVersion, !kept.isAbsence,
      let version = base?.version ?? answer?.version, kept.version.isNewer(than: version)
    {
      reported = kept
    }
    if let base, let entry, kind != .delete { try carry(base.fields, into: entry, in: transaction) }
    try transaction.run(
      """
      UPDATE bothy_outbox SET operation = NULL, sent = NULL, sent_revision = NULL, sent_together = NULL,
        kind = ?3, base_version = ?4, base = ?5, container = coalesce(?6, container),
        base_created = coalesce(?7, base_created), base_modified = coalesce(?8, base_modified),
        base_owner = coalesce(?9, base_owner)
      WHERE type = ?1 AND id = ?2
      """, id, kind.number, base?.version, base?.fields, base?.container, base?.metadata)
    try setReported(reported, of: id, in: transaction)
    // The row carries the version too, for the time after the entry has ended.
    if let base, kind != .delete, entry?.awaited == nil {
      try know(base, of: id, transaction.catalog.table(id.type), in: transaction)
    }
  }

  /// Gives a row with pending changes the version that they are based on, and the creator and creation time of the
  /// record. The time of its last edit stays the local one.
  static func know(
    _ base: Outbox.Entry.Base, of id: RecordID, _ table: TypeTable, in transaction: WriteTransaction
  ) throws {
    try transaction.setVersion(base.version, table, id: id.id)
    let (created, owner) = (base.metadata.createdTime, base.metadata.owner)
    if created != nil || owner != nil {
      try transaction.setMetadata(RecordMetadata(created: created, owner: owner), table, id: id.id)
    }
  }

  /// Replaces what was reported since the entry's base. With `nil` it is forgotten, because the device no longer follows
  /// the history that reported it.
  static func setReported(_ reported: ServerRecord?, of id: RecordID, in transaction: WriteTransaction) throws
  {
    try transaction.run(
      "UPDATE bothy_outbox SET remote_version = ?3 WHERE type = ?1 AND id = ?2", id, reported?.json)
  }

  /// Returns what the server last reported about an entry's record, with its audience. Returns `nil` if the server
  /// isn't known to have it.
  static func reported(of entry: Outbox.Entry, in transaction: ReadTransaction) throws -> ServerRecord? {
    guard entry.remoteVersion == nil, var reported = entry.reported else { return entry.remoteVersion }
    reported.sharing = try AudienceTable.sharing(of: entry.id, in: transaction)
    return reported
  }

  // MARK: the end

  /// Ends a change, which is the only way to end pending work beside `remove` and `endLater`. Each of them requires a row
  /// of the journal. Returns true if a value had to be filled in or left out.
  ///
  /// After the first change of a record the next one becomes its entry. After the last the row becomes what the server
  /// last reported, or is evicted. A change on top of others leaves the record as the change beneath it does.
  ///
  /// - Parameters:
  ///   - answer: what an answer has just reported, or `nil` if it had nothing new about the record.
  ///   - isPulling: true if the answer came with pages.
  @discardableResult
  static func end(
    _ entry: Outbox.Entry, reported answer: ServerRecord? = nil, isPulling: Bool = false,
    _ noted: Journal.Noted,
    in transaction: WriteTransaction
  ) throws -> Bool {
    if entry.isLater {
      try removeLater(entry, noted, in: transaction)
      return false
    }
    try remove(entry, noted, in: transaction)
    if entry.isBeneath { return try advance(entry, reported: answer, isPulling: isPulling, in: transaction) }
    return try show(entry, reported: answer, isPulling: isPulling, in: transaction)
  }

  /// Ends a change that was undone here before the server decided about it.
  static func takeBack(_ entry: Outbox.Entry, in transaction: WriteTransaction) throws {
    try end(entry, Journal.note(entry, .withdrawn, .takenBack, in: transaction), in: transaction)
  }

  /// Makes the row of an ended entry what the server last reported, or evicts it. Returns true if a value had to be
  /// filled in or left out.
  static func show(
    _ entry: Outbox.Entry, reported answer: ServerRecord?, isPulling: Bool = false,
    in transaction: WriteTransaction
  ) throws -> Bool {
    let table = try transaction.catalog.table(entry.id.type)
    if try showHidden(entry, reported: answer, isPulling: isPulling, table, in: transaction) { return false }
    if let reported = entry.reported(since: answer), !entry.isLeaving || reported.isDeleted {
      let own = entry.isHidden && answer != nil ? try sent(entry, table, in: transaction) : [:]
      let isOwnDeletion = entry.isHidden && entry.change == .delete && answer != nil
      if let repaired = try place(reported, own: own, isOwnDeletion: isOwnDeletion, table, in: transaction) {
        return repaired
      }
    } else if let base = entry.base, !entry.isLeaving {
      if try restore(base, entry.id, table, in: transaction) { return false }
    }
    // The server still has the record, so answers that have it are no longer here in full.
    if entry.isLeaving { try QueryCompleteness.forget(entry.id.type, in: transaction) }
    try transaction.evict(table, id: entry.id.id)
    return false
  }

  /// Returns the fields that a hidden change set, by position, as they were before merges with others' changes. Leaves
  /// out fields for which that isn't known.
  static func sent(
    _ entry: Outbox.Entry, _ table: TypeTable, in transaction: ReadTransaction
  ) throws -> [Int: FieldValue] {
    guard let row = try local(entry, table, in: transaction) else { return [:] }
    let base = entry.base.flatMap { try? table.row($0.fields, in: entry.container) }
    guard let base, let shown = try transaction.row(table, id: entry.id.id) else {
      return Dictionary(uniqueKeysWithValues: row.values.enumerated().map { ($0, $1) })
    }
    var sent: [Int: FieldValue] = [:]
    for (position, field) in table.schema.fields.enumerated()
    where row.values[position] != base.values[position] {
      if base.values[position] == shown.values[position] {
        sent[position] = row.values[position]
      } else if field.merge == .counter {
        // A merge has added what was counted here to the server's number.
        sent[position] = try FieldMerge.later(
          row.values[position], than: shown.values[position], readAs: base.values[position], field)
      }
    }
    return sent
  }

  /// Makes the row the state that the changes were made against. Returns false if that can't be read.
  private static func restore(
    _ base: Outbox.Entry.Base, _ id: RecordID, _ table: TypeTable, in transaction: WriteTransaction
  ) throws -> Bool {
    if let row = try transaction.row(table, id: id.id), table.document(row) == base.fields,
      row.container == base.container
    {
      // Deleted and created again just as the server has it: the new row doesn't know its version yet.
      try transaction.setVersion(base.version, table, id: id.id)
      try transaction.setMetadata(base.metadata, table, id: id.id)
      return true
    }
    var repaired = false
    guard
      var row = try? table.row(
        base.fields, container: base.container ?? id.type, version: base.version, repaired: &repaired)
    else { return false }
    row.metadata = base.metadata
    try transaction.replace(table, id: id.id, row)
    // A migration may have removed from the base what it couldn't convert.
    if repaired { try Refetch.mark(id, in: base.container, in: transaction) }
    return true
  }

  /// Makes the row the server's version. Returns true if a value had to be filled in or left out. Leaves the row as it
  /// is if the version can't be read.
  @discardableResult
  static func apply(_ record: ServerRecord, in transaction: WriteTransaction) throws -> Bool {
    try place(record, transaction.catalog.table(record.id.type), in: transaction) ?? false
  }

  /// Like `apply(_:in:)`, but returns `nil` for a version that can't be read, which is kept in `UnreadableTable`.
  ///
  /// - Parameters:
  ///   - own: the fields that this device sent, by position, if the row does not show them.
  ///   - isOwnDeletion: true if this device deleted the record. A later save then creates it again.
  private static func place(
    _ record: ServerRecord, own: [Int: FieldValue] = [:], isOwnDeletion: Bool = false, _ table: TypeTable,
    in transaction: WriteTransaction
  ) throws -> Bool? {
    try AudienceTable.set(record.isDeleted ? .nobody : record.sharing, of: record.id, in: transaction)
    if record.isDeleted {
      if isOwnDeletion {
        try transaction.forget(table, id: record.id.id)
      } else if try transaction.evict(
        table, id: record.id.id, deletion: record.isAbsence ? "" : record.version), !record.isAbsence
      {
        try transaction.followDeletion(of: record.id, isOwn: false)
      }
      try UnreadableTable.remove(record.id, upTo: record.version, in: transaction)
      return false
    }
    var repaired = false
    guard let row = try UnreadableTable.row(record, table, repaired: &repaired, in: transaction) else {
      return nil
    }
    try transaction.replace(table, id: record.id.id, row, own: own)
    return repaired
  }

  /// Copies the parts of the server's record that this schema can't read into a change.
  ///
  /// - Parameter server: the server's fields, or `nil` for those of the change's base if the record was created again.
  static func carry(
    _ server: FieldsDocument? = nil, into change: Outbox.Entry, in transaction: WriteTransaction
  ) throws {
    let table = try transaction.catalog.table(change.id.type)
    let base = change.base?.fields
    guard let server = server ?? base, let row = try local(change, table, in: transaction) else { return }
    // The caller keeps a record aside that can't be read at all.
    guard let carried = try? table.carrying(server, in: row, since: base) else { return }
    try setLocal(change, table, carried, in: transaction)
  }

  /// Removes the entry of a record, and leaves its row as it is.
  static func remove(_ entry: Outbox.Entry, _: Journal.Noted, in transaction: WriteTransaction) throws {
    try keepFormer(of: entry, in: transaction)
    transaction.endHidden(entry.id)
    try transaction.run("DELETE FROM bothy_outbox WHERE type = ? AND id = ?", entry.id)
  }

  // MARK: the sharing of an entry

  /// Reduces the pending sharing of an entry to what remains after the server has applied `sent`.
  static func reduceSharing(of entry: Outbox.Entry, by sent: SharingChange?, in transaction: WriteTransaction)
    throws
  {
    guard let pending = entry.sharing, sent != nil else { return }
    try setSharing(pending.remaining(after: sent), of: entry.id, in: transaction)
  }

  /// Sets the pending sharing of an entry.
  static func setSharing(_ change: SharingChange, of id: RecordID, in transaction: WriteTransaction) throws {
    try transaction.run(
      "UPDATE bothy_outbox SET share = ?3 WHERE type = ?1 AND id = ?2", id, change.isEmpty ? nil : change.json
    )
  }
}

extension Outbox.Entry {
  /// The last version that the server reported, or `nil` if it isn't known to have the record.
  var reported: ServerRecord? {
    remoteVersion
      ?? base.map {
        ServerRecord(
          id: id, container: $0.container ?? container, version: $0.version,
          metadata: $0.metadata, fields: $0.fields)
      }
  }

  /// The creation time and the creator of the record, as far as they were reported.
  var origin: RecordMetadata {
    let known = (base?.metadata ?? RecordMetadata()).filled(from: remoteVersion?.metadata)
    return RecordMetadata(created: known.createdTime, owner: known.owner)
  }

  /// Returns the newer of an answer and the version noted beside the entry. An answer is later than a snapshot that
  /// lacked the record.
  func reported(since answer: ServerRecord?) -> ServerRecord? {
    guard let answer, let kept = remoteVersion else { return answer ?? remoteVersion }
    return !kept.isAbsence && kept.version.isNewer(than: answer.version) ? kept : answer
  }
}

extension ServerRecord {
  /// The record, or `nil` if it is a tombstone.
  var live: ServerRecord? { isDeleted ? nil : self }
  /// Returns a note made here that the server reported no such record at this position of its history.
  static func absent(_ id: RecordID, from container: String, at position: Int64) -> ServerRecord {
    ServerRecord(id: id, container: container, version: String(position), modified: 0, isDeleted: true)
  }

  /// Returns the version that an answer implies if it doesn't know the record.
  static func unknown(_ id: RecordID) -> ServerRecord { absent(id, from: id.type, at: .max) }

  /// True if this is such a note and not a deletion that the server reported. Those have a time.
  var isAbsence: Bool { isDeleted && modified == 0 }
}

/// The audience of each record, as far as the server has reported it to this device. Pending changes aren't part of it.
///
/// Records without an audience cost one look-up a transaction.
struct AudienceTable {
  private let transaction: WriteTransaction
  private var isEmpty: Bool

  init(_ transaction: WriteTransaction) throws {
    self.transaction = transaction
    isEmpty = try !transaction.has("SELECT 1 FROM bothy_sharing LIMIT 1")
  }

  mutating func set(_ sharing: Audience, of id: RecordID) throws {
    guard !sharing.isEmpty else {
      return isEmpty ? () : try transaction.run("DELETE FROM bothy_sharing WHERE type = ? AND id = ?", id)
    }
    try transaction.run("INSERT OR REPLACE INTO bothy_sharing VALUES (?, ?, ?)", id, sharing.json)
    isEmpty = false
  }

  static func set(_ sharing: Audience, of id: RecordID, in transaction: WriteTransaction) throws {
    var known = try AudienceTable(transaction)
    try known.set(sharing, of: id)
  }

  /// Applies a change that the server has made to the known sharing.
  static func apply(_ change: SharingChange?, to id: RecordID, in transaction: WriteTransaction) throws {
    guard let change, !change.isEmpty else { return }
    try set(change.applied(to: sharing(of: id, in: transaction)), of: id, in: transaction)
  }

  static func sharing(of id: RecordID, in transaction: ReadTransaction) throws -> Audience {
    try transaction.first("SELECT sharing FROM bothy_sharing WHERE type = ? AND id = ?", id) {
      try $0.text(at: 0).map { try Audience(json: $0) }
    } ?? .nobody
  }
}
