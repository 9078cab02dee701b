import BothyStore

/// Changes whose callers wait for the server's verdict. They are entries like any other and durable before anything is
/// sent, but their content is stored in the entry. Readers see the unchanged row until the server has answered.
///
/// A hidden change ends in one of three ways. It is settled like any other, another change of the record is made on top
/// of it, or no answer arrives. The last two make it pending like any other, except for saves that are never queued.
/// Those are undone.
extension OutboxQueue {
  /// Returns the record as the entry has it here, hidden or not, or `nil` for a deletion.
  static func local(
    _ entry: Outbox.Entry, _ table: TypeTable, in transaction: ReadTransaction
  ) throws -> StoredRow? {
    guard let awaited = entry.awaited else { return try transaction.row(table, id: entry.record.id) }
    if entry.kind == .delete { return nil }
    return try table.row(awaited.fields, in: awaited.container, version: entry.base?.version)
  }

  /// Replaces the record that `local(_:_:in:)` returns.
  static func setLocal(
    _ entry: Outbox.Entry, _ table: TypeTable, _ row: StoredRow, in transaction: WriteTransaction
  ) throws {
    guard entry.awaited != nil else { return try transaction.replace(table, id: entry.record.id, row) }
    try update(
      entry, "SET awaited = ?4, awaited_in = ?5", table.document(row), row.container, in: transaction)
  }

  /// Makes a hidden entry one like any other.
  private static func expose(_ id: RecordID, in transaction: WriteTransaction) throws {
    try transaction.run(
      "UPDATE bothy_outbox SET awaiting = 0, awaited = NULL, awaited_in = NULL WHERE type = ? AND id = ?", id)
  }

  /// Begins a hidden entry for a record without one, and returns its revision.
  static func begin(awaited change: OnlineChange, in transaction: WriteTransaction) throws -> Int64 {
    let entry = change.entry
    try begin(
      entry.record, entry.kind, revision: entry.revision,
      at: SyncClock.Reading(time: entry.edited, isReliable: entry.isEditTimeReliable), base: entry.base,
      container: entry.container, metadata: entry.base?.metadata, last: change.last, sharing: entry.sharing,
      awaited: entry.awaited, in: transaction)
    if let told = entry.remoteVersion { try hear(told, in: transaction) }
    for (key, secret) in change.secrets { try transaction.secretStore?.set(secret, for: key) }
    transaction.touchBookkeeping()
    return entry.revision
  }

  // MARK: the ways to the row

  /// Combines a change that was just made here with a hidden one. Both are pending, and the row shows both. Returns the
  /// kind that the change has for the entry, or `nil` if both are deletions and one is enough.
  static func lay(
    _ change: Change, on id: RecordID, _ table: TypeTable, in transaction: WriteTransaction
  ) throws -> (ChangeKind, Change.Stale?)? {
    guard let entry = try entry(id, in: transaction) else { return nil }
    let hidden = try local(entry, table, in: transaction)
    try expose(id, in: transaction)
    guard try transaction.exists(id) else { return entry.kind == .delete ? nil : (.delete, nil) }
    // The hidden deletion may have been applied, and the record was changed here since. The local content stays.
    guard let hidden else { return (.insert, nil) }
    let base = try entry.base.map { try table.row($0.fields).values }
    return (.update, try lay(change, of: id, on: hidden, theirs: base, table, in: transaction))
  }

  /// Lays a change that was just made here on an earlier one that the row doesn't show. Of one person's two edits of a
  /// field the later wins, while counters, sets and the like keep both. The merge policy decides about a field that
  /// others changed since it was read, and that the earlier change left as theirs. Returns these fields as read.
  ///
  /// - Parameters:
  ///   - earlier: the record after the earlier change.
  ///   - theirs: the values that the earlier change was made on, or `nil` for a new record.
  static func lay(
    _ change: Change, of id: RecordID, on earlier: StoredRow, theirs: [FieldValue]?, _ table: TypeTable,
    in transaction: WriteTransaction
  ) throws -> Change.Stale? {
    guard let row = try transaction.row(table, id: id.id) else { return nil }
    let before = change.before
    let isMoved =
      before?.container != row.container && (change.kind != .insert || row.container != nil)
    // An edit beside changes of others was made on the values read.
    let base = try before.map { try table.document($0).members() } ?? [:]
    let members = try table.document(row).members().laid(
      on: table.document(earlier).members(), since: change.stale.map { $0.laid(on: base, table) } ?? base,
      table.schema)
    let laid = try table.row(
      FieldsDocument(members), in: isMoved ? row.container : earlier.container, version: earlier.version)
    try transaction.replace(table, id: id.id, laid, own: laid.all)
    guard let theirs else { return nil }
    var read = before?.values ?? row.values.map { _ in .null }
    for (position, value) in change.stale?.values ?? [:] { read[position] = value }
    let values = conflicts(of: row.values, readAs: read, with: theirs, table.schema)
      .filter { earlier.values[$0.key] == theirs[$0.key] }
    return values.isEmpty ? nil : Change.Stale(version: agedVersion, values: values)
  }

