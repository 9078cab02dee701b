public import BothyStore
public import Foundation

/// The decisions about local writes, with the content that was lost. They are kept in the file, written in the
/// transaction that decides, and limited by `SyncOptions.journal`.
///
/// ```swift
/// for entry in try store.journal.entries(losing: true) {
///   for field in entry.lostFields { print("\(entry.record): \(field.name) was \(field.local), is \(field.now)") }
/// }
/// ```
public struct DecisionJournal: Sendable {
  let store: SyncedStore

  /// Returns decisions, the newest first. One read of at most `limit` rows if no record is named and nothing is
  /// filtered.
  ///
  /// - Parameters:
  ///   - record: only those about this record.
  ///   - losing: only those that took local content, or undid a deletion.
  ///   - number: only those after the entry with this number.
  ///   - last: only those before the entry with this number, for the next page.
  public func entries(
    of record: RecordID? = nil, losing: Bool = false, after number: Int64? = nil, before last: Int64? = nil,
    limit: Int = 50
  ) throws -> [JournalEntry] {
    var conditions: [String] = []
    var arguments: [any StatementValue] = []
    if let record {
      conditions.append("type = ? AND id = ?")
      arguments.append(record)
    }
    if losing { conditions.append("share = 1") }
    conditions.append("number > ? AND number < ? ORDER BY number DESC")
    let (condition, values) = (conditions.joined(separator: " AND "), arguments)
    return try store.store.read { transaction in
      var (found, last) = ([JournalEntry](), last ?? .max)
      while found.count < limit {
        let page = try Journal.entries(
          where: condition, values + [number ?? 0, last], limit: limit, in: transaction)
        // The share also has decisions that took nothing, such as merges that kept all.
        found += page.filter { !losing || $0.hasLost }.prefix(limit - found.count)
        guard page.count == limit, let oldest = page.last else { break }
        last = oldest.number
      }
      return found
    }
  }

  /// Returns the decision with this number, or `nil` if it is no longer kept. One look-up.
  package func entry(_ number: Int64) throws -> JournalEntry? {
    try store.store.read { try Journal.entry(number, in: $0) }
  }

  /// Returns the number of the newest decision, or 0 before the first. It never falls, whatever is removed.
  package func lastNumber() throws -> Int64 { try store.store.read { try Self.lastNumber(in: $0) } }

  /// Like `lastNumber()`, but in a transaction.
  package static func lastNumber(in transaction: ReadTransaction) throws -> Int64 {
    try Journal.end(in: transaction)
  }

  /// Returns each decision after `number`, in the order in which they were made, those of other processes too. With
  /// `nil`, begins with the next one. A reader that stores the number of the last one continues after it when
  /// relaunched. Decisions that were removed by then as too old are missing. One read for a hundred decisions, and one
  /// for each commit meanwhile.
  public func updates(
    after number: Int64? = nil
  ) -> some AsyncSequence<JournalEntry, BothyError> & Sendable {
    JournalUpdates(store: store, start: number)
  }
}

extension SyncedStore {
  /// The decisions about local writes, with the content that they lost. Making it reads nothing.
  public var journal: DecisionJournal { DecisionJournal(store: self) }
}

/// Decisions as they are made, see `DecisionJournal.updates`. Ends when the task is cancelled or the store is closed.
package struct JournalUpdates: AsyncSequence, Sendable {
  package typealias Element = JournalEntry
  package typealias Failure = BothyError

  let store: SyncedStore
  let start: Int64?

  package struct AsyncIterator: AsyncIteratorProtocol {
    private let store: SyncedStore
    private var commits: CommitStream.AsyncIterator
    private var last: Result<Int64, BothyError>
    private var found: ArraySlice<JournalEntry> = []

    fileprivate init(_ store: SyncedStore, after start: Int64?) {
      self.store = store
      // Before the first look, so that no commit falls between.
      commits = store.store.allCommits.makeAsyncIterator()
      last = Result { () throws(BothyError) -> Int64 in
        if let start { return start }
        do { return try store.journal.lastNumber() } catch { throw BothyError(error, path: store.store.path) }
      }
    }

    /// Waits for the next decision. Returns `nil` once the task is cancelled or the store is closed.
    package mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(BothyError) -> JournalEntry? {
      while !Task.isCancelled {
        if let entry = found.popFirst() {
          last = .success(entry.number)
          return entry
        }
        let number = try last.get()
        do {
          found = try await store.store.read { transaction in
            try Journal.entries(
              where: "number > ? ORDER BY number", [number], limit: 100, in: transaction)
          }[...]
        } catch is CancellationError { return nil } catch {
          throw BothyError(error, path: store.store.path)
        }
        if found.isEmpty, await commits.next(isolation: actor) == nil { return nil }
      }
      return nil
    }
  }

  /// Returns an iterator. Without a number, decisions count from this call on.
  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(store, after: start) }
}

