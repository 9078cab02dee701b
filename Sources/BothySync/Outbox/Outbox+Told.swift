import BothyStore

/// The one memory of what the server last told of each record with pending work, whatever brought it: an answer, a
/// page, a snapshot, a query, a live change or a save that went to the server first.
///
/// It lies in columns of the record's entry that this file alone writes once the entry has begun: `base_version`, `base`
/// and `container` have what the changes were made against, `shadow` what was told since, deletions and absences
/// included, and `leaving` whether the record went out of sight. When the work ends, in any way, the row becomes what
/// was told last.
extension Outbox {
  /// Notes what the server has of a record. Only what can be read is noted so.
  static func hear(_ record: ServerRecord, in transaction: WriteTransaction) throws {
    try setShadow(record, of: record.id, in: transaction)
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

  /// The entry is no longer in doubt and is sent again by a new operation, against what an answer has told. What was
  /// told since that answer stays known.
  ///
  /// - Parameter answer: what was told where there is no base: a deletion. Nil where nothing of the record is known.
  static func reopen(
    _ id: RecordID, base: OutboxEntry.Base?, told answer: ServerRecord? = nil, kind: SyncOperation.Kind,
    in transaction: WriteTransaction
  ) throws {
    var told = answer
    let entry = try entry(id, in: transaction)
    if let kept = entry?.shadow, !kept.isAbsence,
      let version = base?.version ?? answer?.version, kept.version.isNewer(than: version)
    {
      told = kept
    }
    if let base, let entry, kind != .delete { try carry(base.fields, into: entry, in: transaction) }
    let update = try PreparedStatement(
      """
      UPDATE bothy_outbox SET operation = NULL, sent = NULL, sent_revision = NULL, sent_together = NULL,
        kind = ?3, base_version = ?4, base = ?5, container = coalesce(?6, container),
        base_created = coalesce(?7, base_created), base_modified = coalesce(?8, base_modified),
        base_owner = coalesce(?9, base_owner)
      WHERE type = ?1 AND id = ?2
      """, in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    update.bind(kind.number, at: 3)
    update.bind(base?.version, at: 4)
    update.bind(base?.fields, at: 5)
    update.bind(base?.container, at: 6)
    update.bind(base?.metadata, at: 7)
    try update.run()
    try setShadow(told, of: id, in: transaction)
    // The row carries the version too, for the day the entry is gone.
    if let base, kind != .delete, entry?.awaited == nil {
      try know(base, of: id, transaction.catalog.table(id.type), in: transaction)
    }
  }

  /// Has a row with pending work know the version that the work is made on, and who made the record when. When it was
  /// edited, it was edited here.
  static func know(
    _ base: OutboxEntry.Base, of id: RecordID, _ table: TypeTable, in transaction: WriteTransaction
  ) throws {
    try transaction.setVersion(base.version, table, id: id.id)
    let (created, owner) = (base.metadata.createdTime, base.metadata.owner)
    if created != nil || owner != nil {
      try transaction.setMetadata(RecordMetadata(created: created, owner: owner), table, id: id.id)
    }
  }

  /// Forgets what was told since the entry's base: the history that told it is followed no more.
  static func forgetTold(_ id: RecordID, in transaction: WriteTransaction) throws {
    try setShadow(nil, of: id, in: transaction)
  }

  private static func setShadow(_ told: ServerRecord?, of id: RecordID, in transaction: WriteTransaction)
    throws
  {
    let update = try PreparedStatement(
      "UPDATE bothy_outbox SET shadow = ?3 WHERE type = ?1 AND id = ?2", in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    if let told {
      var writer = JSONWriter()
      told.write(to: &writer)
      update.bind(utf8: writer.bytes, at: 3)
    } else {
      update.bind(String?.none, at: 3)
    }
    try update.run()
  }

  /// What the server last told of an entry's record, with whom it is shared; nil where it was not heard to have it.
  static func told(of entry: OutboxEntry, in transaction: ReadTransaction) throws -> ServerRecord? {
    guard entry.shadow == nil, var told = entry.told else { return entry.shadow }
    told.sharing = try KnownSharing.sharing(of: entry.record, in: transaction)
    return told
  }

  // MARK: the end

  /// Ends the pending work of a record: its row becomes what the server last told, or goes. True when a value had to be
  /// filled in or left aside.
  ///
  /// - Parameters:
  ///   - answer: what an answer has told just now; nil where it said nothing new of the record.
  ///   - isPulling: whether that came with pages.
  @discardableResult
  static func end(
    _ entry: OutboxEntry, told answer: ServerRecord? = nil, isPulling: Bool = false, _ noted: Journal.Noted,
    in transaction: WriteTransaction
  ) throws -> Bool {
    try remove(entry.record, noted, in: transaction)
    if entry.isBeneath { return try advance(entry, told: answer, isPulling: isPulling, in: transaction) }
    return try show(entry, told: answer, isPulling: isPulling, in: transaction)
  }

  /// Makes the row of an entry that has ended what the server last told, or lets it go. True when a value had to be filled
  /// in or left aside.
  static func show(
    _ entry: OutboxEntry, told answer: ServerRecord?, isPulling: Bool = false,
    in transaction: WriteTransaction
  ) throws -> Bool {
    let table = try transaction.catalog.table(entry.record.type)
    if try showHidden(entry, told: answer, isPulling: isPulling, table, in: transaction) { return false }
    if let told = entry.told(since: answer), !entry.isLeaving || told.isDeleted {
      if let repaired = try place(told, table, in: transaction) { return repaired }
    } else if let base = entry.base, !entry.isLeaving {
      if try restore(base, entry.record, table, in: transaction) { return false }
    }
    try transaction.evict(table, id: entry.record.id)
    return false
  }

  /// Makes the row what the changes were made against. False for what can't be read.
  private static func restore(
    _ base: OutboxEntry.Base, _ id: RecordID, _ table: TypeTable, in transaction: WriteTransaction
  ) throws -> Bool {
    if let row = try transaction.row(table, id: id.id), table.document(row) == base.fields,
      row.container == base.container
    {
      // Deleted and made again just as the server has it: the new row does not know its version yet.
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
    // A step of the schema may have taken from the base what it could not convert.
    if repaired { try Refetch.mark(id, in: base.container, in: transaction) }
    return true
  }

  /// Makes the row what the server has. True when a value had to be filled in or left aside. Of what can't be read the
  /// row stays as it is.
  @discardableResult
  static func apply(_ record: ServerRecord, in transaction: WriteTransaction) throws -> Bool {
    try place(record, transaction.catalog.table(record.id.type), in: transaction) ?? false
  }

  /// Nil for what can't be read, and is set aside.
  private static func place(
    _ record: ServerRecord, _ table: TypeTable, in transaction: WriteTransaction
  ) throws -> Bool? {
    var known = try KnownSharing(transaction)
    if record.isDeleted {
      try known.set(.nobody, of: record.id)
      try transaction.evict(table, id: record.id.id, deletion: record.isAbsence ? "" : record.version)
      try UnreadableTable.remove(record.id, in: transaction)
      return false
    }
    try known.set(record.sharing, of: record.id)
    var repaired = false
    guard let row = try UnreadableTable.row(record, table, repaired: &repaired, in: transaction) else {
      return nil
    }
    try transaction.replace(table, id: record.id.id, row)
    return repaired
  }
}

extension OutboxEntry {
  /// What the server last told of the record; nil where it was not heard to have it.
  var told: ServerRecord? {
    shadow
      ?? base.map {
        ServerRecord(
          id: record, container: $0.container ?? container, version: $0.version,
          metadata: $0.metadata, fields: $0.fields)
      }
  }

  /// When and by whom the record was made, as far as anything told of it.
  var origin: RecordMetadata {
    let known = (base?.metadata ?? RecordMetadata()).filled(from: shadow?.metadata)
    return RecordMetadata(created: known.createdTime, owner: known.owner)
  }

  /// The newer of an answer and what was told beside the entry. An answer is later than a snapshot that lacked the
  /// record.
  func told(since answer: ServerRecord?) -> ServerRecord? {
    guard let answer, let kept = shadow else { return answer ?? shadow }
    return !kept.isAbsence && kept.version.isNewer(than: answer.version) ? kept : answer
  }
}

extension ServerRecord {
  /// A note made here: at this position of its history the server told of no such record.
  static func absent(_ id: RecordID, from container: String, at position: Int64) -> ServerRecord {
    ServerRecord(id: id, container: container, version: String(position), modified: 0, isDeleted: true)
  }

  /// What an answer tells that knows of no such record.
  static func unknown(_ id: RecordID) -> ServerRecord { absent(id, from: id.type, at: .max) }

  /// Whether it is such a note, and no deletion that the server told of: those have a time.
  var isAbsence: Bool { isDeleted && modified == 0 }
}
