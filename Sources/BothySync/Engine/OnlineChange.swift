import BothyStore

/// A change that is sent to the server before readers see it. Its effect on the record is computed once.
struct OnlineChange: Error, Sendable {
  /// The outbox entry of the change, with the record's content.
  var entry: Outbox.Entry
  /// The record as it was when it was deleted.
  var last: FieldsDocument?
  /// The row that the change was made on.
  var before: StoredRow?
  /// The sharing of the record before the change.
  var knownSharing = Audience.nobody
  /// The values of sensitive fields.
  var secrets: [SecretKey: String] = [:]
  /// The value that the app saves, or `nil` if it saves none.
  var value: SavedValue?
  /// The save, for later saves of the record in this process.
  var own: OwnChange?

  /// Ends a rehearsal on a record with pending changes.
  struct HasPendingWork: Error { var isHidden: Bool }

  /// Computes the effect of a change by making it on the local store and rolling back. The change is checked exactly
  /// like a local write. Returns `nil` if the server need not receive anything. Throws `HasPendingWork`, and
  /// `BothyError` if the change doesn't fit the schema.
  static func rehearsed(
    _ change: LocalChange, _ keeping: Outbox.Entry.Awaited.Keeping, _ pass: SyncPass
  ) async throws -> OnlineChange? {
    struct NothingToTell: Error {}
    do {
      return try await pass.store.write { transaction -> OnlineChange in
        transaction.isRehearsal = true
        let id = change.id
        if let mark = try OutboxQueue.mark(id, in: transaction) {
          throw HasPendingWork(isHidden: mark.isHidden)
        }
        let table = try transaction.catalog.table(id.type)
        let before = try transaction.row(table, id: id.id)
        if change.isDeletion, before == nil {
          try OutboxQueue.assumeDeleted(id, at: pass.clock.correctedNow(), in: transaction)
        } else {
          try change.apply(in: transaction)
          try transaction.flush()
        }
        guard let entry = try OutboxQueue.entry(id, in: transaction) else { throw NothingToTell() }
        var made = OnlineChange(entry: entry, last: try OutboxQueue.last(id, in: transaction), before: before)
        let row = entry.kind == .delete ? nil : try transaction.row(table, id: id.id)
        made.entry.awaited = Outbox.Entry.Awaited(
          keeping: keeping, fields: row.map { table.document($0) } ?? .empty, container: row?.container)
        made.knownSharing = try AudienceTable.sharing(of: id, in: transaction)
        made.secrets = transaction.secrets
        made.value = try SavedValue(change, row, table)
        made.own = transaction.lastOwnChange(of: id)
        throw made
      }
    } catch let made as OnlineChange { return made } catch is NothingToTell { return nil }
  }

  /// Stores the change as a hidden entry, durable before anything is sent. Returns `nil`, with nothing done, if the
  /// record has changed meanwhile. Uses one transaction.
  func begin(in store: LocalStore, sent operation: SyncOperation? = nil) async throws -> Int64? {
    try await store.write(origin: .remote) { transaction in
      let id = entry.record
      let table = try transaction.catalog.table(id.type)
      guard try OutboxQueue.mark(id, in: transaction) == nil,
        try operation != nil || transaction.row(table, id: id.id) == before
      else { return nil }
      let revision = try OutboxQueue.begin(awaited: self, in: transaction)
      guard let operation else { return revision }
      try OutboxQueue.setSent(operation, of: entry, revision: revision, in: transaction)
      // The row becomes the version that arrived since the first sending, however this ends.
      if let told = try told(table, in: transaction) { try OutboxQueue.hear(told, in: transaction) }
      return revision
    }
  }
}

extension OnlineChange {
  /// Returns the version of the record that the row has and the change was not made on. Returns `nil` if that version
  /// isn't newer.
  private func told(_ table: TypeTable, in transaction: ReadTransaction) throws -> ServerRecord? {
    guard let shown = try OutboxQueue.shown(entry.record, in: transaction) else {
      return before == nil ? nil : .unknown(entry.record)
    }
    return shown.version.isNewer(than: entry.base?.version ?? "") ? shown : nil
  }
}

extension LocalChange {
  var isDeletion: Bool { if case .delete = self { true } else { false } }

  /// The record that the change saves.
  var saved: AnyRecord? {
    switch self {
    case .save(let record, _), .persist(let record, _, _): record
    case .move, .delete, .share: nil
    }
  }

  /// Returns the fields that the change sets, nulls included, and separately the values of the sensitive ones.
  func given(_ schema: TypeSchema) throws -> (fields: [String: JSONValue], secrets: [SecretKey: String]) {
    var (given, secrets): ([String: JSONValue], [SecretKey: String]) = ([:], [:])
    for (name, value) in saved?.fields ?? [:] {
      if let field = schema[name], field.isSensitive {
        if case .text(let secret) = value { secrets[SecretKey(id, field: name)] = secret }
        continue
      }
      var writer = JSONWriter()
      value.write(to: &writer)
      given[name] = try JSONValue(parsing: writer.bytes)
    }
    return (given, secrets)
  }
}