/// The journal of a value's record, with typed content.
///
/// ```swift
/// for entry in try await store.journal.entries(for: todo) {
///   if let lost = try store.journal.overwritten(Todo.self, in: entry) { print(lost.title, entry.date) }
///   if entry.isRestorable { try await store.journal.restore(entry) }
/// }
/// ```
extension DecisionJournal {
  /// Returns the decisions about a value's record, the newest first. One read of at most `limit` rows.
  ///
  /// Empty if nothing was decided yet, or if the journal no longer has it. Throws `BothyError`.
  public func entries<E: Entity>(for value: E, limit: Int = 50) async throws -> [JournalEntry] {
    let record = RecordID(value)
    return try await FileWork.run { try entries(of: record, limit: limit) }
  }

  /// Returns the local record that a decision replaced, as a value, or `nil` if nothing was lost.
  ///
  /// Sensitive fields are empty. Throws `BothyError` `notRestorable` if the entry is of another type or its content no
  /// longer fits the type.
  public func overwritten<E: Entity>(_ type: E.Type, in entry: JournalEntry) throws -> E? {
    try entry.lost(as: type)
  }
}

extension JournalEntry {
  /// The time of the decision, by the server-corrected clock. Sort by `id`, which rises with each decision.
  public var date: Date { Date(timeIntervalSince1970: Double(decided) / 1000) }
}

