import BothyStore

/// A value of the app that is sent to the server first, with the fields that the app gave.
struct SavedValue: Sendable {
  /// All fields that are not sensitive. Those that the app did not give have the values of the row.
  var fields: [String: JSONValue]
  /// The reading of the value, or 0 for one that counts as a whole. Copies of a value have its reading.
  var reading: Int64

  /// Returns `nil` for a change that saves no value.
  init?(_ change: LocalChange, _ row: StoredRow?, _ table: TypeTable) throws {
    guard let record = change.saved else { return nil }
    fields = try row.map { try table.document($0).members() } ?? [:]
    for (name, value) in try change.given(table.schema).fields { fields[name] = value.isNull ? nil : value }
    reading = record.origin.mark.reading
  }
}

extension OnlineChange {
  /// True if the saved value is the value that was sent last, changed further.
  func goesOn(_ last: SentValues.Sent, _ schema: TypeSchema?) -> Bool {
    guard let value, value.reading == last.change.value?.reading else { return false }
    guard let schema, let own, let sent = last.change.own else { return true }
    return sent.isContinued(by: own.given, over: before, schema)
  }

  /// Bases the change on the server's version after the last change, which no row shows. A field that the caller has as
  /// it was sent or read counts as unchanged. The merge policy decides a field that both the server and the caller
  /// changed since.
  mutating func follow(_ last: SentValues.Sent, _ answer: ServerRecord, _ schema: TypeSchema) throws {
    if last.isTold, value?.reading == 0 { return }
    let goesOn = goesOn(last, schema)
    let told = entry.told.flatMap { $0.version.isNewer(than: answer.version) ? $0 : nil }
    let now = told ?? answer
    guard !now.isDeleted, goesOn || (told == nil && entry.base != nil), var awaited = entry.awaited else {
      return
    }
    let (fields, base) = try (now.fields.members(), entry.base?.fields.members() ?? [:])
    let isMoved = awaited.container ?? entry.record.type != entry.container ?? entry.record.type
    if let value, let earlier = last.change.value, goesOn {
      awaited.fields = FieldsDocument(value.fields.laid(on: fields, since: earlier.fields, schema))
    } else if entry.kind != .delete {
      awaited.fields = FieldsDocument(
        try awaited.fields.members().laid(on: fields, since: base, schema))
    }
    if !isMoved { awaited.container = now.container }
    entry.awaited = awaited
    entry.container = now.container
    entry.base = Outbox.Entry.Base(now)
    entry.remoteVersion = nil
    if let value, let earlier = last.change.value, goesOn {
      try decide(value.changes(since: earlier, over: fields, schema), from: earlier, now)
    }
    if entry.kind != .delete { entry.kind = .update }
    entry.sharing = entry.sharing?.rest(over: told == nil ? answer.sharing : knownSharing)
  }
}

extension SavedValue {
  /// Returns the fields that were changed again since `earlier` and whose value on the server isn't the sent one.
  fileprivate func changes(
    since earlier: SavedValue, over server: [String: JSONValue], _ schema: TypeSchema
  ) -> [String] {
    Set(fields.keys).union(earlier.fields.keys).filter { name in
      let sent = earlier.fields[name]
      return fields[name] != sent && server[name] != sent && server[name] != fields[name]
        && schema[name]?.merge.ofOnePerson ?? .client == .client
    }
  }
}

extension OnlineChange {
  /// Dates the base before the server's version, so that the server answers with a conflict.
  fileprivate mutating func decide(_ names: [String], from earlier: SavedValue, _ now: ServerRecord) throws {
    guard !names.isEmpty, var members = try entry.base?.fields.members() else { return }
    for name in names { members[name] = earlier.fields[name] }
    entry.base?.fields = FieldsDocument(members)
    entry.base?.version = OutboxQueue.agedVersion
    entry.remoteVersion = now
  }
}

extension [String: JSONValue] {
  /// Merges one person's later changes since `base` into the fields. Of two edits of a field the later one is kept.
  /// Counters, sets and similar fields keep both.
  func laid(on earlier: Self, since base: Self, _ schema: TypeSchema?) -> Self {
    FieldMerge.merge(base: base, client: self, server: earlier, clientIsLater: true) {
      schema?[$0]?.merge.ofOnePerson ?? .client
    }
  }
}
