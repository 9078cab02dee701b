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
  /// The result of an earlier save that the row doesn't show, as the file has it.
  var left: ServerRecord?
  /// True if the server may have made an earlier save of the record that is undone here.
  var isAfterDoubt = false

  /// Ends a rehearsal on a record with pending changes.
  struct HasPendingWork: Error { var isHidden: Bool }

  /// Computes the effect of a change by making it on the local store and rolling back. The change is checked exactly
  /// like a local write. Returns `nil` if the server need not receive anything. Throws `HasPendingWork`, and
  /// `BothyError` if the change doesn't fit the schema.
  static func rehearsed(
    _ change: LocalChange, _ keeping: Outbox.Entry.Awaited.Keeping, _ runner: SyncRunner
  ) async throws -> OnlineChange? {
    struct NothingToTell: Error {}
    do {
      return try await runner.store.write { transaction -> OnlineChange in
        transaction.isRehearsal = true
        let id = change.id
        if let mark = try OutboxQueue.mark(id, in: transaction) {
          throw HasPendingWork(isHidden: mark.isHidden)
        }
        try OutboxQueue.forgetEnded(id, in: transaction)
        let table = try transaction.catalog.table(id.type)
        let before = try transaction.row(table, id: id.id)
        try change.apply(in: transaction, assumedAt: runner.clock.correctedNow())
        try transaction.flush()
        // The row may be older than what an earlier save has left on the server.
        if change.saved?.origin.isWhole == false, try OutboxQueue.mark(id, in: transaction) == nil,
          try StaleRows.answer(id, over: before, in: transaction) != nil
        {
          try OutboxQueue(clock: runner.clock).touch(id, in: transaction)
        }
        guard let entry = try OutboxQueue.entry(id, in: transaction) else { throw NothingToTell() }
        var made = OnlineChange(entry: entry, last: try OutboxQueue.last(id, in: transaction), before: before)
        let row = entry.change == .delete ? nil : try transaction.row(table, id: id.id)
        made.entry.awaited = Outbox.Entry.Awaited(
          keeping: keeping, fields: row.map { table.document($0) } ?? .empty, container: row?.container)
        made.knownSharing = try AudienceTable.sharing(of: id, in: transaction)
        made.secrets = transaction.secrets
        made.value = try SavedValue(change, row, table)
        made.own = transaction.lastOwnChange(of: id)
        made.left = try StaleRows.answer(id, over: before, in: transaction)
        made.isAfterDoubt = try OutboxQueue.doubt(about: id, in: transaction) != nil
        throw made
      }
    } catch let made as OnlineChange { return made } catch is NothingToTell { return nil }
  }

  /// Stores the change as a hidden entry, durable before anything is sent. Returns `nil`, with nothing done, if the
  /// record has changed meanwhile. Throws `BothyError` `.signedOut` if the account was signed out meanwhile. Uses one
  /// transaction.
  func begin(in store: LocalStore) async throws -> Int64? {
    try await store.write(origin: .remote) { transaction in
      try OutboxQueue.checkSignedIn(in: transaction)
      let id = entry.id
      guard try OutboxQueue.mark(id, in: transaction) == nil,
        try OutboxQueue.doubt(about: id, in: transaction) == nil,
        try transaction.row(transaction.catalog.table(id.type), id: id.id) == before
      else { return nil }
      return try OutboxQueue.begin(awaited: self, in: transaction)
    }
  }
}

/// A value of the app that is sent to the server first, with the fields that the app gave.
struct SavedValue: Sendable {
  /// All fields that are not sensitive. Those that the app did not give have the values of the row.
  var fields: [String: JSONValue]
  /// The fields that the app gave, nulls included.
  var given: [String: JSONValue]
  /// The reading of the value, or 0 for one that counts as a whole. Copies of a value have its reading.
  var reading: Int64

  /// Returns `nil` for a change that saves no value.
  init?(_ change: LocalChange, _ row: StoredRow?, _ table: TypeTable) throws {
    guard let record = change.saved else { return nil }
    fields = try row.map { try table.document($0).members() } ?? [:]
    given = try change.given(table.schema).fields
    for (name, value) in given { fields[name] = value.isNull ? nil : value }
    reading = record.origin.mark.reading
  }

