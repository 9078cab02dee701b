import BothyStore

extension DecisionJournal {
  /// Restores the content that a decision took from the user, as a new local write. An existing record gets the lost
  /// fields alone, on top of its present state. A missing record is created again, and a deletion that was undone is
  /// made again. Sensitive fields aren't kept, so they stay as they are.
  ///
  /// One transaction. The next sync sends the write, which may be overwritten again. Throws `BothyError` `.expired` if
  /// the entry is no longer kept, `.alreadyRestored` the second time, and `notRestorable` if nothing was lost or the
  /// content no longer fits the schema. Throws `BothyError` as a save does. Nothing is changed then.
  ///
  /// ```swift
  /// for entry in try store.journal.entries(of: todo.recordID, losing: true) where entry.isRestorable {
  ///   try await store.journal.restore(entry)
  /// }
  /// ```
  @discardableResult
  public func restore(_ entry: JournalEntry) async throws -> SaveReceipt<AnyRecord> {
    try await restore(entry.number)
  }

  /// Like `restore(_:)` with an entry, but with the entry's number.
  @discardableResult
  package func restore(_ number: Int64) async throws -> SaveReceipt<AnyRecord> {
    guard let entry = try entry(number) else { throw Self.expired(number) }
    let store = store
    let options = store.begun(RequestOptions())
    let place = entry.lostContainer ?? entry.record.type
    let receipt = try await store.engine.locks.withWrite(place) {
      try await store.store.write { transaction in
        let now = store.clock.now()
        guard let entry = try Journal.entry(number, in: transaction) else { throw Self.expired(number) }
        try Self.apply(entry, at: now, in: transaction)
        try store.queue(entry.record, in: transaction)
        try Journal.setRestored(number, at: now, in: transaction)
        return try store.receipt(writing: entry.record, in: transaction)
      }
    }
    store.askAfterSave(options)
    return receipt
  }

  private static func apply(_ entry: JournalEntry, at now: Int64, in transaction: WriteTransaction) throws {
    if entry.restored != nil {
      throw BothyError(
        .alreadyRestored,
        "Entry \(entry.number) of the journal was restored before. Look at \(entry.record) as it is now.",
        record: entry.record)
    }
    guard entry.isRestorable else {
      throw BothyError(
        .notRestorable,
        "Entry \(entry.number) of the journal took nothing of \(entry.record), or keeps it no longer. Restore one "
          + "that lists what was lost.", record: entry.record)
    }
    guard let table = transaction.catalog.tableIfKnown(entry.record.type) else {
      throw BothyError(
        .notRestorable,
        "The app's schema no longer has the type '\(entry.record.type)', so entry \(entry.number) of the journal has "
          + "no place. Declare the type again, or take the content from `JournalEntry.lost`.",
        record: entry.record)
    }
    guard let lost = entry.lost else {
      if try transaction.exists(entry.record) {
        try transaction.delete(entry.record)
      } else if try !OutboxQueue.knows(entry.record, in: transaction) {
        try OutboxQueue.assumeDeleted(entry.record, at: now, in: transaction)
      }
      return
    }
    let content = JournalContent(entry, table.schema)
    guard let here = try transaction.record(entry.record) else {
      try transaction.insert(content.record(lost))
      return try keepAside(lost, of: entry.record, table, in: transaction)
    }
    var fields: [String: FieldValue] = [:]
    for field in entry.lostFields {
      fields[field.name] =
        try content.value(added(field, to: here.fields[field.name], table) ?? field.local, of: field.name)
    }
    if entry.isGone && entry.lostFields.isEmpty { fields = try content.record(lost).fields }
    if !fields.isEmpty { try transaction.update(entry.record, fields: fields) }
    if let place = entry.lostContainer, !entry.isGone { try transaction.move(entry.record, to: place) }
  }

  /// Returns the value of a counter or set with the local addition on top of its present value, or `nil` for other
  /// fields.
  private static func added(
    _ field: JournalEntry.LostField, to now: FieldValue?, _ table: TypeTable
  ) -> JSONValue? {
    guard let rule = table.schema[field.name]?.merge, rule == .counter || rule == .setUnion, let now else {
      return nil
    }
    return FieldMerge.merge(
      base: field.base, client: field.local, server: now.json, clientIsLater: true, rule: rule)
  }

  /// Gives a record that was created again the members that the schema has no field for.
  private static func keepAside(
    _ lost: FieldsDocument, of id: RecordID, _ table: TypeTable, in transaction: WriteTransaction
  ) throws {
    try transaction.flush()
    guard var row = try transaction.row(table, id: id.id), let aside = try? table.row(lost).unknownFields
    else { return }
    row.unknownFields = aside
    try transaction.replace(table, id: id.id, row)
  }

  private static func expired(_ number: Int64) -> BothyError {
    BothyError(
      .expired,
      "The journal no longer keeps entry \(number). Entries go by age, number and size: raise "
        + "`SyncOptions.journal` to keep them longer.")
  }
}

extension SyncedStore {
  /// Makes sure that a restored record is sent. A record that was accepted as it is here hasn't changed, and the server
  /// may not have it.
  fileprivate func queue(_ id: RecordID, in transaction: WriteTransaction) throws {
    try transaction.flush()
    let table = try transaction.catalog.table(id.type)
    guard table.schema.isSynced, try OutboxQueue.mark(id, in: transaction) == nil,
      let row = try transaction.row(table, id: id.id)
    else { return }
    guard row.version == nil else {
      throw BothyError(
        .notRestorable,
        "\(id) is here as the journal has it, and counts as synced. Restore it when a sync has brought the server's.",
        record: id)
    }
    try OutboxQueue(clock: clock).touch(id, in: transaction)
  }
}

extension Journal {
  static func setRestored(_ number: Int64, at time: Int64, in transaction: WriteTransaction) throws {
    try transaction.run("UPDATE bothy_journal SET restored = ?2 WHERE number = ?1", number, time)
    transaction.touchBookkeeping()
  }
}
