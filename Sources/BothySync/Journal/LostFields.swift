import BothyStore

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