  /// The content of a save that an earlier process has sent. Returns `nil` for one without content.
  init?(sent entry: Outbox.Entry) throws {
    guard entry.change != .delete, let awaited = entry.awaited else { return nil }
    fields = try awaited.fields.members()
    given = fields
    reading = 0
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
  ///
  /// - Parameter last: the last change, or `nil` if an earlier process has sent it.
  mutating func follow(_ last: SentValues.Sent?, _ answer: ServerRecord, _ schema: TypeSchema) throws {
    if last?.isReported ?? true, let value, value.reading == 0 {
      return try follow(last, answer, literally: value, schema)
    }
    let goesOn = last.map { self.goesOn($0, schema) } ?? false
    let reported = entry.reported.flatMap { $0.version.isNewer(than: answer.version) ? $0 : nil }
    let now = reported ?? answer
    let isBased = reported == nil && (entry.base != nil || entry.change == .insert)
    guard !now.isDeleted, goesOn || isBased, var awaited = entry.awaited else { return }
    let (theirs, isUnreported) = (try now.fields.members(), last?.isReported == false)
    let isMoved = awaited.container ?? entry.id.type != entry.container ?? entry.id.type
    let sent = last?.change.value?.fields
    var (mine, known) = try (awaited.fields.members(), entry.base?.fields.members() ?? [:])
    // A record that is new here was made without knowing more than what was sent.
    let isOnSent = goesOn || isUnreported && entry.change == .insert
    if isOnSent, let value, let sent { (mine, known) = (value.laid(over: sent), sent) }
    // Otherwise a value that is new here replaces what the save left.
    if entry.change == .update || isOnSent {
      awaited.fields = FieldsDocument(mine.laid(on: theirs, since: known, schema))
    }
    if !isMoved { awaited.container = now.container }
    entry.awaited = awaited
    entry.container = now.container
    entry.base = Outbox.Entry.Base(now)
    entry.remoteVersion = nil
    if goesOn || isUnreported {
      let unseen = mine.conflicts(with: theirs, since: known, schema).filter { theirs[$0] != sent?[$0] }
      try decide(unseen, from: known, now)
    }
    if entry.change != .delete { entry.change = .update }
    entry.sharing = entry.sharing?.rest(over: reported == nil ? answer.sharing : knownSharing)
  }

  /// Bases the change on the server's present version, which has the fields that it changes as they were.
  mutating func move(to current: ServerRecord) throws {
    guard var awaited = entry.awaited, let base = entry.base else { return }
    if entry.change != .delete {
      let changed = try PushBatchBuilder.changedFields(awaited.fields, since: base)
      let members = try current.fields.members().merging(changed) { $1 }
      awaited.fields = FieldsDocument(members.filter { !$0.value.isNull })
      if entry.destination(awaited.container) == nil { awaited.container = current.container }
    }
    entry.awaited = awaited
    entry.base = Outbox.Entry.Base(current)
    entry.container = current.container
  }

  /// Bases a value without a reading on the server's version after the last change. The fields that the app gave are sent
  /// as they are. A field that has the row's value stays as others left it in that version. In a value with all fields it
  /// also stays as the last change left it, because no row shows that one.
  private mutating func follow(
    _ last: SentValues.Sent?, _ answer: ServerRecord, literally value: SavedValue, _ schema: TypeSchema
  ) throws {
    guard entry.change != .delete, !answer.isDeleted, var awaited = entry.awaited,
      entry.base != nil || awaited.keeping != .uncached,
      answer.version.isNewer(than: entry.base?.version ?? "")
    else { return }
    let row = try entry.base?.fields.members()
    let (made, sent) = try (answer.fields.members(), last?.change.value?.fields)
    var (fields, before) = (made, made)
    let isPartial = value.given.count < schema.fields.count { !$0.isSensitive }
    for (name, given) in value.given {
      let given = given.isNull ? nil : given
      let isOthers = sent.map { $0[name] != made[name] } ?? false
      if let row, given == row[name] && (isOthers || !isPartial) { continue }
      fields[name] = given
      // The field is a change of the row, also if the last save has made the same.
      if given == made[name], schema[name]?.merge != .counter { before[name] = row?[name] }
    }
    awaited.fields = FieldsDocument(fields)
    if awaited.container ?? entry.id.type == entry.container ?? entry.id.type {
      awaited.container = answer.container
    }
    entry.change = .update
    entry.awaited = awaited
    entry.container = answer.container
    entry.base = Outbox.Entry.Base(answer)
    entry.base?.fields = FieldsDocument(before)
    entry.remoteVersion = nil
    entry.sharing = entry.sharing?.rest(over: answer.sharing)
  }
}

extension SavedValue {
  /// Returns the fields of an earlier save with those that the app gave in this one.
  fileprivate func laid(over earlier: [String: JSONValue]) -> [String: JSONValue] {
    given.reduce(into: earlier) { $0[$1.key] = $1.value.isNull ? nil : $1.value }
  }
}

extension OnlineChange {
  /// Dates the base before the server's version, so that the server answers with a conflict.
  fileprivate mutating func decide(
    _ names: [String], from known: [String: JSONValue], _ now: ServerRecord
  ) throws {
    guard !names.isEmpty, var members = try entry.base?.fields.members() else { return }
    for name in names { members[name] = known[name] }
    entry.base?.fields = FieldsDocument(members)
    entry.base?.version = OutboxQueue.agedVersion
    entry.remoteVersion = now
  }
}

extension [String: JSONValue] {
  /// Merges one person's later changes since `base` into the fields. Of two edits of a field the later one is kept.
  /// Counters, sets and similar fields keep both.
  ///
  /// - Parameter isRead: false for changes by a caller that hadn't read the earlier ones. Texts that merge then keep
  ///   both too, and so do greatest and smallest values.
  func laid(on earlier: Self, since base: Self, _ schema: TypeSchema?, isRead: Bool = true) -> Self {
    FieldMerge.merge(base: base, client: self, server: earlier, clientIsLater: true) {
      let rule = schema?[$0]?.merge ?? .local
      return isRead || !rule.combines ? rule.ofOnePerson : rule
    }
  }

  /// Returns the fields that these and the server's both changed since, each in another way, and that no rule combines.
  fileprivate func conflicts(with server: Self, since known: Self, _ schema: TypeSchema) -> [String] {
    Set(keys).union(known.keys).filter { name in
      self[name] != known[name] && server[name] != known[name] && server[name] != self[name]
        && schema[name]?.merge.ofOnePerson ?? .local == .local
    }
  }
}
