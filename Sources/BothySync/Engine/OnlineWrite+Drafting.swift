import BothyStore

/// What a change amounts to, found out once.
extension OnlineWrite {
  /// Found by making the change and rolling back.
  func draft() async throws -> OnlineDraft {
    do {
      return try await pass.store.write { transaction -> OnlineDraft in
        transaction.isRehearsal = true
        if try Outbox.mark(change.id, in: transaction) != nil { throw HasPendingWork() }
        if change.isDeletion, try !Outbox.knows(change.id, in: transaction) { throw unseenDeletion() }
        try change.apply(in: transaction)
        try transaction.flush()
        var draft = try draft(in: transaction)
        draft.secrets = transaction.secrets
        throw draft
      }
    } catch let draft as OnlineDraft { return draft }
  }

  private func draft(in transaction: WriteTransaction) throws -> OnlineDraft {
    guard let entry = try Outbox.entry(change.id, in: transaction),
      let context = try Conflicts.context(change.id, nil, false, in: transaction)?.0
    else {
      let table = try transaction.catalog.table(change.id.type)
      let version = try transaction.row(table, id: change.id.id)?.version
      var draft = OnlineDraft(
        emptyContext(.update), kind: .update, base: version.map { .init(version: $0, fields: .empty) })
      draft.isNeeded = false
      return draft
    }
    var draft = OnlineDraft(context, kind: entry.kind, base: entry.base)
    draft.sharing = entry.sharing
    draft.told = entry.told
    draft.value = try SavedValue(change, context, transaction.catalog.table(change.id.type))
    if entry.base != nil {
      draft.knownSharing = try KnownSharing.sharing(of: change.id, in: transaction)
    } else if pass.configuration.cache == .disabled, change.saved != nil {
      // The caller has the record from the server, and nothing of that was kept: all of its fields count as given.
      let names = pass.store.schema[change.id.type]?.fields.map(\.name) ?? []
      draft.given = Dictionary(names.map { ($0, context.client?[$0] ?? .null) }, uniquingKeysWith: { $1 })
    }
    return draft
  }

  private func unseenDeletion() -> OnlineDraft {
    OnlineDraft(emptyContext(.delete), kind: .delete, base: nil)
  }

  private func emptyContext(_ kind: Operation.Kind) -> MergeContext {
    MergeContext(
      record: change.id, operation: kind, edited: pass.clock.correctedNow(),
      schema: pass.store.schema[change.id.type], baseContainer: change.id.type)
  }

  // MARK: without the store

  /// From the change alone, and from what can still be read here of the record.
  func bareDraft() throws -> OnlineDraft {
    let table = try pass.store.catalog.table(change.id.type)
    // Unreadable: then nothing is known of what the server has told.
    let known = try? pass.store.read { transaction in
      (
        row: try transaction.row(table, id: change.id.id),
        entry: try Outbox.entry(change.id, in: transaction),
        sharing: try KnownSharing.sharing(of: change.id, in: transaction)
      )
    }
    let row = known?.row
    let base =
      known?.entry?.base
      ?? row.flatMap { row in row.version.map { .init(version: $0, fields: table.document(row)) } }
    var context = emptyContext(.update)
    context.base = try base?.fields.members()
    context.baseContainer = row?.container ?? change.id.type
    context.container = change.destination ?? change.saved?.container ?? context.baseContainer
    context.client = try row.map { try table.document($0).members() } ?? [:]
    let (given, secrets) = try change.given(table.schema)
    for (name, value) in given { context.client?[name] = value.isNull ? nil : value }
    if change.isDeletion { context.client = nil }
    let kind: Operation.Kind =
      change.isDeletion ? .delete : base == nil && change.saved != nil ? .insert : .update
    context.operation = kind
    var draft = OnlineDraft(context, kind: kind, base: base)
    draft.knownSharing = known?.sharing ?? .nobody
    draft.value = try SavedValue(change, context, table)
    draft.sharing = change.sharing(over: draft.knownSharing)
    draft.secrets = secrets
    if base == nil && !change.isDeletion && !change.isWhole(table.schema) { draft.given = given }
    return draft
  }
}

extension LocalChange {
  var isDeletion: Bool { if case .delete = self { true } else { false } }

  /// The record that the change saves.
  var saved: Record? {
    switch self {
    case .save(let record, _), .persist(let record, _, _): record
    case .move, .delete, .share: nil
    }
  }

  /// The fields that the change gives, nulls included, and beside them the values of the sensitive ones.
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

  /// Whether the change gives every field, nulls included.
  func isWhole(_ schema: TypeSchema) -> Bool {
    guard let saved else { return false }
    return schema.fields.allSatisfy { saved.fields[$0.name] != nil }
  }

  /// What the change makes of the sharing that the server has.
  func sharing(over known: Sharing) -> SharingChange? {
    switch self {
    case .share(_, let change, _): change
    case .persist(_, let sharing?, _): SharingChange(from: known, to: sharing)
    case .persist, .save, .move, .delete: nil
    }
  }

  /// The container that the change moves the record to.
  var destination: String? {
    switch self {
    case .save(_, let container): container
    case .move(_, let container): container
    case .persist(let record, _, _): record.container == record.type ? nil : record.container
    case .delete, .share: nil
    }
  }
}

extension StoreError {
  /// Whether the store itself failed, and not the change that it was given.
  var isLocalFailure: Bool {
    [.diskFull, .readOnly, .busy, .corrupt, .cannotOpen, .database].contains(code)
  }
}