  /// Makes the row show a hidden change, which becomes pending like any other. Does nothing if the row shows it
  /// already.
  static func reveal(_ entry: Outbox.Entry, in transaction: WriteTransaction) throws {
    guard entry.isHidden else { return }
    let table = try transaction.catalog.table(entry.record.type)
    let local = try local(entry, table, in: transaction)
    if local == nil, try transaction.exists(entry.record) {
      // Applies the delete rules to other records too.
      try transaction.delete(entry.record)
      try transaction.flush()
    }
    try expose(entry.record, in: transaction)
    if let local { try transaction.replace(table, id: entry.record.id, local, own: local.all) }
  }

  /// Reveals the hidden change of a record without a row, so that a further change finds it.
  static func revealMissing(_ id: RecordID, in transaction: WriteTransaction) throws {
    guard let entry = try entry(id, in: transaction), entry.isHidden, try !transaction.exists(id) else {
      return
    }
    try reveal(entry, in: transaction)
  }

  /// Undoes a hidden change for a reason that its caller receives.
  static func refuse(
    awaited entry: Outbox.Entry, _ rejection: Rejection, at time: Int64, in transaction: WriteTransaction
  ) throws {
    let noted = try Journal.note(
      entry, .rejected, .online, reason: rejection,
      loss: Journal.Loss(entry, now: entry.told, in: transaction), at: time, in: transaction)
    try undo(entry, noted, in: transaction)
  }

  /// Undoes a hidden change. The row becomes what the server last reported, and the change's secrets are removed.
  static func undo(_ entry: Outbox.Entry, _ noted: Journal.Noted, in transaction: WriteTransaction) throws {
    try end(entry, noted, in: transaction)
    try SecretAttachment.sweep(in: transaction)
  }

  /// Returns the operation that was sent for a change and whose outcome is unknown. Also returns `nil` if it is nested
  /// too deeply to be read, because no server has read it either.
  static func sentOperation(of entry: Outbox.Entry, in transaction: ReadTransaction) throws -> SyncOperation?
  {
    let select = try statement("SELECT sent FROM", entry, in: transaction)
    defer { select.reset() }
    guard try select.step(), !select.isNull(at: 0) else { return nil }
    // What this module wrote is else readable.
    return try? JSONReader.read(select.bytes(at: 0)) { try SyncOperation(from: &$0) }
  }

  /// Returns the server's version of a record without pending changes, as its row has it.
  static func shown(_ id: RecordID, in transaction: ReadTransaction) throws -> ServerRecord? {
    let table = try transaction.catalog.table(id.type)
    guard let row = try transaction.row(table, id: id.id), let version = row.version else { return nil }
    return ServerRecord(
      id: id, container: row.container, version: version, metadata: row.metadata,
      fields: table.document(row), sharing: try AudienceTable.sharing(of: id, in: transaction))
  }

  /// Shows in the row the part of a hidden change's result that is kept here. Returns false for a change that ends like
  /// any other.
  ///
  /// - Parameter isPulling: true if the answer came with pages.
  static func showHidden(
    _ entry: Outbox.Entry, told answer: ServerRecord?, isPulling: Bool, _ table: TypeTable,
    in transaction: WriteTransaction
  ) throws -> Bool {
    guard entry.isHidden, let awaited = entry.awaited, awaited.keeping != .here else { return false }
    if awaited.keeping == .uncached {
      try transaction.evict(table, id: entry.record.id)
      return true
    }
    let id = entry.record
    let known = try transaction.row(table, id: id.id)
    // If the server reported other versions meanwhile, the row shows those as it does without the change.
    guard entry.remoteVersion == nil, !entry.isLeaving, known?.version == entry.base?.version else {
      return false
    }
    guard let answer else { return true }
    if answer.isDeleted { return false }
    if let version = known?.version { try StaleRows.mark(id, over: version, answer, in: transaction) }
    // The pages of a request don't contain what the request itself changed.
    if isPulling { try Refetch.mark(id, in: answer.container, in: transaction) }
    return true
  }
}