extension DecisionJournal {
  /// Restores the content that a decision took from the user, as a new local write. An existing record gets the lost
  /// fields alone, on top of its present state: counts are added, and texts and lists keep what others wrote since. A
  /// missing record is created again, and a deletion that was undone is made again. If its record isn't on this device,
  /// it applies to the deleted content, and the merge policy decides about any other that the server has. Sensitive
  /// fields aren't kept, so they stay as they are.
  ///
  /// An entry of an atomic transaction is restored with all others of it that lost something, as one such transaction.
  ///
  /// One transaction. The next sync sends the write, which may be overwritten again. Throws `BothyError` `.expired` if
  /// the entry, or another of its atomic transaction, is no longer kept. Throws `.alreadyRestored` the second time, and
  /// `notRestorable` if nothing was lost or the content no longer fits the schema. Throws `BothyError` as a save does.
  /// Nothing is changed then.
  ///
  /// ```swift
  /// for entry in try store.journal.entries(of: RecordID(todo), losing: true) where entry.isRestorable {
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
        let tied = try Journal.tied(to: number, in: transaction)
        if !tied.isEmpty { transaction.group = UUIDv7.make() }
        try Self.apply([entry] + tied, at: now, in: transaction) { restored in
          try store.queue(restored.record, isTied: restored.number != number, in: transaction)
        }
        return try store.receipt(writing: entry.record, in: transaction)
      }
    }
    store.requestAfterSave(options)
    return receipt
  }

  /// Restores entries of one transaction. One that the content of another still forbids is restored after that, because
  /// a refusal has changed nothing.
  private static func apply(
    _ entries: [JournalEntry], at now: Int64, in transaction: WriteTransaction,
    then queue: (JournalEntry) throws -> Void
  ) throws {
    var left = entries.sorted { $0.number < $1.number }
    while !left.isEmpty {
      var (waiting, refusal): ([JournalEntry], BothyError?) = ([], nil)
      for entry in left {
        do { try apply(entry, at: now, in: transaction) } catch let error as BothyError
          where entries.count > 1 && [.denied, .uniqueViolation].contains(error.code)
        {
          waiting.append(entry)
          refusal = refusal ?? error
          continue
        }
        try queue(entry)
        try Journal.setRestored(entry.number, at: now, in: transaction)
      }
      if let refusal, waiting.count == left.count { throw refusal }
      left = waiting
    }
  }

  private static func apply(_ entry: JournalEntry, at now: Int64, in transaction: WriteTransaction) throws {
    if entry.restored != nil {
      throw BothyError(
        .alreadyRestored,
        "Entry \(entry.number) of the journal was restored before. Look at \(entry.record) as it is now.",
        record: entry.record)
    }
    guard !entry.isCut else {
      throw BothyError(
        .expired,
        "The journal no longer keeps all of the transaction of entry \(entry.number), and a part of it isn't restored. "
          + "Read its `lostFields`, and save the values you need.", record: entry.record)
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
          + "no place. Declare the type again, or read what was lost from the entry's `lostFields`.",
        record: entry.record)
    }
    guard let lost = entry.lost else {
      // Of an unknown content no version of the server is deleted unasked.
      return try LocalChange.delete(entry.record).apply(
        in: transaction, assumedAt: now, of: entry.deleted ?? .empty)
    }
    let content = JournalContent(entry, table.schema)
    guard let here = try transaction.record(entry.record) else {
      try transaction.insert(content.record(lost))
      return try keepAside(lost, of: entry.record, table, in: transaction)
    }
    var fields: [String: FieldValue] = [:]
    for field in entry.lostFields {
      let isAdded = entry.cause != .otherHistory
      let sum = isAdded ? added(field, to: here.fields[field.name], table) : nil
      fields[field.name] = try content.value(sum ?? field.local, of: field.name)
    }
    if !fields.isEmpty { try transaction.update(entry.record, fields: fields) }
    if let place = entry.lostContainer, !entry.isGone { try transaction.move(entry.record, to: place) }
  }

  /// Returns the present value of a field with the local change on top, or `nil` if its rule can't combine them.
  private static func added(
    _ field: JournalEntry.LostField, to now: FieldValue?, _ table: TypeTable
  ) -> JSONValue? {
    guard let rule = table.schema[field.name]?.merge, let now else { return nil }
    return FieldMerge.sum(base: field.base, client: field.local, server: now.json, rule: rule)
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
  ///
  /// - Parameter isTied: true if the record is restored with another. One that the server has as it is then stays so.
  fileprivate func queue(_ id: RecordID, isTied: Bool, in transaction: WriteTransaction) throws {
    try transaction.flush()
    let table = try transaction.catalog.table(id.type)
    guard table.schema.isSynced, try OutboxQueue.mark(id, in: transaction) == nil,
      let row = try transaction.row(table, id: id.id)
    else { return }
    guard row.version == nil else {
      if isTied { return }
      throw BothyError(
        .notRestorable,
        "\(id) is here as the journal has it, and counts as synced. Restore it when a sync has brought the server's.",
        record: id)
    }
    try OutboxQueue(clock: clock).touch(id, in: transaction)
  }
}

extension Journal {
  /// Returns the other entries of an entry's transaction that can be restored.
  static func tied(to number: Int64, in transaction: ReadTransaction) throws -> [JournalEntry] {
    try entries(
      where: """
        together = (SELECT together FROM bothy_journal WHERE number = ?1) AND number <> ?1 AND restored IS NULL
        ORDER BY number
        """, [number], limit: 10_000, in: transaction
    ).filter { $0.isRestorable && transaction.catalog.tableIfKnown($0.record.type) != nil }
  }

  static func setRestored(_ number: Int64, at time: Int64, in transaction: WriteTransaction) throws {
    try transaction.run("UPDATE bothy_journal SET restored = ?2 WHERE number = ?1", number, time)
    transaction.touchBookkeeping()
  }
}
