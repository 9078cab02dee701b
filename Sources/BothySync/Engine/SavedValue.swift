import BothyStore

/// A value of the app's that goes to the server first, as it was given.
struct SavedValue: Sendable {
  /// All fields that are not sensitive: those that were not given are as they are here.
  var fields: [String: JSONValue]
  /// The record as the change of it was made on.
  var read: [String: JSONValue]
  /// Which state of the record the value is about.
  var mark: Int64

  /// Nil for a change that saves no value.
  init?(_ change: LocalChange, _ entry: OutboxEntry, _ row: StoredRow?, _ table: TypeTable) throws {
    guard let record = change.saved else { return nil }
    fields = try row.map { try table.document($0).members() } ?? [:]
    for (name, value) in try change.given(table.schema).fields { fields[name] = value.isNull ? nil : value }
    read = try entry.base?.fields.members() ?? [:]
    mark = record.origin.mark.number
  }

  /// Whether it is `earlier`, edited since, and not a value that was read since: where the two differ it has as many
  /// fields of that one at least. Where it has none of either, it has none of what `earlier` replaced.
  func goesOn(_ earlier: SavedValue) -> Bool {
    guard mark == earlier.mark else { return false }
    let differing = Set(earlier.fields.keys).union(read.keys).filter { earlier.fields[$0] != read[$0] }
    let kept = differing.count { fields[$0] == earlier.fields[$0] }
    let readSince = differing.count { fields[$0] == read[$0] }
    if kept + readSince > 0 { return kept >= readSince }
    return !Set(earlier.fields.keys).union(earlier.read.keys).contains {
      earlier.fields[$0] != earlier.read[$0] && fields[$0] == earlier.read[$0]
    }
  }
}

extension OnlineChange {
  /// Whether the value that is saved is the one that was sent last, edited since.
  func goesOn(_ last: SentValues.Sent) -> Bool {
    guard let value, let earlier = last.change.value else { return false }
    return value.goesOn(earlier)
  }

  /// Makes the change one of what the server has made of the last one. What of the record the caller has as it was sent, or
  /// as it was read, is no change. Where the server has made something else of a field and the caller has changed it again,
  /// the merge policy decides.
  mutating func follow(_ last: SentValues.Sent, _ answer: ServerRecord, _ schema: TypeSchema) throws {
    if last.isTold, value?.mark == ReadMark.whole.number { return }
    let goesOn = goesOn(last)
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
    entry.base = OutboxEntry.Base(now)
    entry.shadow = nil
    if let value, let earlier = last.change.value, goesOn {
      try decide(value.changes(since: earlier, over: fields, schema), from: earlier, now)
    }
    if entry.kind != .delete { entry.kind = .update }
    entry.sharing = entry.sharing?.rest(over: told == nil ? answer.sharing : knownSharing)
  }
}

extension SavedValue {
  /// The fields that were changed again since `earlier`, of which the server has another value than was sent.
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
  /// Makes the change one of a time before the server's: it answers with a conflict.
  fileprivate mutating func decide(_ names: [String], from earlier: SavedValue, _ now: ServerRecord) throws {
    guard !names.isEmpty, var members = try entry.base?.fields.members() else { return }
    for name in names { members[name] = earlier.fields[name] }
    entry.base?.fields = FieldsDocument(members)
    entry.base?.version = Outbox.agedVersion
    entry.shadow = now
  }
}

extension [String: JSONValue] {
  /// The fields with one person's later changes of them since `base`: of two edits of a field the later stands; counts, sets
  /// and the like have both.
  func laid(on earlier: Self, since base: Self, _ schema: TypeSchema?) -> Self {
    FieldMerge.merge(base: base, client: self, server: earlier, clientIsLater: true) {
      schema?[$0]?.merge.ofOnePerson ?? .client
    }
  }
}
