import BothyStore

extension Journal {
  /// The content that a decision took from the user. It is enough to show which values were replaced, and to restore
  /// them.
  struct Loss {
    /// The local record, or `nil` for a deletion that was undone.
    var local: FieldsDocument?
    /// The fields that were changed here and have another value now.
    private(set) var names: [String] = []
    /// The values of these fields before the change, or `nil` if the server didn't know the record. Of a deletion, the
    /// content that it removed.
    private(set) var base: FieldsDocument?
    /// The present values of these fields, or `nil` if the record no longer exists.
    private(set) var now: FieldsDocument?
    /// The time of the other side's write, or `nil`.
    private(set) var nowTime: Int64?
    /// The container that the record was put in here, if it is in another one now or no longer exists.
    private(set) var place: String?

    /// - Parameters:
    ///   - local: the record as it was here, or `nil` for a deletion.
    ///   - current: the server's version, or `nil` if it doesn't have the record.
    ///   - fields: the fields that the record got, if they aren't the server's.
    ///   - place: the container that was chosen here and lost.
    init(
      _ local: FieldsDocument?, since base: FieldsDocument?, now current: ServerRecord?,
      fields: FieldsDocument? = nil, place: String? = nil, in schema: TypeSchema
    ) throws {
      nowTime = current.flatMap { $0.modified == 0 ? nil : $0.modified }
      self.place = place
      guard let local else { return }
      try compare(local, since: base, now: fields ?? current?.live?.fields, in: schema)
    }

    /// Like `init(_:since:now:fields:place:in:)`, but for an entry as it is here.
    init(
      _ entry: Outbox.Entry, now current: ServerRecord?, fields: FieldsDocument? = nil,
      in transaction: ReadTransaction
    ) throws {
      let table = try transaction.catalog.table(entry.id.type)
      let row = try OutboxQueue.local(entry, table, in: transaction)
      let live = current?.live
      let isPlaced = entry.base == nil || entry.destination(row?.container) != nil
      let place = row.flatMap { row -> String? in
        let container = row.container ?? entry.id.type
        let isLost = live.map { isPlaced && $0.container != container } ?? (fields == nil)
        return isLost ? container : nil
      }
      try self.init(
        row.map { table.document($0) }, since: entry.base?.fields, now: current, fields: fields, place: place,
        in: table.schema)
      guard let local else {
        base = try Self.deleted(by: entry, table.schema, in: transaction)
        return
      }
      let kept = try Self.kept(local, since: entry.base?.fields, live?.fields, now: fields ?? live?.fields)
      names.removeAll { table.schema[$0].map(kept) ?? false }
      base = try base.map { FieldsDocument(try $0.members().filter { names.contains($0.key) }) }
      now = try now.map { FieldsDocument(try $0.members().filter { names.contains($0.key) }) }
    }

    /// Compares the fields. Documents have no sensitive fields, and a document that had one is kept without it.
    private mutating func compare(
      _ local: FieldsDocument, since base: FieldsDocument?, now: FieldsDocument?, in schema: TypeSchema
    ) throws {
      let secret = schema.fields.filter(\.isSensitive).map(\.name)
      var mine = try local.members()
      let isBare = secret.allSatisfy { mine[$0] == nil }
      for name in secret { mine[name] = nil }
      let before = try base?.members()
      let after = try now?.members()
      names = Set(mine.keys).union((before ?? [:]).keys).subtracting(secret)
        .filter { name in
          let value = mine[name] ?? .null
          return value != before?[name] ?? .null && (after == nil || value != after?[name] ?? .null)
        }
        .sorted()
      self.local = isBare ? local : FieldsDocument(mine)
      self.base = before.map { before in FieldsDocument(before.filter { names.contains($0.key) }) }
      self.now = after.map { after in FieldsDocument(after.filter { names.contains($0.key) }) }
    }

    static func json(_ names: [String]) -> String {
      JSONValue.array(names.map { .string($0) }).canonicalText
    }

    /// Returns the names. Text that can't be read names nothing, because this module writes it.
    static func names(_ json: String?) -> [String] {
      json.flatMap { try? JSONValue(parsing: $0).arrayValue?.compactMap(\.stringValue) } ?? []
    }
  }
}

/// The rules of which fields a decision has taken, and of what a deletion has removed.
extension Journal.Loss {
  /// Returns a function that is true for fields which a decision didn't take, although they have another value now. The
  /// value of a new record may be a default that its caller didn't give. Other values may have both sides' changes.
  ///
  /// - Parameters:
  ///   - base: the record before it was changed here, or `nil` for a new one.
  ///   - theirs: the record as the server had it, if that is known.
  ///   - now: the record as it is now, or `nil` if it no longer exists.
  static func kept(
    _ local: FieldsDocument, since base: FieldsDocument?, _ theirs: FieldsDocument? = nil,
    now: FieldsDocument?
  ) throws -> (FieldSchema) -> Bool {
    let (local, base) = (try local.members(), try base?.members())
    let (theirs, now) = (try theirs?.members(), try now?.members())
    return { field in
      let name = field.name
      let mine = local[name] ?? .null
      if base == nil && field.isDefault(mine) { return true }
      guard let now else { return false }
      return [theirs, now].contains { server in
        guard let server else { return false }
        let sum = FieldMerge.sum(
          base: base?[name] ?? .null, client: mine, server: server[name] ?? .null, rule: field.merge)
        return sum?.canonicalText == (now[name] ?? .null).canonicalText
      }
    }
  }

  /// Returns the content that a deletion removed, as the server had it or else as it was shown. Returns `nil` for a
  /// record that wasn't here, and for other changes.
  static func deleted(
    by entry: Outbox.Entry, _ schema: TypeSchema, in transaction: ReadTransaction
  ) throws -> FieldsDocument? {
    guard entry.change == .delete,
      var members = try (entry.base?.fields ?? OutboxQueue.last(entry.id, in: transaction))?.members()
    else { return nil }
    for field in schema.fields where field.isSensitive { members[field.name] = nil }
    return FieldsDocument(members)
  }
}

extension FieldSchema {
  /// True for the value that a record gets whose writer gives none.
  fileprivate func isDefault(_ value: JSONValue) -> Bool {
    defaultValue?.json.canonicalText == value.canonicalText
  }
}

extension JournalEntry.LostField {
  /// True if an entry that an older version wrote lists this field, although the decision didn't take it.
  ///
  /// - Parameters:
  ///   - isNew: true if the change created the record.
  ///   - isMerged: true if the decision merged both sides field by field.
  ///   - hasNow: true if the record exists.
  func isKept(_ field: FieldSchema, isNew: Bool, isMerged: Bool, hasNow: Bool) -> Bool {
    if isNew && field.isDefault(local) { return true }
    guard hasNow,
      let sum = FieldMerge.sum(base: base, client: local, server: now, rule: field.merge)
    else { return false }
    return isMerged || sum.canonicalText == now.canonicalText
  }
}
